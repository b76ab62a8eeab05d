package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"minutebook/archive/archivetest"
	"minutebook/archive/media"
	"minutebook/archive/notes"
	"minutebook/internal/seal"
)

// TestOtherRecipientsAreWrittenFor exports for two recipients, and then for one of them and
// another: every file is for these.
func TestOtherRecipientsAreWrittenFor(t *testing.T) {
	var keys []*age.X25519Identity
	for range 3 {
		key, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	for _, format := range []Format{JSON, NDJSON, Text, Parquet} {
		a, dir := archivetest.WithMeetings(t, 2), t.TempDir()
		o := Options{Dir: dir, Format: format, Recipients: []age.Recipient{keys[0].Recipient(), keys[1].Recipient()}}
		exportTo(t, a, o)
		o.Recipients = []age.Recipient{keys[1].Recipient(), keys[0].Recipient()}
		if r := exportTo(t, a, o); r.Written != 0 {
			t.Errorf("%s: in another order %+v", format, r)
		}
		o.Recipients = []age.Recipient{keys[1].Recipient(), keys[2].Recipient()}
		if r := exportTo(t, a, o); r.Written == 0 || r.Unchanged != 0 {
			t.Errorf("%s: %+v", format, r)
		}
		for path, content := range archivetest.Tree(t, dir) {
			if filepath.Ext(path) != ".age" {
				continue
			}
			for i, key := range keys {
				if _, err := seal.Reader(strings.NewReader(content), []age.Identity{key}); (err == nil) != (i > 0) {
					t.Errorf("%s: key %d reads %s: %v", format, i, path, err)
				}
			}
		}
	}
}

// TestAQueryKeepsTheNotesOfTheOthers exports one meeting again into a folder with two.
func TestAQueryKeepsTheNotesOfTheOthers(t *testing.T) {
	a, dir := archivetest.WithMeetings(t, 3), t.TempDir()
	d, err := notes.Open(t.Context(), notes.Options{Archive: a})
	if err != nil {
		t.Fatal(err)
	}
	for id := range int64(3) {
		if _, err := d.Add(t.Context(), notes.Note{RecordingID: id + 1, Text: fmt.Sprintf("remark %d", id+1), Person: notes.Owner}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		format Format
		ids    []int64
		want   string
	}{{JSON, []int64{1, 2}, "12"}, {JSON, []int64{2}, "12"}, {NDJSON, []int64{3}, "123"}, {JSON, []int64{1}, "123"}, {NDJSON, []int64{2}, "12"}, {JSON, []int64{}, "12"}} {
		exportTo(t, a, Options{Dir: dir, Format: step.format, IDs: step.ids, Notes: d})
		raw, err := os.ReadFile(filepath.Join(dir, notes.FileName))
		has := ""
		for id := range 3 {
			if bytes.Contains(raw, fmt.Appendf(nil, "remark %d", id+1)) {
				has += fmt.Sprint(id + 1)
			}
		}
		if err != nil || has != step.want {
			t.Errorf("%s of %v: notes of %s, want %s; %v", step.format, step.ids, has, step.want, err)
		}
	}
}

// TestAQueryKeepsTheMergedPeople exports the meetings of a query into a folder that has everything,
// and into an empty one, for somebody else.
func TestAQueryKeepsTheMergedPeople(t *testing.T) {
	a, everything := archivetest.WithMeetings(t, 2), t.TempDir()
	d, err := notes.Open(t.Context(), notes.Options{Archive: a})
	if err == nil {
		_, err = d.Merge(t.Context(), notes.Owner, "Ann", "ann@example.com")
	}
	if err == nil {
		_, err = d.Save(t.Context(), notes.Owner, "Prices", "price")
	}
	if err == nil {
		_, err = d.Add(t.Context(), notes.Note{RecordingID: 1, Text: "remark", Person: notes.Owner})
	}
	if err != nil {
		t.Fatal(err)
	}
	exportTo(t, a, Options{Dir: everything, Format: JSON, Notes: d})
	lines := func(dir string, want int) {
		t.Helper()
		if raw, err := os.ReadFile(filepath.Join(dir, notes.FileName)); err != nil || bytes.Count(raw, []byte("\n")) != want {
			t.Errorf("%v, want %d lines of\n%s", err, want, raw)
		}
	}
	for dir, want := range map[string]int{everything: 3, t.TempDir(): 1} {
		exportTo(t, a, Options{Dir: dir, Format: NDJSON, IDs: []int64{1}, Notes: d})
		lines(dir, want)
	}
	for name, last := range map[string]struct { // of a query, into a folder with everything
		whole, format Format
		want          int
	}{"its meetings are kept": {JSON, JSON, 3}, "its file of meetings is replaced": {NDJSON, NDJSON, 1}, "another file": {NDJSON, JSON, 3}} {
		t.Run(name, func(t *testing.T) {
			for _, earlier := range []bool{false, true} { // the folder is of 0.9.0
				dir := t.TempDir()
				exportTo(t, a, Options{Dir: dir, Format: last.whole, Notes: d})
				if earlier {
					l, err := openLedger(t.Context(), dir)
					if err == nil {
						_, err = l.tx.Exec(`DROP TABLE whole`)
						err = errors.Join(err, l.close())
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				exportTo(t, a, Options{Dir: dir, Format: last.format, IDs: []int64{1}, Notes: d})
				lines(dir, last.want)
			}
		})
	}
}

// TestAFileThatIsCutIsWrittenAgain cuts files as a power cut does, and edits one.
func TestAFileThatIsCutIsWrittenAgain(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, recipients := range [][]age.Recipient{nil, {key.Recipient()}} {
		for _, format := range []Format{Text, NDJSON, Markdown} {
			a, dir := archivetest.WithMeetings(t, 2), t.TempDir()
			o := Options{Dir: dir, Format: format, Recipients: recipients}
			exportTo(t, a, o)
			before := archivetest.Tree(t, dir)
			cut := 0
			for path, content := range before {
				if strings.HasPrefix(filepath.Base(path), ".") || len(content) < 2 {
					continue
				}
				cut++
				if err := os.Truncate(filepath.Join(dir, path), int64(len(content)/2)); err != nil {
					t.Fatal(err)
				}
			}
			if r := exportTo(t, a, o); r.Written != cut || cut == 0 {
				t.Errorf("%s: %+v, %d were cut", format, r, cut)
			}
			for path, content := range archivetest.Tree(t, dir) {
				if len(content) != len(before[path]) && !strings.HasPrefix(filepath.Base(path), ".") {
					t.Errorf("%s: %s has %d bytes, not %d", format, path, len(content), len(before[path]))
				}
			}
		}
	}
	a, dir := archivetest.WithMeetings(t, 1), t.TempDir()
	exportTo(t, a, Options{Dir: dir, Format: Text})
	edited, err := filepath.Glob(filepath.Join(dir, "meetings", "*"))
	if err == nil {
		err = os.WriteFile(edited[0], []byte("mine"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := exportTo(t, a, Options{Dir: dir, Format: Text}); r.Written != 0 {
		t.Errorf("what somebody has edited is replaced: %+v", r)
	}
}

// named is a meeting of a day in February, recorded by Ada with a spelling of her name.
func named(id int64, name string) []byte {
	return fmt.Appendf(nil, `{"recording_id": %d, "title": "T", "recording_start_time": "2026-02-%02dT10:00:00Z", "created_at": "2026-02-%02dT11:00:00Z",
		"recorded_by": {"name": %q, "email": "ada@north.example"}}`, id, id, id, name)
}

// TestNamesAreOfTheMeetingsThatAreThere has several spellings of a name: the newest counts, and
// that of a forgotten meeting is nowhere, in links neither.
func TestNamesAreOfTheMeetingsThatAreThere(t *testing.T) {
	for _, format := range []Format{Markdown, HTML} {
		a, dir := archivetest.New(t), t.TempDir()
		pages := func(step, heading, page, without string) {
			t.Helper()
			for _, f := range []Format{format, format} {
				exportTo(t, a, Options{Dir: dir, Format: f, Site: testSite{}})
			}
			tree := archivetest.Tree(t, dir)
			found := false
			for path, content := range tree {
				if without != "" && strings.Contains(strings.ToLower(path+content), without) {
					t.Errorf("%s %s: %s has %s", format, step, path, without)
				}
				isPage := strings.HasPrefix(path, "people/")
				found = found || isPage && strings.Contains(content, heading)
				if page == "" { // of any of the spellings
					continue
				}
				if isPage && filepath.Base(path) != page+"."+string(format) {
					t.Errorf("%s %s: there is %s", format, step, path)
				}
				if format == Markdown && strings.HasPrefix(path, "meetings/") && !strings.Contains(content, page+".md") {
					t.Errorf("%s %s: %s does not link to %s", format, step, path, page)
				}
			}
			if !found {
				t.Errorf("%s %s: no page %s of %s", format, step, page, heading)
			}
		}
		archivetest.Apply(t, a, archivetest.Epoch, named(1, "Ada Lovelace"), named(2, "Ada Quasar"))
		pages("two spellings", "Ada Quasar", "", "")
		if _, err := a.Forget(t.Context(), 2, "test"); err != nil {
			t.Fatal(err)
		}
		pages("one forgotten", "Ada Lovelace", "ada-lovelace", "quasar")
		archivetest.Apply(t, a, archivetest.Epoch, named(3, "Ada King"))
		pages("a newer one", "Ada King", "ada-lovelace", "quasar")
		if _, err := a.Forget(t.Context(), 1, "test"); err != nil {
			t.Fatal(err)
		}
		pages("the newer one alone", "Ada King", "ada-king", "lovelace")
	}
}

// TestANameWithANULKeepsItsPage exports people of whose names the database's own functions see a part.
func TestANameWithANULKeepsItsPage(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	name := strings.NewReplacer("bob@example.com", "", "Bob", `B\u0000b`)
	archivetest.Apply(t, a, archivetest.Epoch, []byte(name.Replace(string(archivetest.Meeting(1, "T", "said")))))
	exportTo(t, a, Options{Dir: dir, Format: Markdown})
	if again := exportTo(t, a, Options{Dir: dir, Format: Markdown}); again.Removed != 0 || again.Written != 0 {
		t.Errorf("the second export has %+v", again)
	}
}

// TestAnExportLeavesDataDirectoriesAlone exports into data directories, by whatever names.
func TestAnExportLeavesDataDirectoriesAlone(t *testing.T) {
	a, other, links := archivetest.New(t), archivetest.New(t), t.TempDir()
	for name, to := range map[string]string{"data": a.Dir(), "media": filepath.Join(a.Dir(), "media")} {
		if err := os.Symlink(to, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	store := filepath.Join(t.TempDir(), "store") // as a disk that is linked at media
	if err := errors.Join(os.Mkdir(store, 0o700), os.WriteFile(filepath.Join(store, media.OwnerName), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(a.Dir())
	for _, dir := range []string{a.Dir(), filepath.Join(a.Dir(), "media"), filepath.Join(a.Dir(), "media", "new", "er"), filepath.Join(links, "data"),
		filepath.Join(links, "media", "new"), filepath.Join(links, "data", "media"), other.Dir(), "new", ".", store, filepath.Join(store, "new")} {
		before, _ := filepath.Glob(filepath.Join(a.Dir(), "*"))
		for _, format := range []Format{Markdown, NDJSON, Parquet} {
			if _, err := Run(t.Context(), a, Options{Dir: dir, Format: format}); err == nil || !strings.Contains(err.Error(), "name a directory of its own") {
				t.Errorf("%s into %s: %v", format, dir, err)
			}
		}
		if after, _ := filepath.Glob(filepath.Join(a.Dir(), "*")); !slices.Equal(after, before) {
			t.Errorf("into %s: the data directory has %q", dir, after)
		}
	}
	if _, err := Run(t.Context(), a, Options{Dir: filepath.Join(links, "new"), Format: NDJSON}); err != nil {
		t.Error(err)
	}
}

// TestNamesThatDifferInCaseHaveTheirOwnPages exports people whose names are one file on a file
// system that ignores case or composition, in one run and in the next ones.
func TestNamesThatDifferInCaseHaveTheirOwnPages(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	names := []string{"Νίκος", "νίκοσ", "Strauß", "STRAUSS", "Strauſs", "STRAUẞ", "Kay", "\u212aAY", "Zoe\u0308", "zoë"}
	for i, name := range names {
		raw := fmt.Sprintf(`{"recording_id":%d,"title":"Talk","recorded_by":{"name":%q,"email":"p%d@x.example"}}`, i+1, name, i)
		archivetest.Apply(t, a, archivetest.Epoch, json.RawMessage(raw))
		if i%4 == 0 || i == len(names)-1 {
			exportTo(t, a, Options{Dir: dir, Format: Markdown})
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "people", "*"))
	pages := map[string]bool{}
	for _, file := range files {
		pages[foldPage(file)] = true
	}
	if len(pages) != len(names) || len(files) != len(names) {
		t.Errorf("%d people have %q", len(names), files)
	}
}
