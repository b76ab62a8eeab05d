package control_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/export"
	"minutebook/archive/importer"
	"minutebook/archive/notes"
	"minutebook/control"
	"minutebook/internal/residue"
	"minutebook/search"
	"minutebook/web/access"
)

// noted is an archive of one meeting on which people add notes.
type noted struct {
	*control.Registry
	archive *archive.Archive
	notes   *notes.DB
	people  *access.DB
	index   *search.Index
}

func newNoted(t *testing.T) noted {
	t.Helper()
	a := archivetest.WithMeetings(t, 1)
	x, _ := withIndex(t, a)
	n := noted{archive: a, index: x}
	var err error
	if n.notes, err = notes.Open(t.Context(), notes.Options{Archive: a}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // withIndex has opened access.db already
	if n.people, err = access.Open(t.Context(), access.Options{Archive: archivetest.Open(t, dir), Logger: zerolog.Nop()}); err != nil {
		t.Fatal(err)
	}
	n.Registry = control.Operations(control.Deps{Archive: a, Running: true, Logger: zerolog.Nop(),
		Access: func(context.Context) (*access.DB, error) { return n.people, nil },
		Notes:  func(context.Context) (*notes.DB, error) { return n.notes, nil },
		Index:  func(context.Context) (*search.Index, error) { return x, nil }})
	return n
}

func callNoted[R any](t *testing.T, r *control.Registry, name string, q any) R {
	t.Helper()
	result, err := control.Call[R](t.Context(), r, name, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestNotesGoWithTheirMeeting(t *testing.T) {
	const word = "xylophonist"
	ctx, n, other := t.Context(), newNoted(t), newNoted(t)
	if _, err := other.people.AddPerson(ctx, access.ActorCommand, "someone@example.com", "", true); err != nil {
		t.Fatal(err)
	}
	author, err := n.people.AddPerson(ctx, access.ActorCommand, "ann@example.com", "", true)
	if err == nil {
		_, err = other.people.AddPerson(ctx, access.ActorCommand, "ann@example.com", "", false)
	}
	if err == nil {
		_, err = n.notes.Add(ctx, notes.Note{RecordingID: 1, Text: word, Person: author.ID, Private: true})
	}
	if err == nil {
		_, err = n.notes.Add(ctx, notes.Note{RecordingID: 1, Text: "for *all*", Person: author.ID})
	}
	if err == nil {
		err = n.notes.Tick(ctx, author.ID, notes.Item{RecordingID: 1, At: 30e9, Text: "Call"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.notes.Merge(ctx, author.ID, "bob@example.com", "ann@example.com"); err != nil {
		t.Fatal(err)
	}
	files, pages := t.TempDir(), t.TempDir()
	callNoted[export.Result](t, n.Registry, "export", control.ExportRequest{Dir: files, Format: "ndjson"})
	callNoted[export.Result](t, n.Registry, "export", control.ExportRequest{Dir: pages, Format: "md"})
	page := strings.Join(valuesOf(archivetest.Tree(t, pages)), "\n")
	if !strings.Contains(page, "- [x] Call") || !strings.Contains(page, `- for \*all\* (ann@example.com)`) || strings.Contains(page, word) || strings.Contains(page, "ann@example.com\n") {
		t.Errorf("Markdown:\n%s", page)
	}
	if all, err := filepath.Glob(filepath.Join(pages, "people", "*.md")); err != nil || len(all) != 1 {
		t.Errorf("pages of people: %v, %v", all, err)
	}
	read := callNoted[importer.Result](t, other.Registry, "import", control.ImportRequest{Paths: []string{files}})
	if read.Notes != 4 || len(read.Wrong) != 0 {
		t.Errorf("imported %+v", read)
	}
	if own, err := other.notes.ForMeeting(ctx, 2, 1); err != nil || len(own) != 2 || own[0].Person != 2 {
		t.Errorf("Ann's notes in the other archive: %+v, %v", own, err)
	}
	forgotten := callNoted[archive.Forgotten](t, n.Registry, "forget", control.ForgetRequest{RecordingID: 1, Reason: "test"})
	if found := residue.Find(t, word, n.archive.Dir()); found != nil || forgotten.RecordingID != 1 {
		t.Errorf("after forget the note is in %v", found)
	}
	archivetest.Damage(t, filepath.Join(n.archive.Dir(), notes.Name), `INSERT INTO ticks VALUES (1, -1, 'remains', 0, 0)`)
	sum := callNoted[archive.Verified](t, n.Registry, "verify", control.VerifyRequest{})
	if sum.Damages[archive.DamageForgetting] != 1 {
		t.Errorf("verify: %+v", sum)
	}
	callNoted[export.Result](t, n.Registry, "export", control.ExportRequest{Dir: files, Format: "ndjson"})
	if left, err := os.ReadFile(filepath.Join(files, notes.FileName)); err != nil || strings.Contains(string(left), word) {
		t.Errorf("exported again: %s, %v", left, err)
	}
}

// TestNotesOfARemovedPersonAreNobodyElses gives the address of a removed person to the
// successor, and imports an export into the same archive.
func TestNotesOfARemovedPersonAreNobodyElses(t *testing.T) {
	ctx, n := t.Context(), newNoted(t)
	add := func(address string, admin bool) access.Person {
		t.Helper()
		p, err := n.people.AddPerson(ctx, access.ActorCommand, address, "", admin)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	add("admin@example.com", true)
	anna := add("anna@example.com", false)
	_, err := n.notes.Add(ctx, notes.Note{RecordingID: 1, Text: "private", Person: anna.ID, Private: true})
	if err == nil {
		_, err = n.notes.Add(ctx, notes.Note{RecordingID: 1, Text: "for all", Person: anna.ID})
	}
	if err == nil {
		_, err = n.notes.Save(ctx, anna.ID, "Prices", "price")
	}
	if err == nil {
		err = n.people.RemovePerson(ctx, access.ActorCommand, anna.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	successor := add("anna@example.com", false)
	files := t.TempDir()
	callNoted[export.Result](t, n.Registry, "export", control.ExportRequest{Dir: files, Format: "json"})
	r := callNoted[importer.Result](t, n.Registry, "import", control.ImportRequest{Paths: []string{files}})
	if r.Notes != 0 || r.UnknownAuthors != 2 {
		t.Errorf("imported %+v", r)
	}
	for _, person := range []int64{successor.ID, notes.Owner} {
		reads, err := n.notes.ForMeeting(ctx, person, 1)
		saved, failed := n.notes.Saved(ctx, person)
		if len(reads) != 1 || len(saved) != 0 || err != nil || failed != nil {
			t.Errorf("person %d reads %+v and has %+v, %v, %v", person, reads, saved, err, failed)
		}
	}
}

// TestAssistantsFindTheOwnersNotes has `minutebook mcp` find a word of a note, as the page's
// /mcp does.
func TestAssistantsFindTheOwnersNotes(t *testing.T) {
	n := newNoted(t)
	if err := n.index.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.notes.Add(t.Context(), notes.Note{RecordingID: 1, Text: "the xylophonist", Person: notes.Owner, Private: true}); err != nil {
		t.Fatal(err)
	}
	answer := callNoted[control.AssistantResult](t, n.Registry, "assistant", control.AssistantRequest{Message: []byte(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_meetings","arguments":{"query":"note:xylophonist"}}}`)})
	if text := string(answer.Reply); !strings.Contains(text, `"total":1}`) || !strings.Contains(text, `"part":"notes"`) {
		t.Errorf("the assistant is told %s", text)
	}
}

func valuesOf(files map[string]string) (all []string) {
	for _, content := range files {
		all = append(all, content)
	}
	return all
}
