package control

import (
	"context"

	"minutebook/api"
)

// AuthRequest names an account that connects through an OAuth app. To finish, it
// also has the address to which the service sent the browser.
type AuthRequest struct {
	Account string `json:"account"`
	State   string `json:"state,omitempty"`   // of AuthBegun, to finish
	Address string `json:"address,omitempty"` // to finish
}

// AuthBegun has the address where a person gives consent. State ties the answer to
// this request. Where the redirect leads to the daemon, the connection finishes by
// itself.
type AuthBegun struct {
	URL   string `json:"url"`
	State string `json:"state"`
}

func (h Deps) authBegin(ctx context.Context, q AuthRequest, _ Emit) (*AuthBegun, error) {
	connection, err := h.Connection(ctx, q.Account)
	if err != nil {
		return nil, err
	}
	url, state, err := connection.Begin()
	if err != nil {
		return nil, err
	}
	return &AuthBegun{URL: url, State: state}, nil
}

// authFinish exchanges the code in the address for tokens. The tokens are in the
// archive when it returns.
func (h Deps) authFinish(ctx context.Context, q AuthRequest, _ Emit) (struct{}, error) {
	connection, err := h.Connection(ctx, q.Account)
	if err != nil {
		return struct{}{}, err
	}
	code, err := api.CodeFrom(q.Address, q.State)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, connection.Exchange(ctx, code)
}

// AuthAccount is the state of an account's connection.
type AuthAccount struct {
	Account string `json:"account"`
	api.OAuthStatus
	// Suspended says why the service refuses the account although it is connected, such as
	// when its app was removed there.
	Suspended string `json:"suspended,omitempty"`
}

func (h Deps) authStatus(ctx context.Context, q AuthRequest, _ Emit) (*AuthAccount, error) {
	connection, err := h.Connection(ctx, q.Account)
	if err != nil {
		return nil, err
	}
	syncer, err := h.Syncer(ctx)
	if err != nil {
		return nil, err
	}
	status, err := connection.Status(ctx)
	a := &AuthAccount{Account: q.Account, OAuthStatus: status}
	if status.Connected {
		a.Suspended = syncer.Suspended(q.Account)
	}
	return a, err
}

// AuthList has all accounts that connect through an OAuth app.
type AuthList struct {
	Accounts []AuthAccount `json:"accounts"`
}

func (h Deps) authList(ctx context.Context, _ struct{}, _ Emit) (*AuthList, error) {
	list := &AuthList{Accounts: []AuthAccount{}}
	for _, name := range h.OAuthAccounts() {
		status, err := h.authStatus(ctx, AuthRequest{Account: name}, nil)
		if err != nil {
			return nil, err
		}
		list.Accounts = append(list.Accounts, *status)
	}
	return list, nil
}
