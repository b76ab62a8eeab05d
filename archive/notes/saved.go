package notes

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"minutebook/archive"
	"minutebook/internal/sqlite"
)

// SavedSearch is a query that a person keeps under a name.
type SavedSearch struct {
	ID          int64
	Person      int64
	Name, Query string
	HasFeed     bool
	Notify      string           // where a new match is notified: an http(s) or mailto: address, or ""
	Secret      string           // whsec_…, which signs the notifications; "" without Notify
	Seen        archive.Position // up to here in the change log matches were notified
	CreatedAt   time.Time
}

// State is the name and the query in one text, for comparing.
func (s SavedSearch) State() string { return s.Name + ": " + s.Query }

// MailTo returns the e-mail address to which new matches go, "" without one.
func (s SavedSearch) MailTo() string {
	to, ok := strings.CutPrefix(s.Notify, "mailto:")
	if !ok {
		return ""
	}
	return to
}

const savedColumns = `id, person, name, query, feed IS NOT NULL, notify, secret, seen_epoch, seen_seq, created_at`

func scanSaved(rows *sql.Rows, s *SavedSearch) error {
	var created int64
	err := rows.Scan(&s.ID, &s.Person, &s.Name, &s.Query, &s.HasFeed, &s.Notify, &s.Secret, &s.Seen.Epoch, &s.Seen.Seq, &created)
	s.CreatedAt = sqlite.Time(created)
	return err
}

// Save keeps a query under a name. Seen is the change log's head. A search that is kept
// already stays as it is. It fails with ErrSearch, ErrExists or ErrMany.
func (d *DB) Save(ctx context.Context, person int64, name, query string) (SavedSearch, error) {
	s, _, err := d.save(ctx, person, name, query)
	return s, err
}

// save is Save, and reports whether the search is new.
func (d *DB) save(ctx context.Context, person int64, name, query string) (s SavedSearch, added bool, err error) {
	s = SavedSearch{Person: person, Name: name, Query: query, CreatedAt: sqlite.Time(d.now().UnixMilli())}
	if err = s.clean(); err != nil {
		return s, false, err
	}
	if s.Seen, err = d.archive.Head(ctx); err != nil {
		return s, false, fmt.Errorf("save a search: %w", err)
	}
	err = d.write(ctx, "save a search", func(tx *sql.Tx) error {
		same, err := sqlite.List(ctx, tx, scanSaved, `SELECT `+savedColumns+` FROM saved_searches WHERE person = ? AND name = ? AND query = ?`, person, s.Name, s.Query)
		if err != nil {
			return err
		}
		if len(same) > 0 {
			s = same[0]
			return nil
		}
		added = true
		return insertSaved(ctx, tx, &s)
	})
	return s, added && err == nil, err
}

// clean trims the name and the query, or fails with ErrSearch.
func (s *SavedSearch) clean() error {
	s.Name, s.Query = strings.TrimSpace(strings.ToValidUTF8(s.Name, "\ufffd")), strings.TrimSpace(strings.ToValidUTF8(s.Query, "\ufffd"))
	name, query := utf8.RuneCountInString(s.Name), utf8.RuneCountInString(s.Query)
	if name == 0 || name > maxName || query == 0 || query > maxQuery {
		return ErrSearch
	}
	return nil
}

func insertSaved(ctx context.Context, tx *sql.Tx, s *SavedSearch) error {
	var exists bool
	var count int
	err := tx.QueryRowContext(ctx, `SELECT coalesce(max(name = ?), 0), count(*) FROM saved_searches WHERE person = ?`, s.Name, s.Person).Scan(&exists, &count)
	switch {
	case err != nil:
		return err
	case exists:
		return ErrExists
	case count >= maxSaved:
		return ErrMany
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO saved_searches (person, name, query, seen_epoch, seen_seq, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		s.Person, s.Name, s.Query, s.Seen.Epoch, s.Seen.Seq, s.CreatedAt.UnixMilli())
	if err != nil {
		return err
	}
	s.ID, err = result.LastInsertId()
	return err
}

// ChangeSaved changes the name and the query of a person's saved search. Meetings that are
// already there are not notified for the new query. It fails as Save does, and with
// [archive.ErrNotFound] for a search that is not the person's.
func (d *DB) ChangeSaved(ctx context.Context, person, id int64, name, query string) error {
	s := SavedSearch{Name: name, Query: query}
	if err := s.clean(); err != nil {
		return err
	}
	head, err := d.archive.Head(ctx)
	if err != nil {
		return fmt.Errorf("change a saved search: %w", err)
	}
	return d.write(ctx, "change a saved search", func(tx *sql.Tx) error {
		same, err := sqlite.Column[int64](ctx, tx, `SELECT id FROM saved_searches WHERE person = ? AND name = ? AND id <> ?`, person, s.Name, id)
		if err != nil {
			return err
		}
		if len(same) > 0 {
			return ErrExists
		}
		return expectRow(tx.ExecContext(ctx, `UPDATE saved_searches SET name = ?1, seen_epoch = iif(query = ?2, seen_epoch, ?3),
			seen_seq = iif(query = ?2, seen_seq, ?4), query = ?2 WHERE id = ?5 AND person = ?6`, s.Name, s.Query, head.Epoch, head.Seq, id, person))
	})
}

// DeleteSaved deletes a person's saved search, with its feed and notifications. It fails
// with [archive.ErrNotFound] for one that is not the person's.
func (d *DB) DeleteSaved(ctx context.Context, person, id int64) error {
	return d.write(ctx, "delete a saved search", func(tx *sql.Tx) error {
		return expectRow(tx.ExecContext(ctx, `DELETE FROM saved_searches WHERE id = ? AND person = ?`, id, person))
	})
}

// Saved returns a person's saved searches, by name.
func (d *DB) Saved(ctx context.Context, person int64) ([]SavedSearch, error) {
	return d.listSaved(ctx, `person = ? ORDER BY name, id`, person)
}

// SavedByID returns a person's saved search, or fails with [archive.ErrNotFound].
func (d *DB) SavedByID(ctx context.Context, person, id int64) (SavedSearch, error) {
	found, err := d.listSaved(ctx, `person = ? AND id = ?`, person, id)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("read a saved search: %w", archive.ErrNotFound)
	}
	if err != nil {
		return SavedSearch{}, err
	}
	return found[0], nil
}

// SavedWithNotify returns the saved searches of all persons whose new matches are
// notified.
func (d *DB) SavedWithNotify(ctx context.Context) ([]SavedSearch, error) {
	return d.listSaved(ctx, `notify <> '' ORDER BY id`)
}

func (d *DB) listSaved(ctx context.Context, where string, args ...any) ([]SavedSearch, error) {
	list, err := sqlite.List(ctx, d.db.R, scanSaved, `SELECT `+savedColumns+` FROM saved_searches WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read saved searches: %w", err)
	}
	return list, nil
}

// MakeFeed gives a person's saved search a feed and returns the secret of its address,
// which is kept only as a hash. An earlier secret stops working.
func (d *DB) MakeFeed(ctx context.Context, person, id int64) (secret string, err error) {
	secret = newSecret(base64.RawURLEncoding)
	return secret, d.updateSaved(ctx, person, id, `feed = ?`, hashSecret(secret))
}

// EndFeed ends the feed of a person's saved search.
func (d *DB) EndFeed(ctx context.Context, person, id int64) error {
	return d.updateSaved(ctx, person, id, `feed = NULL`)
}

// ByFeed returns the saved search whose feed has this secret, or fails with
// [archive.ErrNotFound].
func (d *DB) ByFeed(ctx context.Context, secret string) (SavedSearch, error) {
	found, err := d.listSaved(ctx, `feed = ?`, hashSecret(secret))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("read a feed: %w", archive.ErrNotFound)
	}
	if err != nil {
		return SavedSearch{}, err
	}
	return found[0], nil
}

// ByNotify returns a saved search of anybody that is notified, by its number. It fails with
// [archive.ErrNotFound] for any other number.
func (d *DB) ByNotify(ctx context.Context, id int64) (SavedSearch, error) {
	found, err := d.listSaved(ctx, `id = ? AND notify <> ''`, id)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("read a saved search: %w", archive.ErrNotFound)
	}
	if err != nil {
		return SavedSearch{}, err
	}
	return found[0], nil
}

// SetNotify has new matches of a person's saved search notified at an address, and
// returns the secret with which webhooks are signed; "" ends them. Links in mails are
// signed with a secret that is not returned. Matches from before the first address are not
// notified. It fails with ErrAddress.
func (d *DB) SetNotify(ctx context.Context, person, id int64, address string) (secret string, err error) {
	if address == "" {
		return "", d.updateSaved(ctx, person, id, `notify = '', secret = ''`)
	}
	if err := checkAddress(address); err != nil {
		return "", err
	}
	secret = "whsec_" + newSecret(base64.StdEncoding)
	head, err := d.archive.Head(ctx)
	if err != nil {
		return "", fmt.Errorf("change a saved search: %w", err)
	}
	err = d.updateSaved(ctx, person, id, `seen_epoch = iif(notify = '', ?, seen_epoch), seen_seq = iif(notify = '', ?, seen_seq), notify = ?, secret = ?`,
		head.Epoch, head.Seq, address, secret)
	if strings.HasPrefix(address, "mailto:") {
		secret = ""
	}
	return secret, err
}

// EndNotify ends the notifications of a saved search. It fails with [archive.ErrNotFound]
// when their address was changed, or given again, since the search was read.
func (d *DB) EndNotify(ctx context.Context, read SavedSearch) error {
	return d.write(ctx, "end notifications", func(tx *sql.Tx) error {
		return expectRow(tx.ExecContext(ctx, `UPDATE saved_searches SET notify = '', secret = '' WHERE `+asRead, read.ID, read.Notify, read.Secret))
	})
}

// EndNotifyAll is EndNotify of all saved searches of the person that are notified at the
// address.
func (d *DB) EndNotifyAll(ctx context.Context, read SavedSearch) error {
	return d.write(ctx, "end notifications", func(tx *sql.Tx) error {
		return expectRow(tx.ExecContext(ctx, `UPDATE saved_searches SET notify = '', secret = '' WHERE notify = ?2 AND person = (
			SELECT person FROM saved_searches WHERE `+asRead+`)`, read.ID, read.Notify, read.Secret))
	})
}

// asRead is the condition that a saved search has the address and the secret with which
// it was read.
const asRead = `id = ?1 AND notify = ?2 AND secret = ?3`

func checkAddress(address string) error {
	if to, ok := strings.CutPrefix(address, "mailto:"); ok {
		if parsed, err := mail.ParseAddress(to); err != nil || parsed.Address != to {
			return ErrAddress
		}
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ErrAddress
	}
	return nil
}

// updateSaved changes columns of a person's saved search.
func (d *DB) updateSaved(ctx context.Context, person, id int64, set string, args ...any) error {
	return d.write(ctx, "change a saved search", func(tx *sql.Tx) error {
		return expectRow(tx.ExecContext(ctx, `UPDATE saved_searches SET `+set+` WHERE id = ? AND person = ?`, append(args, id, person)...))
	})
}

// newSecret returns 256 random bits.
func newSecret(encoding *base64.Encoding) string {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return encoding.EncodeToString(key)
}

// hashSecret returns a secret as it is kept: it is random and long, so that a plain hash
// cannot be turned back.
func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
