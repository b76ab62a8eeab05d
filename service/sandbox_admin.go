package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"minutebook/api"
	"minutebook/internal/sqlite"
	"minutebook/service/mirror"
)

// AdminEmail is the address of the sandbox's administrator, "" where there is
// none: over an archive, or before EnsureAdminKey.
func (s *Service) AdminEmail() string {
	email, err := s.store.setting(context.Background(), "admin")
	if err != nil {
		s.log.Error().Err(err).Msg("read the administrator's address")
	}
	return string(email)
}

// EnsureAdminKey makes, at the first start of a sandbox, its administrator (a
// user of their own, unless the directory names an account admin) and the
// administrator's API key. Later it returns created false, unless another directory has
// no such user any more.
func (s *Service) EnsureAdminKey(ctx context.Context) (key string, created bool, err error) {
	if !s.opts.Sandbox {
		return "", false, errors.New("make the administrator's key: only a sandbox has one; see `minutebook service keys create`")
	}
	if err := s.mirror.Refresh(ctx); err != nil {
		return "", false, err
	}
	known := s.AdminEmail()
	if p := s.mirror.Directory().Person(known); p != nil && p.IsActive() {
		return "", false, nil
	}
	email, err := s.ensureAdmin(ctx)
	if err != nil {
		return "", false, err
	}
	if email == known {
		return "", false, nil // whose key works again
	}
	if key, err = s.CreateKey(ctx, email); err != nil {
		return "", false, err
	}
	return key, true, s.store.set(ctx, "admin", []byte(email))
}

// ensureAdmin returns the first account admin, having made one if need be.
func (s *Service) ensureAdmin(ctx context.Context) (string, error) {
	d := s.mirror.Directory()
	for _, u := range d.Users {
		if p := d.Person(u.Email); p.IsActive() && p.IsAccountAdmin() {
			return u.Email, nil
		}
	}
	for n := 1; ; n++ {
		name := "admin"
		if n > 1 {
			name += strconv.Itoa(n)
		}
		admin := mirror.BasicUser(name+"@"+mainDomain(d.Users), "Administrator", api.TimeOf(s.now()))
		admin.Permissions = api.Some(adminPermissions())
		if err := s.PutUser(ctx, admin); !errors.Is(err, errListedDeactivated) {
			return admin.Email, err
		}
	}
}

// mainDomain returns the domain of most users.
func mainDomain(users []api.User) string {
	best, most := "sandbox.example", 0
	count := map[string]int{}
	for _, u := range users {
		domain := domainOf(u.Email)
		if count[domain]++; count[domain] > most {
			best, most = domain, count[domain]
		}
	}
	return best
}

// errListedDeactivated refuses a user whom the service has deactivated, or removed.
var errListedDeactivated = errors.New("the service's list of users calls this user " + api.StatusDeactivated +
	", or has this user no more, which counts until a later list says otherwise, an account of the user is accepted, or the list is read no more")

// PutUser adds a user to this program's own list of the organisation's users, or
// replaces the one with the same address. It changes nothing where the service's list calls
// the user deactivated, unless u is so too.
func (s *Service) PutUser(ctx context.Context, u api.User) error {
	return s.changeDirectory(ctx, func() error { return s.putUser(ctx, u) })
}

// changeDirectory runs a change that reads a list of the directory and writes it. Of two at
// a time the one would undo the other.
func (s *Service) changeDirectory(ctx context.Context, change func() error) error {
	if err := s.directory.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for another change of users: %w", err)
	}
	defer s.directory.Release(1)
	return change()
}

func (s *Service) putUser(ctx context.Context, u api.User) error {
	u.Email = api.FoldEmail(u.Email)
	listed, err := s.archive.ListedStatus(ctx, u.Email)
	if err != nil {
		return err
	}
	if listed == api.StatusDeactivated && u.Status != listed {
		return fmt.Errorf("%s: %w", u.Email, errListedDeactivated)
	}
	if err := s.archive.PutLocalUser(ctx, u); err != nil {
		return err
	}
	return s.mirror.Refresh(ctx)
}

// OutsideRecorders returns the addresses of those outside the organisation who
// recorded meetings, held-back ones among them, in alphabetical order. The list
// shows their meetings only when it is asked for them (4.1).
func (s *Service) OutsideRecorders(ctx context.Context) ([]string, error) {
	if err := s.mirror.Refresh(ctx); err != nil {
		return nil, err
	}
	emails := s.mirror.OutsideRecorders()
	recorders, err := sqlite.Column[string](ctx, s.store.db.R, `SELECT DISTINCT lower(json_extract(CAST(body AS TEXT), '$.recorded_by.email')) FROM held
		WHERE json_extract(CAST(body AS TEXT), '$.recorded_by.email') IS NOT NULL`)
	if err != nil {
		return nil, fmt.Errorf("list outside recorders: %w", err)
	}
	d := s.mirror.Directory()
	for _, email := range recorders {
		if d.Person(email) == nil {
			emails = append(emails, email)
		}
	}
	slices.Sort(emails)
	return slices.Compact(emails), nil
}

func domainOf(email string) string {
	_, domain, _ := strings.Cut(email, "@")
	return domain
}
