package years

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/export"
	"minutebook/archive/importer"
	"minutebook/control"
	"minutebook/internal/residue"
)

// firstForeignID is the lowest recording_id of an imported meeting, see docs/import.md.
const firstForeignID = 8_000_000_000_000_000

// firstForeign is the token of the first meeting that another program recorded, and
// foreignMeetings is how many there are.
const (
	firstForeign    = 800000
	foreignMeetings = 8
)

// firstTalking is the first seed half of whose imported meetings have recordings.
const firstTalking = 20000

// talk returns the recording of the meeting n that another program recorded; nil: it has none.
func (w *world) talk(n int) []byte {
	if w.seed < firstTalking || n%2 == 1 {
		return nil
	}
	return []byte(strings.Repeat(token(int64(firstForeign+n))+" aloud ", 200))
}

// foreignMeeting returns the meeting n that another program recorded. It is the same
// whenever it is imported.
func (w *world) foreignMeeting(n int) *meeting {
	r := newRand(w.seed, fmt.Sprintf("foreign %d", n))
	p := w.org.people[r.IntN(w.org.founders)]
	return &meeting{id: int64(firstForeign + n), title: token(int64(firstForeign+n)) + " elsewhere", recorder: p, speaker: p.first,
		created: firstDay.Add(-time.Duration(r.IntN(300*24)) * time.Hour), length: 30 * time.Minute, edges: usualEdges(), words: 1}
}

// meetingOf returns the meeting of a row, at the service or imported.
func (w *world) meetingOf(row *archive.Row) *meeting {
	m := w.named(row.RecordingID, row.Title)
	if m == nil {
		w.fail("meeting %d, %q, is neither the service's nor imported", row.RecordingID, row.Title)
	}
	return m
}

// named returns the meeting with an id, at the service, or imported with a title; nil: none.
func (w *world) named(id int64, title string) *meeting {
	if m := w.org.meeting(id); m != nil {
		return m
	}
	n, err := strconv.Atoi(strings.TrimPrefix(strings.Fields(title + " ?")[0], "zq"))
	if err != nil || !isForeign(id) {
		return nil
	}
	return w.foreignMeeting(n - firstForeign)
}

// importForeign imports a meeting that another program recorded, now and then once more.
func (w *world) importForeign(g *rand.Rand) { do(w.toImport(g)) }

func (w *world) toImport(g *rand.Rand) *task {
	h := w.house
	if h == nil || h.isSick() {
		return nil
	}
	n := g.IntN(foreignMeetings)
	m := w.foreignMeeting(n)
	dir := filepath.Join(w.dir, "elsewhere", strconv.Itoa(n))
	w.must(os.MkdirAll(dir, 0o700), "make a folder")
	for name, text := range map[string]string{
		"meeting.toml": fmt.Sprintf("title = %q\nstart = %s\nrecorded_by = \"%s <%s>\"\n", m.title, m.start().Format(time.RFC3339), m.speaker, m.recorder.firstAddress()),
		"talk.vtt":     fmt.Sprintf("WEBVTT\n\n00:01.000 --> 00:05.000\n<v %s>%s elsewhere\n", m.speaker, token(m.id)),
	} {
		w.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600), "write a meeting")
	}
	if talk := w.talk(n); talk != nil {
		w.must(os.WriteFile(filepath.Join(dir, "talk.mp3"), talk, 0o600), "write a recording")
	}
	var r importer.Result
	return &task{name: "import", run: func(ctx context.Context) (err error) {
		r, err = command[importer.Result](ctx, h, "import", control.ImportRequest{Paths: []string{dir}}, nil)
		return err
	}, judge: func(err error) {
		if h.dead.Load() || w.isExcused(err) {
			return
		}
		w.must(err, "import")
		w.judgeImport(m, n, r)
	}}
}

// judgeImport judges the import of the meeting n that another program recorded.
func (w *world) judgeImport(m *meeting, n int, r importer.Result) {
	w.journal.note("the meeting %d of %s is imported: %+v", m.id, m.recorder.name, r)
	switch {
	case len(r.Wrong) > 0 && strings.Contains(r.Wrong[0].Err.Error(), archive.ErrNoBlob.Error()) && w.isExpired(m): // a rule took it at this moment
	case len(r.Wrong) > 0 && !w.isExcused(r.Wrong[0]):
		w.fail("import: %v", r.Wrong[0])
	case len(r.Wrong) == 0 && w.talk(n) != nil:
		w.oracle.heard[n] = true
	}
	switch w.oracle.imported[n] {
	case false:
		w.oracle.imported[n] = true
	case true:
		if r.Changed > 0 {
			w.fail("the meeting %d was imported before, and is changed", m.id)
		}
	}
}

// checkImported looks for the imported meetings.
func (w *world) checkImported() {
	ctx := context.Background()
	found := map[int64]bool{}
	rows, err := w.house.archive.List(ctx, archive.ListQuery{Viewer: archive.Viewer{All: true}})
	w.must(err, "list meetings")
	for _, row := range rows {
		if !isForeign(row.RecordingID) {
			continue
		}
		m := w.meetingOf(row)
		parts, err := w.house.archive.PartsOf(ctx, row.RecordingID)
		w.must(err, "read the parts")
		if found[m.id] || row.Gone || row.Title != m.title || !strings.Contains(string(parts[api.PartTranscript]), token(m.id)+" elsewhere") {
			w.fail("the imported meeting %d is there twice, gone or changed: %+v, %s", m.id, row, parts[api.PartTranscript])
		}
		found[m.id] = true
		w.checkTalk(row.RecordingID, m)
	}
	for n := range w.oracle.imported {
		if m := w.foreignMeeting(n); !found[m.id] {
			w.fail("the meeting %d was imported and is not there", m.id)
		}
	}
}

// checkTalk compares the recording of an imported meeting, which a rule may have deleted.
func (w *world) checkTalk(id int64, m *meeting) {
	n := int(m.id - firstForeign)
	list, err := w.house.archive.MediaOf(w.house.life, id)
	w.must(err, "read the recordings")
	for _, a := range list {
		if content, ok := w.readRecording(id, a); ok && !bytes.Equal(content, w.talk(n)) {
			w.fail("the recording of the imported meeting %d is %.30q, %d bytes", n, content, len(content))
		}
	}
	if mayLack := !w.oracle.heard[n] || w.oracle.lapsed[m.id] || w.isExpiring(m); len(list) > 1 || len(list) == 0 && !mayLack {
		w.fail("the imported meeting %d has %d recordings", n, len(list))
	}
}

// export exports the archive into the same directory each time, and imports the files into
// an empty archive.
func (w *world) export(g *rand.Rand) { do(w.toExport(g)) }

func (w *world) toExport(*rand.Rand) *task {
	h := w.house
	if h == nil || h.isSick() {
		return nil
	}
	dir, before := filepath.Join(w.dir, "export"), w.content(h.archive)
	var words []string // which it may not have
	for id := range w.oracle.forgot {
		words = append(words, token(id))
	}
	var r export.Result
	return &task{name: "export", run: func(ctx context.Context) (err error) {
		r, err = command[export.Result](ctx, h, "export", control.ExportRequest{Dir: dir, Format: string(export.JSON)}, nil)
		return err
	}, judge: func(err error) {
		if h.dead.Load() {
			return
		}
		w.must(err, "export")
		w.journal.note("an export: %+v", r)
		w.judgeExport(h, dir, before, words, r)
	}}
}

// judgeExport imports an export into an empty archive.
func (w *world) judgeExport(h *house, dir string, before map[int64]map[string]string, words []string, r export.Result) {
	ctx := context.Background()
	w.checkSealed(dir)
	after := w.content(h.archive)
	if found := residue.FindAny(w.t, words, dir); len(found) > 0 {
		w.fail("a word of a forgotten meeting is in the export: %q", found)
	}
	if r.Meetings == 0 {
		return // nothing can be read back
	}
	empty := filepath.Join(w.dir, "read back")
	other, err := archive.Open(ctx, archive.Options{Dir: empty, Create: true, Now: w.now, Running: runningTime(), Logger: w.logger})
	w.must(err, "open an empty archive")
	read := house{w: w, archive: other, elder: h}
	defer func() {
		if w.finding != "" { // else it is closed below
			_ = other.Close()
		}
	}()
	read.openSides(ctx)
	for _, k := range slices.Sorted(maps.Keys(w.oracle.notes)) {
		_, err := read.person(w.oracle.notes[k].author)
		w.must(err, "add a person")
	}
	back, err := command[importer.Result](ctx, &read, "import", control.ImportRequest{Paths: []string{dir}, Identity: w.identity()}, nil)
	if err == nil && len(back.Wrong) > 0 {
		err = back.Wrong[0]
	}
	got := w.content(other)
	w.checkExportedNotes(&read, got)
	w.must(errors.Join(other.Close(), os.RemoveAll(empty)), "close the archive")
	w.must(err, "import the export")
	for id, want := range before {
		if maps.Equal(want, after[id]) && !maps.Equal(want, got[id]) {
			w.fail("meeting %d has %v, and its export %v", id, want, got[id])
		}
	}
}

// content returns the title and the current content of every meeting.
func (w *world) content(ar *archive.Archive) map[int64]map[string]string {
	ctx, all := context.Background(), map[int64]map[string]string{}
	rows, err := ar.List(ctx, archive.ListQuery{Viewer: archive.Viewer{All: true}, IncludeGone: true})
	w.must(err, "list meetings")
	for _, row := range rows {
		if content := w.contentOf(ar, row); content != nil {
			all[row.RecordingID] = content
		}
	}
	return all
}

// contentOf returns the title and the current content of a meeting; nil when it is forgotten.
func (w *world) contentOf(ar *archive.Archive, row *archive.Row) map[string]string {
	parts, err := ar.PartsOf(context.Background(), row.RecordingID)
	if errors.Is(err, archive.ErrForgotten) {
		return nil
	}
	w.must(err, "read the parts")
	content := map[string]string{"title": row.Title}
	for part, raw := range parts {
		if slices.Contains(contentKeys, memberOf(part)) && hasContent(raw) {
			content[memberOf(part)] = canonical(raw)
		}
	}
	return content
}
