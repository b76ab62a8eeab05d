package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minutebook/config"
	"minutebook/web/access"
)

// registerPeople adds the operations on who may enter.
func (h Deps) registerPeople(r *Registry) {
	Register(r, "user.add", h.addUser)
	Register(r, "user.list", h.listUsers)
	Register(r, "user.remove", h.removeUser)
	Register(r, "user.admin", h.changeAdmin)
	Register(r, "user.alias", h.changeAlias)
	Register(r, "user.invite", h.inviteUser)
	Register(r, "user.end", h.endSessions)
	Register(r, "token.create", h.createToken)
	Register(r, "token.list", h.listTokens)
	Register(r, "token.revoke", h.revokeToken)
	Register(r, "audit", h.showAudit)
}

// UserRequest has the arguments of the operations on a person. Each operation uses
// the fields that it needs.
type UserRequest struct {
	Address string `json:"address"`
	Name    string `json:"name,omitempty"`
	Admin   bool   `json:"admin,omitempty"`
	Alias   string `json:"alias,omitempty"`
	Remove  bool   `json:"remove,omitempty"` // the alias
}

// Invited is a person with the link that sets the password, which is shown once.
type Invited struct {
	Person access.Person `json:"person"`
	// Link is empty where a proxy or a provider alone signs people in.
	Link      string    `json:"link,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// ListedPerson is a person as `user list` shows one.
type ListedPerson struct {
	access.Person
	Deactivated bool `json:"deactivated"` // by the service's directory, and so not let in
	Sessions    int  `json:"sessions"`    // open now
	// Account is the person's own account at the service; nil: none is connected.
	Account *access.Account `json:"account,omitempty"`
}

// EndedSessions is the result of user.end.
type EndedSessions struct {
	Ended int64 `json:"ended"`
}

// adminRemedy helps with somebody whom a proxy or a provider has brought as a member.
const adminRemedy = "`minutebook user admin` makes an admin"

func (h Deps) addUser(ctx context.Context, q UserRequest, _ Emit) (*Invited, error) {
	if err := h.checkSignIn(); err != nil {
		return nil, fmt.Errorf("add %s: %w", q.Address, err)
	}
	db, err := h.Access(ctx)
	if err != nil {
		return nil, err
	}
	p, err := db.AddPerson(ctx, access.ActorCommand, q.Address, q.Name, q.Admin)
	if errors.Is(err, access.ErrExists) {
		remedy := "`minutebook user invite` makes a new link"
		if !h.hasPasswords() { // the proxy or the provider may have brought the person
			remedy = adminRemedy
		}
		return nil, fmt.Errorf("add %s: %w; %s", q.Address, err, remedy)
	}
	if err != nil {
		return nil, fmt.Errorf("add %q: %w", q.Address, err)
	}
	return h.invite(ctx, db, p)
}

// checkSignIn fails while nobody signs in, since an invitation would lead nowhere.
func (h Deps) checkSignIn() error {
	if h.Web.Access == config.AccessOwner || h.Web.PublicURL == "" {
		return errors.New(`nobody signs in here yet: write under [web] the two lines access = "people" and public_url = "https://minutes.example" (the address that people use), and restart the daemon`)
	}
	return nil
}

// hasPasswords reports whether people sign in with a password, which a link sets.
func (h Deps) hasPasswords() bool { return h.Web.Access == config.AccessPeople && h.Web.Passwords }

func (h Deps) invite(ctx context.Context, db *access.DB, p access.Person) (*Invited, error) {
	if !h.hasPasswords() {
		return &Invited{Person: p}, nil
	}
	secret, expires, err := db.Invite(ctx, access.ActorCommand, p.ID)
	if err != nil {
		return nil, fmt.Errorf("invite %s: %w", p.Address(), err)
	}
	return &Invited{p, h.Web.PublicURL + access.InvitationPath + secret, expires}, nil
}

func (h Deps) inviteUser(ctx context.Context, q UserRequest, _ Emit) (*Invited, error) {
	if err := h.checkSignIn(); err != nil {
		return nil, fmt.Errorf("invite %s: %w", q.Address, err)
	}
	if !h.hasPasswords() {
		return nil, fmt.Errorf("invite %s: people are signed in elsewhere, so there is no password here to set; %s", q.Address, adminRemedy)
	}
	db, p, err := h.findUser(ctx, q.Address)
	if err != nil {
		return nil, err
	}
	return h.invite(ctx, db, p)
}

// findUser returns the person with an address.
func (h Deps) findUser(ctx context.Context, address string) (*access.DB, access.Person, error) {
	db, err := h.Access(ctx)
	if err != nil {
		return nil, access.Person{}, err
	}
	p, err := db.PersonByAddress(ctx, address)
	if errors.Is(err, access.ErrNotFound) {
		err = &Error{Kind: KindFailed, Message: fmt.Sprintf("there is no person with the address %q; `minutebook user list` lists them", address)}
	}
	return db, p, err
}

// changeUser finds a person and runs change on it.
func (h Deps) changeUser(ctx context.Context, q UserRequest, change func(*access.DB, access.Person) error) (*access.Person, error) {
	db, p, err := h.findUser(ctx, q.Address)
	if err != nil {
		return nil, err
	}
	if err := change(db, p); err != nil {
		return nil, fmt.Errorf("change %s: %w", p.Address(), err)
	}
	p, err = db.Person(ctx, p.ID)
	return &p, err
}

func (h Deps) removeUser(ctx context.Context, q UserRequest, _ Emit) (*access.Person, error) {
	return h.changeUser(ctx, q, func(db *access.DB, p access.Person) error {
		return db.RemovePerson(ctx, access.ActorCommand, p.ID)
	})
}

func (h Deps) changeAdmin(ctx context.Context, q UserRequest, _ Emit) (*access.Person, error) {
	return h.changeUser(ctx, q, func(db *access.DB, p access.Person) error {
		return db.SetAdmin(ctx, access.ActorCommand, p.ID, q.Admin)
	})
}

func (h Deps) changeAlias(ctx context.Context, q UserRequest, _ Emit) (*access.Person, error) {
	return h.changeUser(ctx, q, func(db *access.DB, p access.Person) error {
		change := db.AddAddress
		if q.Remove {
			change = db.RemoveAddress
		}
		err := change(ctx, access.ActorCommand, p.ID, q.Alias)
		if errors.Is(err, access.ErrNotFound) {
			return fmt.Errorf("the person does not have the address %q", q.Alias)
		}
		return err
	})
}

func (h Deps) endSessions(ctx context.Context, q UserRequest, _ Emit) (*EndedSessions, error) {
	db, p, err := h.findUser(ctx, q.Address)
	if err != nil {
		return nil, err
	}
	ended, err := db.EndSessions(ctx, access.ActorCommand, p.ID)
	return &EndedSessions{ended}, err
}

func (h Deps) listUsers(ctx context.Context, _ struct{}, _ Emit) ([]ListedPerson, error) {
	db, err := h.Access(ctx)
	if err != nil {
		return nil, err
	}
	people, err := db.People(ctx)
	if err != nil {
		return nil, err
	}
	states, err := db.SignedInStates(ctx)
	if err != nil {
		return nil, err
	}
	own, err := h.ownAccounts(ctx)
	if err != nil {
		return nil, err
	}
	out, err := db.Out(ctx, people)
	if err != nil {
		return nil, err
	}
	listed := []ListedPerson{}
	for _, p := range people {
		listed = append(listed, ListedPerson{p, out[p.ID], states[p.ID].Sessions, own[p.ID]})
	}
	return listed, nil
}

// ownAccounts returns the accounts that people have connected, by person.
func (h Deps) ownAccounts(ctx context.Context) (map[int64]*access.Account, error) {
	if h.Connector == nil {
		return nil, nil
	}
	connector, err := h.Connector(ctx)
	if err != nil || connector == nil {
		return nil, err
	}
	list, err := connector.List(ctx)
	own := map[int64]*access.Account{}
	for _, a := range list {
		own[a.Person] = &a
	}
	return own, err
}
