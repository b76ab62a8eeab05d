package archive

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"minutebook/sample"
)

// TestDamagedLedgerCountsAsNone exports over ledgers that are of no use: the
// files themselves tell that they are right.
func TestDamagedLedgerCountsAsNone(t *testing.T) {
	a, dir := sampleArchive(t), t.TempDir()
	first := export1(t, a, ExportOptions{Dir: dir, Format: ExportMarkdown})
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
			vandal(t, path, `PRAGMA user_version = 99`)
		} else if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := export1(t, a, ExportOptions{Dir: dir, Format: ExportMarkdown}); r.Written != 0 || r.Unchanged != first.Written {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestTwoExportsIntoOneDirectory(t *testing.T) {
	a, dir := sampleArchive(t), t.TempDir()
	held, err := openLedger(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Export(t.Context(), ExportOptions{Dir: dir, Format: ExportText})
	if err == nil || !strings.Contains(err.Error(), "another export into the same directory is running") {
		t.Errorf("the second export: %v", err)
	}
	if err := held.close(); err != nil {
		t.Fatal(err)
	}
	export1(t, a, ExportOptions{Dir: dir, Format: ExportText})
}

// TestPagesOfPeopleComeAndGo forgets the one meeting that somebody was in.
func TestPagesOfPeopleComeAndGo(t *testing.T) {
	a, dir := newArchive(t), t.TempDir()
	both := observe(t, SourceList, epoch0, meetingJSON(1, "Both", "a"))
	alone := observe(t, SourceList, epoch0, bytes.ReplaceAll(meetingJSON(2, "Alone", "b"), []byte("Ann"), []byte("Zoe")))
	apply(t, a, both, alone)
	for _, format := range []ExportFormat{ExportMarkdown, ExportHTML} {
		export1(t, a, ExportOptions{Dir: dir, Format: format})
	}
	// Zoe has Ann's address, and so the page of that address.
	for _, page := range []string{"people/bob.md", "people/bob.html"} {
		if !exists(t, filepath.Join(dir, page)) {
			t.Errorf("no %s", page)
		}
	}
	apply(t, a, observe(t, SourceList, epoch0, bytes.ReplaceAll(meetingJSON(3, "Guest", "c"), []byte("ann@example.com"), []byte("guest@example.com"))))
	export1(t, a, ExportOptions{Dir: dir, Format: ExportMarkdown})
	page := filepath.Join(dir, "people")
	before, err := filepath.Glob(filepath.Join(page, "*.md"))
	if err != nil || len(before) != 3 {
		t.Fatalf("pages %v, %v; want three", before, err)
	}
	if _, err := a.Forget(t.Context(), 3, "asked for"); err != nil {
		t.Fatal(err)
	}
	r := export1(t, a, ExportOptions{Dir: dir, Format: ExportMarkdown})
	after, err := filepath.Glob(filepath.Join(page, "*.md"))
	if err != nil || len(after) != 2 || r.Removed != 2 {
		t.Errorf("pages %v, %v, %+v; want the guest's and the meeting's gone", after, err, r)
	}
	for name, content := range tree(t, dir) {
		if strings.Contains(content, "guest@example.com") || strings.Contains(content, "Guest") {
			t.Errorf("%s still tells of the guest", name)
		}
	}
	if r := export1(t, a, ExportOptions{Dir: dir, Format: ExportMarkdown}); r.Removed != 0 || r.Written != 0 {
		t.Errorf("once more: %+v", r)
	}
}

// TestSealingAnExportTakesThePlainFilesAway exports encrypted where it was not
// before.
func TestSealingAnExportTakesThePlainFilesAway(t *testing.T) {
	a, dir := sampleArchive(t), t.TempDir()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []ExportFormat{ExportMarkdown, ExportHTML, ExportNDJSON} {
		export1(t, a, ExportOptions{Dir: dir, Format: format})
		export1(t, a, ExportOptions{Dir: dir, Format: format, Recipients: []age.Recipient{id.Recipient()}})
	}
	for name, content := range tree(t, dir) {
		if !strings.HasSuffix(name, ".age") && name != ledgerName && name != "static/style.css" || strings.Contains(content, "harbour") {
			t.Errorf("%s can be read", name)
		}
	}
}

func TestInterruptedExportKeepsItsNames(t *testing.T) {
	a, dir := sampleArchive(t), t.TempDir()
	ctx, cancel := contextAfter(t, 5)
	if _, err := a.Export(ctx, ExportOptions{Dir: dir, Format: ExportMarkdown, Progress: cancel}); err == nil {
		t.Fatal("went on to the end")
	}
	var names []string
	for name := range tree(t, dir) {
		if strings.HasPrefix(name, "meetings/") {
			names = append(names, name)
		}
	}
	var batch []Observation
	for _, raw := range sample.All() {
		batch = append(batch, observe(t, SourceList, epoch0.Add(time.Hour), bytes.Replace(raw, []byte(`"title":"`), []byte(`"title":"New `), 1)))
	}
	apply(t, a, batch...)
	export1(t, a, ExportOptions{Dir: dir, Format: ExportMarkdown})
	after := tree(t, dir)
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

// contextAfter ends when its callback is told of n.
func contextAfter(t *testing.T, n int) (context.Context, func(int)) {
	ctx, cancel := context.WithCancel(t.Context())
	return ctx, func(done int) {
		if done >= n {
			cancel()
		}
	}
}
