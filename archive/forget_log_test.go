package archive

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive/inbox"
	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// readElsewhere begins to read a database, as another program does, until the returned
// function is called.
func readElsewhere(t *testing.T, path string) (end func()) {
	t.Helper()
	db := sqlite.Connect(path, "?mode=ro", nil)
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var tables int
	if err := tx.QueryRow(`SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestForgetGoesOnWhileALogIsRead has other programs read two databases while a meeting
// is forgotten and the archive is opened anew: nothing of the meeting is readable here,
// its erasure is unfinished and says where, and is finished once they have ended.
func TestForgetGoesOnWhileALogIsRead(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := filledArchive(t)
	ctx, dir := t.Context(), a.dir
	if _, err := a.inbox.Put(ctx, inbox.Delivery{Account: "main", WebhookID: "msg_1", ReceivedAt: epoch0, Body: meetingJSON(2, "T", "hello 2")}); err != nil {
		t.Fatal(err)
	}
	endArchive, endInbox := readElsewhere(t, a.db.Path), readElsewhere(t, a.inbox.Path())
	for _, db := range a.Databases() {
		db.LogPatience = time.Millisecond
	}
	asked := 0
	a.OnForget("a room", func(context.Context, int64) error { asked++; return nil })
	f, err := a.Forget(ctx, 2, "asked for")
	if err != nil || !slices.Equal(f.Logs, []string{"archive.db", "inbox.db"}) {
		t.Fatalf("forgot %+v, %v", f, err)
	}
	if _, err := a.Row(ctx, 2); !errors.Is(err, ErrForgotten) {
		t.Errorf("row: %v", err)
	}
	if err := a.FinishForgetting(ctx); !errors.Is(err, sqlite.ErrLogRead) || !strings.Contains(err.Error(), "archive.db, inbox.db") || asked != 1 {
		t.Errorf("while the logs are read: %v; the room was asked %d times", err, asked)
	}
	if unfinished, logs, err := a.Forgetting(ctx); err != nil || unfinished != 1 || !slices.Equal(logs, f.Logs) {
		t.Errorf("unfinished %d, %v, %v", unfinished, logs, err)
	}

	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer // a start does not wait for them, and says so of the log that it has to empty
	if a, err = Open(ctx, Options{Dir: dir, Logger: zerolog.New(&log), Now: func() time.Time { return epoch0 }}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		must(t, a.Close())
		if want := `{"level":"warn","message":"another program reads inbox.db; its log is emptied when that program ends"}` + "\n"; strings.Count(log.String(), want) != 1 {
			t.Errorf("the log does not have %s once: %s", want, &log)
		}
	}()
	endInbox()
	for _, db := range a.Databases() {
		db.LogPatience = time.Millisecond
	}
	if err := a.FinishForgetting(ctx); !errors.Is(err, sqlite.ErrLogRead) || !strings.Contains(err.Error(), " archive.db:") {
		t.Errorf("after a start: %v", err)
	}
	if filesWith(t, dir, "hello 2") == nil {
		t.Error("nothing of it is left already: this tests nothing")
	}
	endArchive()
	if err := a.FinishForgetting(ctx); err != nil {
		t.Errorf("at last: %v", err)
	}
	if unfinished, logs, err := a.Forgetting(ctx); err != nil || unfinished != 0 || len(logs) > 0 {
		t.Errorf("unfinished %d, %v, %v", unfinished, logs, err)
	}
	if left := filesWith(t, dir, "hello 2"); left != nil {
		t.Errorf("it is left in %v", left)
	}
}
