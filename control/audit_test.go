package control_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/config"
	"minutebook/control"
	"minutebook/web/access"
)

// peopleOperations returns the operations on an archive whose page asks people, the
// archive, and the log of the operations.
func peopleOperations(t *testing.T) (*control.Registry, *archive.Archive, *bytes.Buffer) {
	t.Helper()
	a := archivetest.New(t)
	var log bytes.Buffer
	db, err := access.Open(t.Context(), access.Options{Archive: a, Logger: zerolog.New(&log)})
	if err != nil {
		t.Fatal(err)
	}
	return control.Operations(control.Deps{Archive: a, Logger: zerolog.New(&log), Access: func(context.Context) (*access.DB, error) { return db, nil },
		Web: config.Web{Access: config.AccessPeople, Passwords: true, PublicURL: "https://minutes.example"}}), a, &log
}

// auditText returns all rows of the audit as the operation emits them.
func auditText(t *testing.T, ops control.Caller) string {
	t.Helper()
	var all strings.Builder
	if _, err := control.Call[control.AuditResult](t.Context(), ops, "audit", control.AuditRequest{}, func(raw json.RawMessage) error {
		all.Write(append(raw, '\n'))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A daemon answers the commands over its socket, and no secret is anywhere but in
// the answer: not in the log, the audit or a file of the data directory.
func TestPeopleOverTheSocket(t *testing.T) {
	here, a, log := peopleOperations(t)
	l, err := control.Listen(a.Dir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- control.Serve(ctx, l, here) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	client, err := control.Dial(t.Context(), a.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	invited, err := control.Call[control.Invited](t.Context(), client, "user.add", control.UserRequest{Address: "ann@example.com", Admin: true}, nil)
	link, found := strings.CutPrefix(invited.Link, "https://minutes.example"+access.InvitationPath)
	if err != nil || !found || len(link) != 43 {
		t.Fatalf("%+v, %v", invited, err)
	}
	token, err := control.Call[control.NewToken](t.Context(), client, "token.create",
		control.TokenRequest{Address: "ANN@example.com", Scopes: []access.Scope{access.ScopeAdmin}, Life: 1e12}, nil)
	if err != nil || !strings.HasPrefix(token.Secret, access.TokenPrefix) {
		t.Fatalf("%+v, %v", token.Token, err)
	}
	audit := auditText(t, client)
	if n := strings.Count(audit, "\n"); n != 4 || !strings.Contains(audit, `"person_address":"ann@example.com"`) {
		t.Errorf("the audit has %d rows: %s", n, audit)
	}
	for _, secret := range []string{link, token.Secret, strings.TrimPrefix(token.Secret, access.TokenPrefix)} {
		if strings.Contains(log.String(), secret) || strings.Contains(audit, secret) {
			t.Error("a secret is in the log or in the audit")
		}
		files, err := filepath.Glob(filepath.Join(a.Dir(), "*.db*"))
		if err != nil || len(files) < 2 {
			t.Fatalf("databases %v, %v", files, err)
		}
		for _, name := range files {
			if content, err := os.ReadFile(name); err != nil || bytes.Contains(content, []byte(secret)) {
				t.Errorf("a secret is in %s, %v", name, err)
			}
		}
	}
}

// The audit is read page by page, each row once.
func TestAuditIsShownWhole(t *testing.T) {
	ops, a, _ := peopleOperations(t)
	if _, err := control.Call[control.Invited](t.Context(), ops, "user.add", control.UserRequest{Address: "ann@example.com"}, nil); err != nil {
		t.Fatal(err)
	}
	changeAccess(t, a, `WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
		INSERT INTO audit SELECT i, 0, 'system', 'sign-in.failed', '{}', x'', x'' FROM n`)
	if n := strings.Count(auditText(t, ops), "\n"); n != 2500 {
		t.Errorf("%d rows are shown", n)
	}
}

// changeAccess changes access.db as nothing of the program does.
func changeAccess(t *testing.T, a *archive.Archive, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(a.Dir(), access.Name)+"?_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// A row of the audit that was changed is a damage with an exit code of its own,
// which no repair hides.
func TestVerifyNamesABrokenAudit(t *testing.T) {
	a, _, ops := indexed(t)
	for id := range int64(2) {
		// The archive has no such meeting; that it was asked for is in the audit.
		if _, err := control.Call[archive.Forgotten](t.Context(), ops, "forget", control.ForgetRequest{RecordingID: 900 + id, Reason: "x"}, nil); err == nil {
			t.Fatal("forgot a meeting that there is not")
		}
	}
	if v, damages := verified(t, a.Dir(), ops, false); v.ExitCode() != 0 {
		t.Fatalf("a sound audit: %v", damages)
	}
	changeAccess(t, a, `UPDATE audit SET actor = 'owner' WHERE seq = 1`)
	for _, repair := range []bool{false, true} {
		v, damages := verified(t, a.Dir(), ops, repair)
		if len(damages) != 1 || v.ExitCode() != 24 {
			t.Fatalf("exit code %d, found %v", v.ExitCode(), damages)
		}
		if text := fmt.Sprint(damages[0]); !strings.Contains(text, "audit: ") || !strings.Contains(text, "access.db: audit row 1 was changed") {
			t.Error(text)
		}
	}
}
