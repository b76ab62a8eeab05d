package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
	"minutebook/sample"
)

// TestDamagedLedgerCountsAsNone exports over ledgers that are of no use: the
// files themselves tell that they are right.
func TestDamagedLedgerCountsAsNone(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, dir := archivetest.Sample(t), t.TempDir()
	first := exportTo(t, a, Options{Dir: dir, Format: Markdown})
	path := filepath.Join(dir, ledgerName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	for i := 4096; i < len(flipped); i += 512 {
		flipped[i] ^= 0x55
	}
	for name, content := range map[string][]byte{"another file": []byte("no ledger, only some words that stand here"), "flipped": flipped, "empty": {},
		"another version": nil} {
		if content == nil {
			archivetest.Damage(t, path, `PRAGMA user_version = 99`)
		} else if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := exportTo(t, a, Options{Dir: dir, Format: Markdown}); r.Written != 0 || r.Unchanged != first.Written {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestTwoExportsIntoOneDirectory(t *testing.T) {
	a, dir := archivetest.Sample(t), t.TempDir()
	locked, err := openLedger(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), a, Options{Dir: dir, Format: Text})
	if err == nil || !strings.Contains(err.Error(), "another export into the same directory is running") {
		t.Errorf("the second export: %v", err)
	}
	if err := locked.close(); err != nil {
		t.Fatal(err)
	}
	exportTo(t, a, Options{Dir: dir, Format: Text})
}

// TestPagesOfPeopleComeAndGo forgets the one meeting that somebody was in.
func TestPagesOfPeopleComeAndGo(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, dir := archivetest.New(t), t.TempDir()
	both := archivetest.Meeting(1, "Both", "a")
	alone := bytes.ReplaceAll(archivetest.Meeting(2, "Alone", "b"), []byte("Ann"), []byte("Zoe"))
	archivetest.Apply(t, a, archivetest.Epoch, both, alone)
	for _, format := range []Format{Markdown, HTML} {
		exportTo(t, a, Options{Dir: dir, Format: format})
	}
	// Zoe has Ann's address, and so the page of that address.
	for _, page := range []string{"people/bob.md", "people/bob.html"} {
		if !archivetest.Exists(filepath.Join(dir, page)) {
			t.Errorf("no %s", page)
		}
	}
	archivetest.Apply(t, a, archivetest.Epoch, bytes.ReplaceAll(archivetest.Meeting(3, "Guest", "c"), []byte("ann@example.com"), []byte("guest@example.com")))
	exportTo(t, a, Options{Dir: dir, Format: Markdown})
	page := filepath.Join(dir, "people")
	before, err := filepath.Glob(filepath.Join(page, "*.md"))
	if err != nil || len(before) != 3 {
		t.Fatalf("pages %v, %v; want three", before, err)
	}
	if _, err := a.Forget(t.Context(), 3, "asked for"); err != nil {
		t.Fatal(err)
	}
	r := exportTo(t, a, Options{Dir: dir, Format: Markdown})
	after, err := filepath.Glob(filepath.Join(page, "*.md"))
	if err != nil || len(after) != 2 || r.Removed != 2 {
		t.Errorf("pages %v, %v, %+v; want the guest's and the meeting's gone", after, err, r)
	}
	for name, content := range archivetest.Tree(t, dir) {
		if strings.Contains(content, "guest@example.com") || strings.Contains(content, "Guest") {
			t.Errorf("%s still tells of the guest", name)
		}
	}
	if r := exportTo(t, a, Options{Dir: dir, Format: Markdown}); r.Removed != 0 || r.Written != 0 {
		t.Errorf("once more: %+v", r)
	}
}

// TestSealingAnExportTakesThePlainFilesAway exports encrypted where it was not
// before.
func TestSealingAnExportTakesThePlainFilesAway(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, dir := archivetest.Sample(t), t.TempDir()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []Format{Markdown, HTML, NDJSON} {
		exportTo(t, a, Options{Dir: dir, Format: format})
		exportTo(t, a, Options{Dir: dir, Format: format, Recipients: []age.Recipient{id.Recipient()}})
	}
	for name, content := range archivetest.Tree(t, dir) {
		if !strings.HasSuffix(name, ".age") && name != ledgerName && name != "static/style.css" || strings.Contains(content, "harbour") {
			t.Errorf("%s can be read", name)
		}
	}
}

func TestInterruptedExportKeepsItsNames(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, dir := archivetest.Sample(t), t.TempDir()
	ctx, cancel := contextAfter(t, 5)
	if _, err := Run(ctx, a, Options{Dir: dir, Format: Markdown, Progress: cancel}); err == nil {
		t.Fatal("went on to the end")
	}
	var names []string
	for name := range archivetest.Tree(t, dir) {
		if strings.HasPrefix(name, "meetings/") {
			names = append(names, name)
		}
	}
	var renamed []json.RawMessage
	for _, raw := range sample.All() {
		renamed = append(renamed, bytes.Replace(raw, []byte(`"title":"`), []byte(`"title":"New `), 1))
	}
	archivetest.Apply(t, a, archivetest.Epoch.Add(time.Hour), renamed...)
	exportTo(t, a, Options{Dir: dir, Format: Markdown})
	after := archivetest.Tree(t, dir)
	for _, name := range names {
		if _, ok := after[name]; !ok || len(names) < 5 {
			t.Errorf("%s of %d lost its name", name, len(names))
		}
	}
	meetings := 0
	for name := range after {
		if strings.HasPrefix(name, "meetings/") {
			meetings++
		}
	}
	if meetings != len(sample.All()) {
		t.Errorf("%d files for %d meetings", meetings, len(sample.All()))
	}
}

// A meeting that is forgotten while an export runs is left out, and the export goes on.
func TestAMeetingForgottenDuringAnExportIsLeftOut(t *testing.T) {
	for _, format := range []Format{NDJSON, JSON, Markdown} {
		a := archivetest.Sample(t)
		rows, err := a.List(t.Context(), archive.ListQuery{Viewer: archive.Viewer{All: true}})
		if err != nil {
			t.Fatal(err)
		}
		last := rows[len(rows)-1].RecordingID
		forget := sync.OnceFunc(func() {
			if _, err := a.Forget(t.Context(), last, "asked for"); err != nil {
				t.Error(err)
			}
		})
		for _, ids := range [][]int64{nil, {rows[0].RecordingID, last}} {
			result := exportTo(t, a, Options{Dir: t.TempDir(), Format: format, IDs: ids, Progress: func(int) { forget() }})
			if want := len(rows) - 1; result.Meetings != want && ids == nil || result.Meetings != 1 && ids != nil {
				t.Errorf("%s of %v: %d meetings of %d", format, ids, result.Meetings, len(rows))
			}
		}
	}
}

// A killed export leaves unfinished files, which may hold a meeting that is forgotten
// later. The next export removes them, and nothing else.
func TestUnfinishedFilesOfAKilledExportGo(t *testing.T) {
	a, dir := archivetest.Sample(t), t.TempDir()
	exportTo(t, a, Options{Dir: dir, Format: Markdown})
	want := map[string]bool{".tmp-123": false, "meetings/.tmp-4567": false, "people/.tmp-8": false, ".tmp-notes.md": true, "mine.tmp-1": true, "generation-000001/.tmp-9": true, "lost+found/.tmp-9": true, "meetings/month=2026-03/.tmp-7": false, "entries/month=2026-03/.tmp-7": false}
	for name := range want {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("words"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	err := os.Chmod(filepath.Join(dir, "lost+found"), 0)
	exportTo(t, a, Options{Dir: dir, Format: Markdown})
	if err = errors.Join(err, os.Chmod(filepath.Join(dir, "lost+found"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, want := range want {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v; want it there: %t", name, err, want)
		}
	}
}

// contextAfter ends when its callback is told of n.
func contextAfter(t *testing.T, n int) (context.Context, func(int)) {
	ctx, cancel := context.WithCancel(t.Context())
	return ctx, func(done int) {
		if done >= n {
			cancel()
		}
	}
}

// A meeting that is forgotten after an export wrote it is in none of the export's files at the end.
func TestAMeetingForgottenAfterItWasWrittenIsInNoFile(t *testing.T) {
	for _, format := range []Format{NDJSON, JSON, Markdown, HTML} {
		a := archivetest.WithMeetings(t, 5)
		dir := t.TempDir()
		forget := sync.OnceFunc(func() {
			if _, err := a.Forget(t.Context(), 5, "asked for"); err != nil { // the newest id comes first
				t.Error(err)
			}
		})
		result := exportTo(t, a, Options{Dir: dir, Format: format, Progress: func(done int) {
			if done == 5 {
				forget()
			}
		}})
		for name, content := range archivetest.Tree(t, dir) {
			if strings.Contains(strings.ReplaceAll(content, " ", ""), `"recording_id":5`) || strings.Contains(name, "-5.") {
				t.Errorf("%s: %s holds the forgotten meeting", format, name)
			}
		}
		if format == NDJSON && result.Meetings != 4 {
			t.Errorf("%d meetings are counted", result.Meetings)
		}
	}
}

// forgetfulSite forgets a meeting once it has written the list of all.
type forgetfulSite struct {
	testSite
	forget func()
}

func (s forgetfulSite) Index(w io.Writer, all List) error {
	err := s.testSite.Index(w, all)
	s.forget()
	return err
}

func TestAMeetingForgottenAfterTheListsWereWrittenIsOnNone(t *testing.T) {
	a, dir := archivetest.WithMeetings(t, 5), t.TempDir()
	forget := sync.OnceFunc(func() {
		if _, err := a.Forget(t.Context(), 5, "asked for"); err != nil {
			t.Error(err)
		}
	})
	if _, err := Run(t.Context(), a, Options{Dir: dir, Format: HTML, Site: forgetfulSite{forget: forget}}); err != nil {
		t.Fatal(err)
	}
	tree := archivetest.Tree(t, dir)
	if tree["index.html"] != "4 of 4" {
		t.Errorf("index.html lists %s", tree["index.html"])
	}
	for name := range tree {
		if strings.Contains(name, "-5.") {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestJoinedLinesKeepAllOtherBytes(t *testing.T) {
	if got := string(compactLine([]byte("{\r\n\"a\":\n\"\xff\xc3\"}\n"))); got != "{  \"a\": \"\xff\xc3\"}" {
		t.Errorf("joined to %q", got)
	}
}

// exportAndKill exports as [Run] does, and leaves the directory as a program that is killed just
// before the end.
func exportAndKill(t *testing.T, a *archive.Archive, o Options) {
	t.Helper()
	if o.Format == HTML {
		o.Site = testSite{}
	}
	x, err := newRun(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Format != NDJSON {
		err = x.writeMeetings(t.Context())
	}
	if err := errors.Join(err, x.writeJoined(t.Context()), x.ledger.tx.Rollback(), x.ledger.db.Close(), x.ledger.pending.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestAfterAKilledExport exports into a directory where an export was killed: nothing stays
// of a meeting that was forgotten or renamed meanwhile, and nothing is taken for written that is not.
func TestAfterAKilledExport(t *testing.T) {
	testrun.SkipUnderRace(t)
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	sealed := []age.Recipient{key.Recipient()}
	secret := bytes.ReplaceAll(archivetest.Meeting(2, "Secret", "harbour"), []byte("Ann"), []byte("Zoe Zimmermann"))
	secret = bytes.ReplaceAll(secret, []byte("ann@"), []byte("zoe@"))
	for _, format := range []Format{Markdown, HTML, JSON, NDJSON, Text} {
		for _, first := range []bool{true, false} { // whether the killed export is the first one there
			for _, recipients := range [][2][]age.Recipient{{}, {sealed, sealed}, {nil, sealed}, {sealed, nil}} { // of the killed export, and of the next
				a, dir := archivetest.New(t), t.TempDir()
				archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "One", "a"))
				if !first {
					exportTo(t, a, Options{Dir: dir, Format: format, Recipients: recipients[1]})
				}
				archivetest.Apply(t, a, archivetest.Epoch, secret, archivetest.Meeting(3, "Old name", "c"))
				exportAndKill(t, a, Options{Dir: dir, Format: format, Recipients: recipients[0]})
				archivetest.Apply(t, a, archivetest.Epoch.Add(time.Hour), archivetest.Meeting(3, "New name", "c"))
				if _, err := a.Forget(t.Context(), 2, "asked for"); err != nil {
					t.Fatal(err)
				}
				exportTo(t, a, Options{Dir: dir, Format: format, Recipients: recipients[1]})
				clean := t.TempDir()
				exportTo(t, a, Options{Dir: clean, Format: format, Recipients: recipients[1]})
				got, want := archivetest.Tree(t, dir), archivetest.Tree(t, clean)
				for name, content := range got {
					for _, word := range []string{"Secret", "harbour", "Zimmermann", "zoe@", "Old name"} {
						if strings.Contains(content, word) && name != ledgerName {
							t.Errorf("%s, first %t, encrypted %t: %s has %q", format, first, recipients[0] != nil, name, word)
						}
					}
				}
				if len(got) != len(want) {
					t.Errorf("%s, first %t, encrypted %t, then %t: %d files, want %d: %v", format, first, recipients[0] != nil, recipients[1] != nil, len(got), len(want), slices.Sorted(maps.Keys(got)))
				}
			}
		}
	}
}
