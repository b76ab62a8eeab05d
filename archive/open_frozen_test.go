package archive

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const schemaOf = `SELECT name || ': ' || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name`

// frozenSchemas are the files NAME-VERSION.sql of testdata/schemas.
func frozenSchemas(t *testing.T, name string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/schemas/" + name + "-*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("frozen schemas of %s: %v, %v", name, files, err)
	}
	return files
}

// thaw makes a database of a frozen one.
func thaw(t *testing.T, file, path string) {
	t.Helper()
	frozen, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	vandal(t, path, string(frozen))
}

// TestEveryFrozenSchemaIsUpgraded opens archives as each frozen version left
// them, in testdata/schemas as SQL: the schema is then that of a new archive,
// and all that was in them is there and sound.
func TestEveryFrozenSchemaIsUpgraded(t *testing.T) {
	want, err := columnOf(newArchive(t).db, schemaOf)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range frozenSchemas(t, "archive") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			dir := t.TempDir()
			thaw(t, file, filepath.Join(dir, "archive.db"))
			a := openArchive(t, dir)
			got, err := columnOf(a.db, schemaOf)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			v, damages := verify(t, a, VerifyOptions{SkipMedia: true})
			for _, d := range damages {
				if d.Class != DamageFileMissing && d.Class != DamageMode { // files are not in the frozen copy
					t.Error(d)
				}
			}
			if v.Meetings != 5 {
				t.Errorf("%d meetings; want the 5 that were in it", v.Meetings)
			}
		})
	}
}

// TestEveryFrozenInboxIsUpgraded is the same for inbox.db: what was acknowledged
// is there, is known when it comes again, and secrets still verify.
func TestEveryFrozenInboxIsUpgraded(t *testing.T) {
	want, err := columnOf(openTestInbox(t, filepath.Join(t.TempDir(), "inbox.db"), InboxOptions{}).db, schemaOf)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range frozenSchemas(t, "inbox") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "inbox.db")
			thaw(t, file, path)
			i := openTestInbox(t, path, InboxOptions{})
			got, err := columnOf(i.db, schemaOf)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if diff := cmp.Diff([]string{"msg_3"}, pendingIDs(t, i)); diff != "" {
				t.Error(diff)
			}
			for n, id := range []string{"msg_1", "msg_2", "msg_3"} {
				if !put(t, i, delivery("main", id, "{}")) {
					t.Errorf("%s is taken for a new one", id)
				}
				if d, err := i.Delivery(t.Context(), int64(n+1)); err != nil || string(d.Body) != string(meetingJSON(7, "T", id)) || d.Header.Get("Content-Type") == "" {
					t.Errorf("%s: %+v, %v", id, d, err)
				}
			}
			if secrets, err := i.Secrets(t.Context(), "main"); err != nil || len(secrets) != 1 {
				t.Errorf("%d secrets, %v", len(secrets), err)
			}
		})
	}
}
