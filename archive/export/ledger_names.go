package export

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/cases"
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
	if page, err = l.newPage(p.key, p.Name); err != nil {
		return "", err
	}
	_, err = l.Exec(`INSERT OR REPLACE INTO people (key, name, email, page) VALUES (?, ?, ?, ?)`, p.key, p.Name, p.Email, page)
	return page, l.afterWrite(err)
}

// newPage returns a page with a person's name that nobody else has, or has a file of still.
// The caller holds l.mu.
func (l *ledger) newPage(key, name string) (string, error) {
	pages := pagesOf(key, name)
	var taken int
	found, err := l.Scan(`SELECT 1 FROM people WHERE page = ?1 AND key <> ?2
		UNION ALL SELECT 1 FROM files WHERE name = ?1 || '.' || format AND what <> 'person:' || ?2 LIMIT 1`, []any{pages[0], key}, &taken)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", ledgerName, err)
	}
	if l.folded == nil {
		if err := l.readHolders(); err != nil {
			return "", err
		}
	}
	other := l.folded[foldPage(pages[0])]
	if found || other.page != "" && other.page != pages[0] && other.key != key {
		return pages[1], nil
	}
	l.folded[foldPage(pages[0])] = holder{key, pages[0]}
	return pages[0], nil
}

// holder is a person who has a page.
type holder struct{ key, page string }

// readHolders reads who has the pages that are there.
func (l *ledger) readHolders() error {
	l.folded = map[string]holder{}
	err := l.Each(`SELECT key, page FROM people`, nil, func(rows *sql.Rows) error {
		var h holder
		err := rows.Scan(&h.key, &h.page)
		l.folded[foldPage(h.page)] = h
		return err
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", ledgerName, err)
	}
	return nil
}

// foldPage returns the same for pages that are one file on a file system that ignores case, such
// as those of ς and σ, or of ß and ss.
func foldPage(page string) string {
	return norm.NFD.String(cases.Fold().String(norm.NFD.String(page)))
}

// pagesOf returns the pages that a person with a name may have.
func pagesOf(key, name string) []string {
	page, sum := "people/"+slug(name, "person"), sha256.Sum256([]byte(key))
	return []string{page, page + "-" + hex.EncodeToString(sum[:4])}
}

// spelling is a person with the names of the meetings that are listed.
type spelling struct {
	Person
	page  string
	names []string // the newest first
}

// renamePeople gives each person the name of the newest meeting, and another page where the
// page has a name of no meeting any more. It returns the meetings of a format that link to
// other pages than those that are there now.
func (l *ledger) renamePeople(format Format) (ids []int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var wrong []spelling
	var p spelling
	check := func() {
		if len(p.names) > 0 && (p.names[0] != p.Name || !p.hasItsPage()) {
			wrong = append(wrong, p)
		}
	}
	err = l.Each(`SELECT p.key, p.name, p.email, p.page, q.name FROM people p JOIN present q ON q.person = p.key
		WHERE q.format IN ('md', 'html') AND q.name <> '' GROUP BY p.key, q.name
		ORDER BY p.key, q.name = p.email, max(q.start) DESC, max(q.recording_id) DESC`, nil, func(rows *sql.Rows) error {
		var next spelling
		var name string
		if err := rows.Scan(&next.key, &next.Name, &next.Email, &next.page, &name); err != nil {
			return err
		}
		if next.key != p.key {
			check()
			p = next
		}
		p.names = append(p.names, name)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ledgerName, err)
	}
	check()
	renamed := []string{}
	for _, p := range wrong {
		if !p.hasItsPage() {
			if p.page, err = l.newPage(p.key, p.names[0]); err != nil {
				return nil, err
			}
			renamed = append(renamed, p.key)
		}
		_, err := l.Exec(`UPDATE people SET name = ?, page = ? WHERE key = ?`, p.names[0], p.page, p.key)
		if err := l.afterWrite(err); err != nil {
			return nil, err
		}
	}
	list, err := json.Marshal(renamed)
	if err != nil {
		return nil, err
	}
	err = l.Each(`SELECT DISTINCT q.recording_id FROM present q JOIN people p ON p.key = q.person
		LEFT JOIN files f ON f.what = 'person:' || p.key AND f.format = q.format
		WHERE q.format = ?1 AND (f.name <> p.page || '.' || ?1 OR p.key IN (SELECT value FROM json_each(?2)))`, []any{format, string(list)}, func(rows *sql.Rows) error {
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

// hasItsPage reports whether the page has one of the names, or the address.
func (p spelling) hasItsPage() bool {
	for _, name := range append(p.names, p.Email) {
		if slices.Contains(pagesOf(p.key, name), p.page) {
			return true
		}
	}
	return false
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
	switch s := b.String(); {
	case s == "":
		return fallback
	case reserved.MatchString(s):
		return s + "-"
	default:
		return s
	}
}

// reserved are the names that Windows keeps for devices, whatever ending follows.
var reserved = regexp.MustCompile(`^(con|prn|aux|nul|(com|lpt)[0-9])$`)
