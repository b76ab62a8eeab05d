package inbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minutebook/internal/sqlite"
)

// largeBody is a body of about 16 KB that names k.
func largeBody(k int) string {
	return fmt.Sprintf(`{"k":%d,"text":"%s"}`, k, strings.Repeat(fmt.Sprint("body", k, " "), 2800))
}

func largeBodies(n int) map[string]string {
	want := map[string]string{}
	for k := range n {
		want[fmt.Sprint("msg_", k)] = largeBody(k)
	}
	return want
}

// bodiesOf returns the bodies of the pending deliveries, by webhook id.
func bodiesOf(t *testing.T, i *Inbox) map[string]string {
	t.Helper()
	ds, err := i.Pending(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range ds {
		got[d.WebhookID] = string(d.Body)
	}
	return got
}

// writeOverflow makes an inbox at path as an earlier version left it: the bodies
// of n deliveries, msg_0 and on, are in an overflow file. It returns the file and
// the offsets of the bodies.
func writeOverflow(t *testing.T, path string, n int) (file string, offsets []int64) {
	t.Helper()
	i := openInbox(t, path, Options{})
	var content []byte
	for k := range n {
		d := delivery("a", fmt.Sprint("msg_", k), largeBody(k))
		d.RecordingID = int64(100 + k)
		put(t, i, d)
		offsets = append(offsets, int64(len(content)))
		_, err := i.db.W.Exec(`UPDATE deliveries SET body = X'', encoding = 0, checksum = ?, spill = 3, spill_at = ?, spill_size = ? WHERE webhook_id = ?`,
			hashBody(d.Body), len(content), len(d.Body), d.WebhookID)
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, d.Body...)
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(path+"-spill", "3")
	if err := errors.Join(os.Mkdir(path+"-spill", 0o700), os.WriteFile(file, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	return file, offsets
}

// wantNoOverflow fails when a row or a file of the overflow is left.
func wantNoOverflow(t *testing.T, i *Inbox) {
	t.Helper()
	var rows int
	if err := i.db.R.QueryRow(`SELECT count(*) FROM deliveries WHERE spill <> 0 OR spill_at <> 0 OR spill_size <> 0`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows name an overflow file, %v", rows, err)
	}
	if _, err := os.Stat(i.db.Path + "-spill"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of overflow files is there: %v", err)
	}
}

// Overflow files of an earlier version are imported: the bodies are in the rows,
// also when opened again, and the folder is gone with everything in it.
func TestImportsOverflowFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	file, _ := writeOverflow(t, path, 70)            // more than one transaction moves
	for _, name := range []string{"unsynced", "9"} { // the note of a failed sync; a file of rows rolled back
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		i := openInbox(t, path, Options{})
		wantNoOverflow(t, i)
		if diff := cmp.Diff(largeBodies(70), bodiesOf(t, i)); diff != "" {
			t.Error(diff)
		}
		if !put(t, i, delivery("a", "msg_3", "{}")) {
			t.Error("an imported delivery is taken for a new one")
		}
		if err := i.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// An overflow file can lack bodies that were never acknowledged. A delivery whose body is
// cut, damaged or missing is quarantined and accepted when it is sent again; one
// that was applied stays known, and a dropped body stays dropped.
func TestQuarantinesLostOverflow(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "inbox.db")
		file, offsets := writeOverflow(t, path, 6)
		change(t, path, `UPDATE deliveries SET state = 'applied' WHERE webhook_id IN ('msg_4', 'msg_5')`)
		change(t, path, `UPDATE deliveries SET body = NULL WHERE webhook_id = 'msg_5'`)
		lost := map[string]bool{"msg_1": true, "msg_3": true}
		if deleted {
			lost = map[string]bool{"msg_0": true, "msg_1": true, "msg_2": true, "msg_3": true}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		} else if err := errors.Join(writeAt(file, "damage", offsets[1]+50), os.Truncate(file, offsets[3]+100)); err != nil {
			t.Fatal(err)
		}
		i := openInbox(t, path, Options{})
		wantNoOverflow(t, i)
		want := largeBodies(4)
		for id := range lost {
			delete(want, id)
		}
		if diff := cmp.Diff(want, bodiesOf(t, i)); diff != "" {
			t.Error(diff)
		}
		list, err := i.List(t.Context(), Query{State: StateQuarantined})
		if err != nil || len(list) != len(lost) {
			t.Errorf("%d deliveries are quarantined, %v; want %d", len(list), err, len(lost))
		}
		for _, id := range []string{"msg_0", "msg_1", "msg_3", "msg_4", "msg_5"} {
			if duplicate := put(t, i, delivery("a", id, "{}")); duplicate == lost[id] {
				t.Errorf("%s again: duplicate %v", id, duplicate)
			}
		}
	}
}

// An overflow file that cannot be read now holds no lost bodies: the inbox does
// not open, and imports them later.
func TestKeepsOverflowThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	file, _ := writeOverflow(t, path, 3)
	aside := file + "-aside"
	if err := errors.Join(os.Rename(file, aside), os.Symlink(file, file)); err != nil { // a link to itself
		t.Fatal(err)
	}
	if i, err := Open(t.Context(), path, Options{}); err == nil {
		i.Close()
		t.Error("the inbox opened though bodies cannot be read")
	}
	if err := os.Rename(aside, file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(largeBodies(3), bodiesOf(t, openInbox(t, path, Options{}))); diff != "" {
		t.Error(diff)
	}
}

// change runs a statement in the database of a closed inbox, as an earlier
// version would.
func change(t *testing.T, path, query string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.W.Exec(query); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeAt(file, text string, at int64) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), at)
	return errors.Join(err, f.Close())
}
