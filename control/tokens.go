package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minutebook/web/access"
)

// TokenRequest has the arguments of the operations on tokens. Each operation uses
// the fields that it needs.
type TokenRequest struct {
	Address string         `json:"address,omitempty"`
	Label   string         `json:"label,omitempty"`
	Scopes  []access.Scope `json:"scopes,omitempty"`
	Life    time.Duration  `json:"life,omitempty"` // nanoseconds
	ID      int64          `json:"id,omitempty"`
}

// NewToken is a token with its secret, which is shown once.
type NewToken struct {
	Secret string `json:"secret"`
	access.Token
}

// ListedToken is a token as `token list` shows one.
type ListedToken struct {
	access.Token
	Address string `json:"address"`
	Valid   bool   `json:"valid"` // neither expired nor revoked
}

func (h Deps) createToken(ctx context.Context, q TokenRequest, _ Emit) (*NewToken, error) {
	db, p, err := h.findUser(ctx, q.Address)
	if err != nil {
		return nil, err
	}
	secret, t, err := db.CreateToken(ctx, access.ActorCommand, p.ID, q.Label, q.Scopes, db.Now().Add(q.Life))
	if err != nil {
		return nil, fmt.Errorf("make a token of %s: %w", p.Address(), err)
	}
	return &NewToken{secret, t}, nil
}

// listTokens lists the tokens of one person or, without an address, of all people.
func (h Deps) listTokens(ctx context.Context, q TokenRequest, _ Emit) ([]ListedToken, error) {
	db, err := h.Access(ctx)
	if err != nil {
		return nil, err
	}
	var owner access.Person
	if q.Address != "" {
		if _, owner, err = h.findUser(ctx, q.Address); err != nil {
			return nil, err
		}
	}
	tokens, err := db.Tokens(ctx, owner.ID)
	if err != nil {
		return nil, err
	}
	addresses := addressBook{db: db}
	listed := []ListedToken{}
	for _, t := range tokens {
		address, err := addresses.find(ctx, t.Person)
		if err != nil {
			return nil, err
		}
		listed = append(listed, ListedToken{t, address, t.IsValid(db.Now())})
	}
	return listed, nil
}

func (h Deps) revokeToken(ctx context.Context, q TokenRequest, _ Emit) (*Done, error) {
	db, err := h.Access(ctx)
	if err != nil {
		return nil, err
	}
	err = db.RevokeToken(ctx, access.ActorCommand, 0, q.ID)
	if errors.Is(err, access.ErrNoToken) {
		return nil, &Error{Kind: KindFailed, Message: fmt.Sprintf("there is no token %d; `minutebook token list` lists them", q.ID)}
	}
	if err != nil {
		return nil, fmt.Errorf("revoke token %d: %w", q.ID, err)
	}
	return &Done{true}, nil
}

// addressBook reads the main addresses of people, each once.
type addressBook struct {
	db   *access.DB
	read map[int64]string
}

func (b *addressBook) find(ctx context.Context, person int64) (string, error) {
	if address, ok := b.read[person]; ok {
		return address, nil
	}
	p, err := b.db.Person(ctx, person)
	if err != nil {
		return "", err
	}
	if b.read == nil {
		b.read = map[int64]string{}
	}
	b.read[person] = p.Address()
	return p.Address(), nil
}
