package archive

import (
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// speaker is who an entry is attributed to: one row of the table speakers.
type speaker struct{ name, email string }

// entryColumns and entryChunk shape the statement that inserts many entries at
// once, which is several times faster than one by one.
const (
	entryColumns = 4
	entryChunk   = 64
)

// maxEntries is how many entries of a transcript have rows: see entries.id.
const maxEntries = 1 << 20

const insertEntries = `INSERT INTO entries (id, offset_seconds, speaker_id, text) VALUES `

// utterance is an entry as its row has it.
type utterance struct {
	offset float64 // seconds
	who    speaker
	text   string
}

// parseUtterances returns the rows of a transcript. An entry whose timestamp cannot
// be read has the offset of the one before it; entries beyond maxEntries have no row
// and stay in the part alone.
func parseUtterances(entries []api.TranscriptEntry) []utterance {
	entries = entries[:min(len(entries), maxEntries)]
	rows := make([]utterance, len(entries))
	var offset time.Duration
	for i, e := range entries {
		if at, err := api.ParseOffset(e.Timestamp); err == nil {
			offset = at
		}
		rows[i] = utterance{offset.Seconds(), speaker{e.Speaker.DisplayName, e.Speaker.MatchedCalendarInviteeEmail.Or("")}, e.Text}
	}
	return rows
}

// deriveTranscript replaces a meeting's entries and the counts of its speakers. With
// compareOnly it replaces the entries only where at least one differs.
func (t *applying) deriveTranscript(id int64, entries []api.TranscriptEntry) error {
	var first int64
	if _, err := t.Scan(`SELECT number << 20 FROM meetings WHERE recording_id = ?`, []any{id}, &first); err != nil {
		return err
	}
	utterances := parseUtterances(entries)
	unchanged := false
	if t.compareOnly {
		var err error
		if unchanged, err = t.hasStored(first, utterances); err != nil {
			return err
		}
		t.entriesDiffer = t.entriesDiffer || !unchanged
	}
	before, err := t.deleteMeetingSpeakers(id)
	if err != nil {
		return err
	}
	if !unchanged {
		if err := t.replaceEntries(first, utterances); err != nil {
			return err
		}
	}
	spoken, words := map[int64]*[2]int{}, 0 // by speaker: entries, words
	for _, u := range utterances {
		who, err := t.speakerID(u.who)
		if err != nil {
			return err
		}
		if spoken[who] == nil {
			spoken[who] = new([2]int)
		}
		n := countWords(u.text)
		spoken[who][0]++
		spoken[who][1] += n
		words += n
	}
	if err := t.deriveMeetingSpeakers(id, spoken, before); err != nil {
		return err
	}
	_, err = t.Exec(`UPDATE meetings SET has_transcript = ?, entries = ?, words = ? WHERE recording_id = ?`,
		len(utterances) > 0, len(utterances), words, id)
	return err
}

// hasStored reports whether the rows from first on are exactly the entries of the
// transcript.
func (t *applying) hasStored(first int64, utterances []utterance) (bool, error) {
	next, same := 0, true
	err := t.Each(`SELECT e.id, e.offset_seconds, coalesce(s.name, char(0)), coalesce(s.email, char(0)), e.text
		FROM entries e LEFT JOIN speakers s ON s.id = e.speaker_id WHERE e.id BETWEEN ? AND ? ORDER BY e.id`,
		[]any{first, first + maxEntries - 1}, func(rows *sql.Rows) error {
			var id int64
			var u utterance
			if err := rows.Scan(&id, &u.offset, &u.who.name, &u.who.email, &u.text); err != nil {
				return err
			}
			same = same && next < len(utterances) && id == first+int64(next) && u == utterances[next]
			next++
			return nil
		})
	return same && next == len(utterances), err
}

func (t *applying) replaceEntries(first int64, utterances []utterance) error {
	if err := t.deleteEntries(first); err != nil {
		return err
	}
	args := make([]any, 0, entryChunk*entryColumns)
	for i, u := range utterances {
		who, err := t.speakerID(u.who)
		if err != nil {
			return err
		}
		args = append(args, first+int64(i), u.offset, who, u.text)
		if len(args) == cap(args) || i == len(utterances)-1 {
			if _, err := t.Exec(insertEntries+placeholders(len(args)/entryColumns), args...); err != nil {
				return err
			}
			args = args[:0]
		}
	}
	return nil
}

func placeholders(n int) string { return strings.Repeat(",(?,?,?,?)", n)[1:] }

func (t *applying) deleteEntries(first int64) error {
	_, err := t.Exec(`DELETE FROM entries WHERE id BETWEEN ? AND ?`, first, first+maxEntries-1)
	return err
}

// deleteMeetingSpeakers deletes the rows of who spoke in a meeting and returns the
// speakers.
func (t *applying) deleteMeetingSpeakers(id int64) ([]int64, error) {
	speakers, err := sqlite.Column[int64](t.Context(), t, `DELETE FROM meeting_speakers WHERE recording_id = ? RETURNING speaker_id`, id)
	return speakers, err
}

// deriveMeetingSpeakers writes who spoke how much, and deletes speakers whom no row
// names any more.
func (t *applying) deriveMeetingSpeakers(id int64, spoken map[int64]*[2]int, before []int64) error {
	for _, who := range slices.Sorted(maps.Keys(spoken)) {
		_, err := t.Exec(`INSERT INTO meeting_speakers (recording_id, speaker_id, entries, words) VALUES (?, ?, ?, ?)`,
			id, who, spoken[who][0], spoken[who][1])
		if err != nil {
			return err
		}
	}
	for _, who := range before {
		if spoken[who] != nil {
			continue
		}
		res, err := t.Exec(`DELETE FROM speakers WHERE id = ?1
			AND NOT EXISTS (SELECT 1 FROM meeting_speakers WHERE speaker_id = ?1)`, who)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil {
			return err
		} else if n > 0 {
			maps.DeleteFunc(t.speakers, func(_ speaker, id int64) bool { return id == who })
		}
	}
	return nil
}

// speakerID finds or makes the row of a speaker.
func (t *applying) speakerID(s speaker) (int64, error) {
	if id, ok := t.speakers[s]; ok {
		return id, nil
	}
	if _, err := t.Exec(`INSERT INTO speakers (name, email) VALUES (?, ?) ON CONFLICT DO NOTHING`, s.name, s.email); err != nil {
		return 0, err
	}
	var id int64
	_, err := t.Scan(`SELECT id FROM speakers WHERE name = ? AND email = ?`, []any{s.name, s.email}, &id)
	t.speakers[s] = id
	return id, err
}

// countWords counts the words between white space.
func countWords(s string) int {
	n, in := 0, false
	for _, r := range s {
		space := r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\u00a0' || r == '\u3000'
		if !space && !in {
			n++
		}
		in = !space
	}
	return n
}
