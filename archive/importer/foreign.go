package importer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/captions"
)

// foreign is a meeting that another program recorded: its files.
type foreign struct {
	transcript string
	metadata   string   // "" without
	recording  string   // "" without
	formats    []string // the transcript in other formats, which say less
	unused     []string // other recordings
}

// files returns the meeting's files.
func (f foreign) files() (all []string) {
	for _, path := range slices.Concat([]string{f.transcript, f.metadata, f.recording}, f.formats, f.unused) {
		if path != "" {
			all = append(all, path)
		}
	}
	return all
}

// chooseRecording takes the recording with a name, "" for any; the others are not missed.
func (f *foreign) chooseRecording(name string) {
	for _, path := range append([]string{f.recording}, f.unused...) {
		if name != "" && isSameName(name, filepath.Base(path)) {
			f.recording, f.unused = path, nil
		}
	}
}

// foreignMeeting is a meeting of other programs' files, as the archive takes it.
type foreignMeeting struct {
	api.Meeting
	foreign
	meta   Metadata
	talk   captions.Transcript // until the meeting is filled
	shares map[string]archive.ShareLevel

	words, key                             int64   // the ids by the words, and by the key: 0 without
	otherWords                             []int64 // the ids by the words of the other formats that tell it from others
	guessedTitle, guessedStart, guessedEnd bool
	length                                 time.Duration // of the talk
}

// readForeign reads the files of a meeting. It fails with a [Wrong] for a file with an
// error in it.
func readForeign(f foreign) (m foreignMeeting, err error) {
	m.foreign = f
	if f.metadata != "" {
		if m.meta, err = readMetadata(f.metadata); err != nil {
			return m, err
		}
		f.chooseRecording(m.meta.Recording)
		m.foreign = f
		if err = m.meta.checkFiles(f); err != nil {
			return m, err
		}
	}
	if m.talk, err = readTranscript(f.transcript); err != nil {
		return m, err
	}
	m.words, m.length = idOf("", m.talk), m.talk.End()
	if m.meta.Key != "" {
		m.key = idOf(m.meta.Key, m.talk)
	}
	for _, path := range f.formats {
		if talk, err := readTranscript(path); err == nil && isTelling(talk, m.talk) { // else nobody reads it
			m.otherWords = append(m.otherWords, idOf("", talk))
		}
	}
	return m, nil
}

// isTelling reports whether a talk in another format has enough words to tell one meeting from
// another: a minute of them, or half as many as the transcript. Recorders write texts that are
// the same for all talks, such as "Transcription started".
func isTelling(format, transcript captions.Transcript) bool {
	const minute = 1000 // bytes
	return textLength(format) >= min(minute, textLength(transcript)/2)
}

func textLength(t captions.Transcript) (n int) {
	for _, c := range t.Captions {
		n += len(c.Text)
	}
	return n
}

// fill makes the meeting of the files' content. Where the files do not say something, the
// meeting that the archive has (row, nil without) stays as it is, and a new one is as the
// options say; who sees it stays with keepViewers.
func (m *foreignMeeting) fill(o *Options, row *archive.Row, keepViewers bool) (err error) {
	wrong := func(err error) error { return Wrong{File: orOther(m.metadata, m.transcript), Err: err} }
	meta := &m.meta
	if meta.RecordedBy == "" && row != nil {
		meta.RecordedBy = recorderText(row.RecordedBy)
	}
	if meta.RecordedBy == "" {
		meta.RecordedBy = o.Owner
	}
	if meta.VisibleTo == nil && !keepViewers {
		meta.VisibleTo = nonNil(o.VisibleTo)
	}
	if err := meta.fill(&m.Meeting, o.zone()); err != nil {
		return wrong(err)
	}
	if meta.VisibleTo != nil {
		if m.shares, err = ParseVisibleTo(meta.VisibleTo); err != nil {
			return wrong(fmt.Errorf("visible_to: %w", err))
		}
	}
	talk := m.talk
	m.talk = captions.Transcript{} // is not kept twice
	if m.TranscriptLanguage == "" {
		m.TranscriptLanguage = talk.Language
	}
	if err := m.fillTranscript(meta, talk); err != nil {
		return wrong(err)
	}
	m.SharedWith = api.SharedNoTeams
	if err := m.guess(o.zone()); err != nil {
		return err
	}
	if row != nil {
		m.keepGuesses(row)
	}
	return nil
}

// recorderText returns a recorder in the words of metadata.
func recorderText(r api.Recorder) string {
	if r.Email == "" {
		return r.Name
	}
	return (&mail.Address{Name: r.Name, Address: r.Email}).String()
}

func nonNil(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

func orOther(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

func (o *Options) zone() *time.Location {
	if o.Zone == nil {
		return time.UTC
	}
	return o.Zone
}

// readTranscript reads a file of captions.
func readTranscript(path string) (t captions.Transcript, err error) {
	content, err := readWhole(path, captions.MaxSize(path))
	if err != nil {
		return t, err
	}
	if t, err = captions.Parse(path, content); err != nil {
		err = wrongText(path, err)
	}
	return t, err
}

// wrongText returns an error in a text with its line.
func wrongText(path string, err error) Wrong {
	if bad, ok := errors.AsType[*captions.LineError](err); ok {
		return Wrong{File: path, Line: bad.Line, Err: errors.New(bad.Reason)}
	}
	return Wrong{File: path, Err: err}
}

// fillTranscript puts the talk into the meeting.
func (m *foreignMeeting) fillTranscript(meta *Metadata, talk captions.Transcript) error {
	said := talk.Utterances()
	entries := make([]api.TranscriptEntry, 0, len(said))
	speakers := map[string]person{}
	for _, c := range said {
		p, ok := speakers[c.Speaker]
		if !ok {
			var err error
			if p, err = meta.speaker(c.Speaker); err != nil {
				return err
			}
			speakers[c.Speaker] = p
		}
		e := api.TranscriptEntry{Text: c.Text, Timestamp: api.FormatOffset(c.Start)}
		if e.Speaker.DisplayName = p.name; p.email != "" {
			e.Speaker.MatchedCalendarInviteeEmail = api.Some(p.email)
		}
		entries = append(entries, e)
	}
	m.Transcript = api.Some(entries)
	return nil
}

// idOf returns the id of a meeting: by its key, or by everything that is said in it.
func idOf(key string, talk captions.Transcript) int64 {
	h := sha256.New()
	if key != "" {
		fmt.Fprintf(h, "key\x00%s", key)
	} else {
		for _, c := range talk.Captions {
			fmt.Fprintf(h, "%d\x00%s\x00%s\n", c.Start.Milliseconds(), c.Speaker, c.Text)
		}
	}
	return archive.FirstForeignID + int64(binary.BigEndian.Uint64(h.Sum(nil))%archive.ForeignIDs)
}

// guess fills in the title and the times that the metadata does not say, by the name
// and the date of the transcript.
func (m *foreignMeeting) guess(zone *time.Location) error {
	name := m.transcript
	if isFolderMetadata(m.metadata) {
		name = filepath.Dir(m.transcript)
	}
	title, start := guessByName(filepath.Base(name), zone)
	end := m.RecordingEndTime
	m.guessedStart, m.guessedEnd = m.RecordingStartTime.IsZero(), end.IsZero()
	if m.guessedStart && start.IsZero() && !m.guessedEnd { // no guess: the talk says how long it took
		m.guessedStart, m.RecordingStartTime = false, stampOf(end.Add(-m.length))
	}
	if start.IsZero() {
		info, err := os.Stat(m.transcript)
		if err != nil {
			return unreadable(m.transcript, err)
		}
		start = info.ModTime()
	}
	if m.guessedTitle = m.Title == ""; m.guessedTitle {
		m.Title = title
	}
	if m.guessedStart {
		m.RecordingStartTime = stampOf(start)
	}
	if !m.guessedEnd && end.Before(m.RecordingStartTime.Time) {
		return Wrong{File: m.metadata, Err: fmt.Errorf("end: %s is before %s, which the file's name says; give the start", end.Format(time.RFC3339), start.Format(time.RFC3339))}
	}
	m.setEnd()
	return nil
}

func (m *foreignMeeting) setEnd() {
	if m.guessedEnd {
		m.RecordingEndTime = stampOf(m.RecordingStartTime.Add(m.length))
	}
	m.CreatedAt = m.RecordingEndTime
}

// keepGuesses takes the guesses of the first import for a meeting that the archive has,
// so that a copied file, with another name or date, changes nothing.
func (m *foreignMeeting) keepGuesses(row *archive.Row) {
	if m.guessedTitle {
		m.Title = row.Title
	}
	if m.guessedStart && !row.Start.IsZero() && (m.guessedEnd || !row.Start.After(m.RecordingEndTime.Time)) {
		m.RecordingStartTime = stampOf(row.Start)
		m.setEnd()
	}
}

// fill makes the meeting. Viewers whom the metadata has named stay as long as it names them,
// others as long as no metadata does: a mark of the meeting tells which they are.
func (im *run) fill(ctx context.Context, m *foreignMeeting, row *archive.Row) error {
	mark := archive.Mark{Key: viewersMarks + strconv.FormatInt(m.RecordingID, 10)}
	before, err := im.archive.Mark(ctx, mark.Key)
	if err != nil {
		return err
	}
	if m.meta.VisibleTo != nil {
		mark.Value = []byte("metadata")
	}
	if string(mark.Value) != string(before) {
		im.marks = append(im.marks, mark)
	}
	return m.fill(&im.Options, row, row != nil && before == nil)
}

// viewersMarks are the marks of meetings whose metadata says who sees them.
const viewersMarks = "import/viewers/"

// addForeign takes an identified meeting into the archive: its content and who sees it at
// once, so that nobody sees content that is not for them, then the recording. A crash in
// between is completed by the next import of the same files.
func (im *run) addForeign(ctx context.Context, m foreignMeeting, row *archive.Row) error {
	if err := im.fill(ctx, &m, row); err != nil {
		return err
	}
	raw, err := json.Marshal(m.Meeting)
	if err != nil {
		return err
	}
	m.Meeting = api.Meeting{RecordingID: m.RecordingID} // the talk is not kept twice
	o, err := archive.FromMeeting(im.Account, archive.SourceImport, im.archive.Now(), raw)
	if err != nil {
		return Wrong{File: m.transcript, Err: err}
	}
	o.Shares = m.shares
	im.batch = append(im.batch, o)
	forgotten := im.result.Forgotten
	if err := im.flush(ctx); err != nil || im.result.Forgotten > forgotten {
		if _, ok := errors.AsType[*archive.ObservationError](err); ok {
			return Wrong{File: m.transcript, Err: err}
		}
		return err
	}
	im.result.Unused = m.unused
	if m.recording == "" {
		return nil
	}
	attached, err := im.attachFile(ctx, m.RecordingID, m.recording)
	if attached {
		im.result.Recordings++
	}
	if errors.Is(err, archive.ErrForgotten) { // meanwhile
		im.result.Forgotten++
		return nil
	}
	return err
}
