package export

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"minutebook/archive/notes"
	"minutebook/internal/sqlite"
)

// ListEntry is a meeting in a list.
type ListEntry struct {
	File  string    // path below the export's directory, with slashes
	Title string    // may be empty
	Start time.Time // zero or before 1970 when unknown
	// Type and RecordedBy are empty and Length is zero when unknown.
	Type, RecordedBy string
	Length           time.Duration
}

// List is a list of meetings, the newest first, read as it is ranged over.
type List struct {
	Count    int
	Meetings iter.Seq[ListEntry]
}

// PersonPage is a person with their meetings.
type PersonPage struct {
	Person
	List
}

// addMeeting adds a meeting and its people to the lists of a format.
func (l *ledger) addMeeting(format Format, m *Meeting) error {
	if err := l.removeMeeting(format, m.Row.RecordingID); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	start := m.Row.Key().Start.UnixMilli()
	_, err := l.Exec(`INSERT INTO meetings (format, recording_id, start, title, type, recorded_by, length) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		format, m.Row.RecordingID, start, m.Row.Title, m.Row.MeetingType, m.Row.RecordedBy.Name, int64(m.Row.Length()/time.Second))
	if err := l.afterWrite(err); err != nil {
		return err
	}
	for _, p := range m.People {
		_, err := l.Exec(`INSERT OR IGNORE INTO present (format, person, start, recording_id, name) VALUES (?, ?, ?, ?, ?)`, format, p.key, start, m.Row.RecordingID, p.Name)
		if err := l.afterWrite(err); err != nil {
			return err
		}
	}
	return nil
}

// removeMeeting removes a meeting from the lists of a format.
func (l *ledger) removeMeeting(format Format, id int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range []string{`DELETE FROM meetings WHERE format = ? AND recording_id = ?`, `DELETE FROM present WHERE format = ? AND recording_id = ?`} {
		_, err := l.Exec(q, format, id)
		if err := l.afterWrite(err); err != nil {
			return err
		}
	}
	return nil
}

// filesOf returns the files of a meeting, in all formats.
func (l *ledger) filesOf(id int64) ([]file, error) {
	return l.listFiles(`SELECT what, format, name FROM files WHERE what = ?`, strconv.FormatInt(id, 10))
}

// readableMeetings returns the meetings in the files that an import reads.
func (l *ledger) readableMeetings() (ids []int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.Each(`SELECT CAST(what AS INTEGER) FROM files WHERE format = ? AND what GLOB '[0-9]*' UNION SELECT recording_id FROM joined`, []any{JSON}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ledgerName, err)
	}
	return ids, nil
}

// setJoined says which meetings meetings.ndjson has.
func (l *ledger) setJoined(ids []int64) error {
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err = l.Exec(`DELETE FROM joined`); err == nil {
		_, err = l.Exec(`INSERT OR IGNORE INTO joined (recording_id) SELECT value FROM json_each(?)`, string(list))
	}
	return l.afterWrite(err)
}

// setWhole says whether the directory has every meeting, and so notes.ndjson everybody's rows, by
// the exports in a format.
func (l *ledger) setWhole(format Format, whole bool) error {
	change := `DELETE FROM whole WHERE format = ?`
	if whole {
		change = `INSERT OR IGNORE INTO whole (format) VALUES (?)`
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.Exec(change, format)
	return l.afterWrite(err)
}

// isWhole reports whether the directory has every meeting, in a format that an import reads.
func (l *ledger) isWhole() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ignored int
	found, err := l.Scan(`SELECT 1 FROM whole LIMIT 1`, nil, &ignored)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", ledgerName, err)
	}
	return found, nil
}

// findWhole sets the directory of an earlier version to whole where its notes.ndjson has rows
// about no meeting. The format is the one that wrote the file last, whose hash the ledger has.
func (l *ledger) findWhole() error {
	for _, format := range []Format{JSON, NDJSON} {
		f, err := l.findFile("file:"+notes.FileName, format)
		if err != nil {
			return err
		}
		if f == nil || f.Sealed {
			continue
		}
		content, err := os.ReadFile(filepath.Join(filepath.Dir(l.path), filepath.FromSlash(f.Name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if f.SHA256 != fmt.Sprintf("%x", sha256.Sum256(content)) || !notes.HavePersons(content) {
			continue
		}
		if err := l.setWhole(format, true); err != nil {
			return err
		}
	}
	return nil
}

// pageFiles returns the pages of people and of the list of meetings, in a format.
func (l *ledger) pageFiles(format Format) ([]file, error) {
	return l.listFiles(`SELECT what, format, name FROM files WHERE format = ?1 AND NOT sealed
		AND (what GLOB 'person:*' OR what IN ('file:index.md', 'file:index.html'))`, format)
}

// pagesOfNobody returns the pages of people, in a format, that a killed export wrote and
// who are in no meeting since. The key is cut out as bytes: as a text it would end at a NUL.
func (l *ledger) pagesOfNobody(format Format) ([]file, error) {
	return l.listFiles(`SELECT what, format, name FROM files WHERE format = ? AND what GLOB 'person:*'
		AND NOT EXISTS (SELECT 1 FROM people WHERE key = CAST(substr(CAST(what AS BLOB), 8) AS TEXT))`, format)
}

func (l *ledger) listFiles(query string, arg any) ([]file, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var files []file
	err := l.Each(query, []any{arg}, func(rows *sql.Rows) error {
		var f file
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

// readList calls fn with the meetings of a format, or with those of a person alone.
// It returns the error of fn, or that of reading the list. fn must not use the
// ledger.
func (l *ledger) readList(format Format, person string, fn func(List) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	count, query, args := `SELECT count(*) FROM meetings WHERE format = ?`, listEntries, []any{format}
	if person != "" {
		count, query, args = `SELECT count(*) FROM present WHERE format = ? AND person = ?`, listOfPerson, []any{format, person}
	}
	var list List
	if _, err := l.Scan(count, args, &list.Count); err != nil {
		return fmt.Errorf("read %s: %w", ledgerName, err)
	}
	var failed error
	list.Meetings = func(yield func(ListEntry) bool) {
		failed = l.Each(query, args, func(rows *sql.Rows) error {
			var e ListEntry
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

// peopleChunk is the number of people that are read at a time.
const peopleChunk = 200

// peopleAfter returns the people after a key, in the order of their keys.
func (l *ledger) peopleAfter(key string, format Format) ([]Person, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var people []Person
	err := l.Each(`SELECT key, name, email, page FROM people WHERE key > ? ORDER BY key LIMIT ?`, []any{key, peopleChunk}, func(rows *sql.Rows) error {
		var p Person
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

// hasMeetings reports whether a person is in a meeting of a format.
func (l *ledger) hasMeetings(format Format, key string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ignored int
	found, err := l.Scan(`SELECT 1 FROM present WHERE format = ? AND person = ? LIMIT 1`, []any{format, key}, &ignored)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", ledgerName, err)
	}
	return found, nil
}

// removePeople removes a person who is in no listed meeting of any format, or, with
// "", all such people.
func (l *ledger) removePeople(key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.Exec(`DELETE FROM people WHERE (?1 = '' OR key = ?1)
		AND NOT EXISTS (SELECT 1 FROM present WHERE format IN ('md', 'html') AND person = people.key)`, key)
	return l.afterWrite(err)
}
