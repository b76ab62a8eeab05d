package control_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive/archivetest"
	"minutebook/control"
	"minutebook/web/access"
)

// A token that cannot be revoked is not one that is not there: it still opens the page.
func TestATokenThatCannotBeRevoked(t *testing.T) {
	a := archivetest.WithMeetings(t, 1)
	people, err := access.Open(t.Context(), access.Options{Archive: a, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ops := control.Operations(control.Deps{Archive: a, Logger: zerolog.Nop(), Access: func(context.Context) (*access.DB, error) { return people, nil }})
	revoke := func(want string) {
		t.Helper()
		_, err := control.Call[control.Done](t.Context(), ops, "token.revoke", control.TokenRequest{ID: 3}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	revoke("there is no token 3")
	archivetest.Damage(t, filepath.Join(a.Dir(), access.Name), `DROP TABLE tokens`)
	revoke("revoke token 3: ")
}
