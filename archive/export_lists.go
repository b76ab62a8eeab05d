package archive

import (
	"database/sql"
	"fmt"
	"iter"
	"path/filepath"
	"strconv"
	"time"

	"minutebook/internal/sqlite"
)

// SiteEntry is a meeting as lists of an export show it.
type SiteEntry struct {
	File  string    // path below the export's directory, with slashes
	Title string    // may be empty
	Start time.Time // zero or before 1970: not known
	// Type and RecordedBy may be empty and Length zero where they are not known.
	Type, RecordedBy string
	Length           time.Duration
}

// SiteList is a list of meetings, the newest first, read as it is ranged over.
type SiteList struct {
	Count    int
	Meetings iter.Seq[SiteEntry]
}

// SitePerson is somebody with the meetings that they are in.
type SitePerson struct {
	ExportedPerson
	SiteList
}

// enlist has the lists of a format show a meeting and the people in it.
func (l *exportLedger) enlist(format ExportFormat, m *ExportedMeeting) error {
	if err := l.unlist(format, m.Row.RecordingID); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	start := m.Row.Key().Start.UnixMilli()
	_, err := l.Exec(`INSERT INTO meetings (format, recording_id, start, title, type, recorded_by, length) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		format, m.Row.RecordingID, start, m.Row.Title, m.Row.MeetingType, m.Row.RecordedBy.Name, int64(m.length()/time.Second))
	if err := l.wrote(err); err != nil {
		return err
	}
	for _, p := range m.People {
		_, err := l.Exec(`INSERT OR IGNORE INTO present (format, person, start, recording_id) VALUES (?, ?, ?, ?)`, format, p.key, start, m.Row.RecordingID)
		if err := l.wrote(err); err != nil {
			return err
		}
	}
	return nil
}

// unlist takes a meeting off the lists of a format.
func (l *exportLedger) unlist(format ExportFormat, id int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range []string{`DELETE FROM meetings WHERE format = ? AND recording_id = ?`, `DELETE FROM present WHERE format = ? AND recording_id = ?`} {
		_, err := l.Exec(q, format, id)
		if err := l.wrote(err); err != nil {
			return err
		}
	}
	return nil
}

// filesOf are the files of a meeting, in all formats.
func (l *exportLedger) filesOf(id int64) ([]exportedFile, error) {
	return l.files(`SELECT what, format, name FROM files WHERE what = ?`, strconv.FormatInt(id, 10))
}

// around are the pages of people and of the list of meetings, in a format.
func (l *exportLedger) around(format ExportFormat) ([]exportedFile, error) {
	return l.files(`SELECT what, format, name FROM files WHERE format = ?1 AND NOT sealed
		AND (what GLOB 'person:*' OR what IN ('file:index.md', 'file:index.html'))`, format)
}

func (l *exportLedger) files(query string, arg any) ([]exportedFile, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var files []exportedFile
	err := l.Each(query, []any{arg}, func(rows *sql.Rows) error {
		var f exportedFile
		err := rows.Scan(&f.What, &f.Format, &f.Name)
		if filepath.IsLocal(filepath.FromSlash(f.Name)) {
			files = append(files, f)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ledgerName, err)
	}
	return files, nil
}

const (
	listEntries = `SELECT f.name, m.title, m.start, m.type, m.recorded_by, m.length FROM meetings m
		JOIN files f ON f.what = CAST(m.recording_id AS TEXT) AND f.format = m.format
		WHERE m.format = ? ORDER BY m.start DESC, m.recording_id DESC`
	listOfPerson = `SELECT f.name, m.title, m.start, m.type, m.recorded_by, m.length FROM present p
		JOIN meetings m ON m.format = p.format AND m.recording_id = p.recording_id
		JOIN files f ON f.what = CAST(m.recording_id AS TEXT) AND f.format = m.format
		WHERE p.format = ? AND p.person = ? ORDER BY p.start DESC, p.recording_id DESC`
)

// list calls fn with the meetings of a format, or with those of a person alone.
// What failed while the list was read is returned. fn must not use the ledger.
func (l *exportLedger) list(format ExportFormat, person string, fn func(SiteList) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	count, query, args := `SELECT count(*) FROM meetings WHERE format = ?`, listEntries, []any{format}
	if person != "" {
		count, query, args = `SELECT count(*) FROM present WHERE format = ? AND person = ?`, listOfPerson, []any{format, person}
	}
	var list SiteList
	if _, err := l.Scan(count, args, &list.Count); err != nil {
		return fmt.Errorf("read %s: %w", ledgerName, err)
	}
	var failed error
	list.Meetings = func(yield func(SiteEntry) bool) {
		failed = l.Each(query, args, func(rows *sql.Rows) error {
			var e SiteEntry
			var start, seconds int64
			if err := rows.Scan(&e.File, &e.Title, &start, &e.Type, &e.RecordedBy, &seconds); err != nil {
				return err
			}
			e.Start, e.Length = sqlite.Time(start), time.Duration(seconds)*time.Second
			if filepath.IsLocal(filepath.FromSlash(e.File)) && !yield(e) {
				return errEnough
			}
			return nil
		})
	}
	err := fn(list)
	if failed != nil && failed != errEnough {
		return fmt.Errorf("read %s: %w", ledgerName, failed)
	}
	return err
}

var errEnough = fmt.Errorf("enough was read")

// peopleChunk is how many people are read at a time.
const peopleChunk = 200

// peopleAfter returns the people after a key, in the order of their keys.
func (l *exportLedger) peopleAfter(key string, format ExportFormat) ([]ExportedPerson, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var people []ExportedPerson
	err := l.Each(`SELECT key, name, email, page FROM people WHERE key > ? ORDER BY key LIMIT ?`, []any{key, peopleChunk}, func(rows *sql.Rows) error {
		var p ExportedPerson
		err := rows.Scan(&p.key, &p.Name, &p.Email, &p.File)
		p.File += "." + string(format)
		people = append(people, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ledgerName, err)
	}
	return people, nil
}

// isIn tells whether somebody is in a meeting of a format.
func (l *exportLedger) isIn(format ExportFormat, key string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var one int
	found, err := l.Scan(`SELECT 1 FROM present WHERE format = ? AND person = ? LIMIT 1`, []any{format, key}, &one)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", ledgerName, err)
	}
	return found, nil
}

// leave takes out somebody, or with "" all those, who are in no listed meeting
// of any format.
func (l *exportLedger) leave(key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.Exec(`DELETE FROM people WHERE (?1 = '' OR key = ?1)
		AND NOT EXISTS (SELECT 1 FROM present WHERE format IN ('md', 'html') AND person = people.key)`, key)
	return l.wrote(err)
}
