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

func (h Deps) authStatus(ctx context.Context, q AuthRequest, _ Emit) (*api.OAuthStatus, error) {
	connection, err := h.Connection(ctx, q.Account)
	if err != nil {
		return nil, err
	}
	status, err := connection.Status(ctx)
	return &status, err
}

// AuthAccount is the state of an account's connection.
type AuthAccount struct {
	Account string `json:"account"`
	api.OAuthStatus
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
		list.Accounts = append(list.Accounts, AuthAccount{name, *status})
	}
	return list, nil
}
