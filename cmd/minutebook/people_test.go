package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/control"
	"minutebook/internal/testrun"
)

// People and tokens are managed beside a running daemon, and the configuration
// that it loaded is in the audit. No secret is in its log.
func TestPeopleBesideTheDaemon(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	box, file := filepath.Join(dir, "box"), filepath.Join(dir, "people.toml")
	if err := os.WriteFile(file, []byte("data_dir = \"box\"\n[web]\naccess = \"people\"\npublic_url = \"https://minutes.example\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "init", "-c", file)
	daemon := start(t, "serve", "-c", file)
	invited := runJSON[control.Invited](t, "user", "add", "ann@example.com", "--admin", "-c", file)
	token := runJSON[control.NewToken](t, "token", "create", "ann@example.com", "--scope", "admin", "--data", box)
	if listed := runJSON[[]control.ListedToken](t, "token", "list", "--data", box); len(listed) != 1 || !listed[0].Valid || listed[0].ID != token.ID {
		t.Errorf("tokens: %+v", listed)
	}
	run(t, "user", "alias", "ann@example.com", "ann@old.example", "--data", box)
	if people := runJSON[[]control.ListedPerson](t, "user", "list", "--data", box); len(people) != 1 || len(people[0].Addresses) != 2 {
		t.Errorf("people: %+v", people)
	}
	audit := run(t, "audit", "--data", box)
	for _, row := range []string{"system  configuration  ", "command  token.made  ann@example.com  token 1", "command  address.added  ann@example.com"} {
		if !strings.Contains(audit, row) {
			t.Errorf("the audit has no %q:\n%s", row, audit)
		}
	}
	daemon.stop()
	run(t, "verify", "--data", box)
	for _, secret := range []string{token.Secret, invited.Link[strings.LastIndex(invited.Link, "=")+1:]} {
		if strings.Contains(daemon.log()+audit, secret) {
			t.Error("a secret is in the log or in the audit")
		}
	}
}
