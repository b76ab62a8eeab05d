package export

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"minutebook/archive"
	"minutebook/internal/civil"
)

// fileName returns the name of a meeting's file. It is the name of its first export
// here, or else consists of its day, title and recording_id. The name of an encrypted
// file is the recording_id alone.
func (l *ledger) fileName(format Format, row *archive.Row, sealed bool) (string, error) {
	what := strconv.FormatInt(row.RecordingID, 10)
	f, err := l.findFile(what, format)
	if err != nil {
		return "", err
	}
	if f != nil && f.Sealed == sealed {
		return f.Name, nil
	}
	if sealed {
		return fmt.Sprintf("meetings/%d.%s.age", row.RecordingID, format), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var name, other string // the same name in all formats
	found, err := l.Scan(`SELECT name, format FROM files WHERE what = ? AND NOT sealed ORDER BY format LIMIT 1`, []any{what}, &name, &other)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", ledgerName, err)
	}
	if found && filepath.IsLocal(filepath.FromSlash(name)) {
		return strings.TrimSuffix(name, "."+other) + "." + string(format), nil
	}
	day := "undated"
	if start := row.Key().Start; civil.IsKnown(start) {
		day = start.UTC().Format(time.DateOnly)
	}
	return fmt.Sprintf("meetings/%s-%s-%d.%s", day, slug(row.Title, "meeting"), row.RecordingID, format), nil
}

// assignPages gives each person a page, the same in every export into the directory.
func (l *ledger) assignPages(people []Person, format Format) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range people {
		page, err := l.assignPage(&people[i])
		if err != nil {
			return err
		}
		people[i].File = page + "." + string(format)
	}
	return nil
}

// assignPage finds or adds a person. The caller holds l.mu.
func (l *ledger) assignPage(p *Person) (string, error) {
	var name, page string
	found, err := l.Scan(`SELECT name, page FROM people WHERE key = ?`, []any{p.key}, &name, &page)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", ledgerName, err)
	}
	if found && filepath.IsLocal(filepath.FromSlash(page)) {
		if name != p.Email && name != "" || p.Name == name {
			return page, nil
		}
		_, err := l.Exec(`UPDATE people SET name = ? WHERE key = ?`, p.Name, p.key) // so far the name was the address
		return page, l.afterWrite(err)
	}
	page = "people/" + slug(p.Name, "person")
	var taken int
	if found, err = l.Scan(`SELECT 1 FROM people WHERE page = ?`, []any{page}, &taken); err != nil {
		return "", fmt.Errorf("read %s: %w", ledgerName, err)
	}
	if found {
		sum := sha256.Sum256([]byte(p.key))
		page += "-" + hex.EncodeToString(sum[:4])
	}
	_, err = l.Exec(`INSERT OR REPLACE INTO people (key, name, email, page) VALUES (?, ?, ?, ?)`, p.key, p.Name, p.Email, page)
	return page, l.afterWrite(err)
}

// maxSlug bounds a slug, in bytes, so that names stay below the 255 that file
// systems allow.
const maxSlug = 80

// slug makes a part of a file name from any text: letters and digits of every
// script, and a single dash for anything else. It is never empty, and never a name that an
// operating system reserves.
func slug(text, fallback string) string {
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
		return fallback
	case "con", "prn", "aux", "nul":
		return s + "-"
	default:
		return s
	}
}
