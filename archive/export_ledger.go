package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"minutebook/internal/durable"
)

// ledgerName is the file in which an export's directory remembers what was
// exported into it.
const ledgerName = ".minutebook-export.json"

// exportLedger is what was exported into a directory: the name that each meeting
// and person keeps, and the content that each file had.
type exportLedger struct {
	Version int                        `json:"version"`
	Files   map[string]*exportedFile   `json:"files"`  // by ledgerKey
	Persons map[string]*exportedPerson `json:"people"` // by person key
	dir     string
	taken   map[string]bool // names of people's files
}

type exportedFile struct {
	Name   string    `json:"name"` // below the directory, with slashes
	SHA256 string    `json:"sha256"`
	Size   int64     `json:"size"` // in bytes, as stored
	Sealed bool      `json:"sealed,omitempty"`
	Title  string    `json:"title,omitempty"`
	Start  time.Time `json:"start,omitzero"`
	People []string  `json:"people,omitempty"` // person keys

	// For the index of a site.
	Type       string `json:"type,omitempty"`
	RecordedBy string `json:"recorded_by,omitempty"`
	Seconds    int64  `json:"seconds,omitempty"`

	open bool // never sealed
}

type exportedPerson struct {
	Name  string `json:"name"`
	Email string `json:"email,omitempty"`
	File  string `json:"file"`
}

func ledgerKey(format ExportFormat, id int64) string { return fmt.Sprintf("%s:%d", format, id) }

// openLedger reads the ledger of a directory. One that cannot be read counts as
// none: every file is then compared with what is on the disk.
func openLedger(dir string) (*exportLedger, error) {
	l := &exportLedger{dir: dir}
	raw, err := os.ReadFile(filepath.Join(dir, ledgerName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", ledgerName, err)
	}
	if json.Unmarshal(raw, l) != nil || l.Version > 1 {
		*l = exportLedger{dir: dir}
	}
	l.Version = 1
	if l.Files == nil {
		l.Files = map[string]*exportedFile{}
	}
	if l.Persons == nil {
		l.Persons = map[string]*exportedPerson{}
	}
	l.taken = map[string]bool{}
	for key, f := range l.Files {
		if f == nil || !filepath.IsLocal(f.Name) {
			delete(l.Files, key)
		}
	}
	for key, p := range l.Persons {
		if p == nil || !filepath.IsLocal(p.File) {
			delete(l.Persons, key)
			continue
		}
		l.taken[p.File] = true
	}
	return l, nil
}

func (l *exportLedger) save() error {
	raw, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write %s: %w", ledgerName, err)
	}
	return durable.WriteFile(filepath.Join(l.dir, ledgerName), raw)
}

// name is a meeting's file: the one of its first export here, else made of its
// day, title and recording_id. A sealed file is named by the recording_id alone.
func (l *exportLedger) name(format ExportFormat, row *Row, sealed bool) string {
	if f := l.Files[ledgerKey(format, row.RecordingID)]; f != nil && f.Sealed == sealed {
		return f.Name
	}
	if sealed {
		return fmt.Sprintf("meetings/%d.%s.age", row.RecordingID, format)
	}
	for _, other := range ExportFormats() { // the same name in all formats
		if f := l.Files[ledgerKey(other, row.RecordingID)]; f != nil && !f.Sealed {
			return strings.TrimSuffix(f.Name, "."+string(other)) + "." + string(format)
		}
	}
	day := "undated"
	if start := row.Key().Start; start.Unix() > 0 {
		day = start.UTC().Format(time.DateOnly)
	}
	return fmt.Sprintf("meetings/%s-%s-%d.%s", day, slug(row.Title, "meeting"), row.RecordingID, format)
}

// personFile is a person's page, the same in every export into the directory.
func (l *exportLedger) personFile(key, name, email string) string {
	if p := l.Persons[key]; p != nil {
		if p.Name == "" || p.Name == p.Email {
			p.Name = name
		}
		return p.File
	}
	file := "people/" + slug(name, "person") + ".md"
	if l.taken[file] {
		sum := sha256.Sum256([]byte(key))
		file = "people/" + slug(name, "person") + "-" + hex.EncodeToString(sum[:4]) + ".md"
	}
	l.taken[file] = true
	l.Persons[key] = &exportedPerson{Name: name, Email: email, File: file}
	return file
}

// people enters who was invited to, spoke in or recorded a meeting, and returns
// their keys in order.
func (l *exportLedger) people(m *ExportedMeeting) []string {
	var keys []string
	for _, p := range peopleOf(m) {
		l.personFile(p.key, p.name, p.email)
		keys = append(keys, p.key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// maxSlug bounds a slug, in bytes, so that names stay below the 255 that file
// systems allow.
const maxSlug = 80

// slug makes a part of a file name of any text: letters and digits of every
// script, all else a single dash; never empty, never reserved anywhere.
func slug(text, otherwise string) string {
	var b strings.Builder
	dash := false
	for _, r := range norm.NFC.String(strings.ToLower(text)) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			dash = b.Len() > 0
			continue
		}
		if b.Len()+5 > maxSlug {
			break
		}
		if dash {
			b.WriteByte('-')
			dash = false
		}
		b.WriteRune(r)
	}
	switch s := b.String(); s {
	case "":
		return otherwise
	case "con", "prn", "aux", "nul":
		return s + "-"
	default:
		return s
	}
}
