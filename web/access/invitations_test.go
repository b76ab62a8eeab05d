package access

import (
	"errors"
	"sync"
	"testing"
	"time"
)

const password = "a long password"

func TestInvitationSetsThePasswordOnce(t *testing.T) {
	f := newFixture(t)
	ann := f.add(t, "ann@example.com", true)
	session := f.begin(t, ann)
	secret := f.invite(t, ann)
	if p, err := f.Invitation(t.Context(), secret); err != nil || p.ID != ann.ID {
		t.Fatalf("the invitation: %+v, %v", p, err)
	}
	_, err := f.AcceptInvitation(t.Context(), secret, "short")
	wantErr(t, "a short password", err, ErrPassword)
	p, err := f.AcceptInvitation(t.Context(), secret, password)
	if err != nil || !p.HasPassword {
		t.Fatalf("accept: %+v, %v", p, err)
	}
	f.wantSession(t, "after the password was set", session, false)
	_, err = f.AcceptInvitation(t.Context(), secret, password)
	wantErr(t, "accept again", err, ErrUsed)
	_, err = f.Invitation(t.Context(), "foreign")
	wantErr(t, "a foreign invitation", err, ErrUnknown)

	old, second := f.invite(t, ann), f.invite(t, ann)
	_, err = f.Invitation(t.Context(), old)
	wantErr(t, "an invitation that a newer one replaced", err, ErrUsed)
	if _, err := f.Invitation(t.Context(), second); err != nil {
		t.Error(err)
	}
	if _, err := f.CheckPassword(t.Context(), "ann@example.com", password); err != nil {
		t.Errorf("the old password ends only when the new one is set: %v", err)
	}
}

func TestInvitationExpires(t *testing.T) {
	f := newFixture(t)
	secret := f.invite(t, f.add(t, "ann@example.com", true))
	started := f.now
	for _, tt := range []struct {
		after time.Duration
		want  error
	}{
		{InvitationLife - time.Second, nil}, {InvitationLife, ErrExpired}, {InvitationLife - time.Second, nil},
		{-time.Minute, nil}, {-time.Hour, ErrExpired}, {-10 * InvitationLife, ErrExpired}, {0, nil},
	} {
		f.now = started.Add(tt.after)
		_, err := f.Invitation(t.Context(), secret)
		wantErr(t, tt.after.String()+" after the beginning", err, tt.want)
	}
	f.now = started.Add(InvitationLife)
	_, err := f.AcceptInvitation(t.Context(), secret, password)
	wantErr(t, "accept an expired one", err, ErrExpired)
}

// However many accept an invitation at the same moment, one password is set.
func TestInvitationIsUsedOnceByMany(t *testing.T) {
	f := newFixture(t)
	ann := f.add(t, "ann@example.com", true)
	secret := f.invite(t, ann)
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = f.AcceptInvitation(t.Context(), secret, password+string(rune('0'+i)))
		})
	}
	all.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner < 0:
			winner = i
		case !errors.Is(err, ErrUsed):
			t.Fatalf("attempt %d: %v, after %d had won", i, err, winner)
		}
	}
	if winner < 0 {
		t.Fatalf("nobody won: %v", errs)
	}
	if _, err := f.CheckPassword(t.Context(), "ann@example.com", password+string(rune('0'+winner))); err != nil {
		t.Errorf("the password of the one that was told so: %v", err)
	}
}
