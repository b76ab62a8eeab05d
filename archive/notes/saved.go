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
	ChangedAt   time.Time // by a person, with its feed and notifications
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

const savedColumns = `id, person, name, query, feed IS NOT NULL, notify, secret, seen_epoch, seen_seq, created_at, changed_at`

func scanSaved(rows *sql.Rows, s *SavedSearch) error {
	var created, changed int64
	err := rows.Scan(&s.ID, &s.Person, &s.Name, &s.Query, &s.HasFeed, &s.Notify, &s.Secret, &s.Seen.Epoch, &s.Seen.Seq, &created, &changed)
	s.CreatedAt, s.ChangedAt = sqlite.Time(created), sqlite.Time(changed)
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
	s.ChangedAt = s.CreatedAt
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
	result, err := tx.ExecContext(ctx, `INSERT INTO saved_searches (person, name, query, seen_epoch, seen_seq, created_at, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		s.Person, s.Name, s.Query, s.Seen.Epoch, s.Seen.Seq, s.CreatedAt.UnixMilli(), s.ChangedAt.UnixMilli())
	if err != nil {
		return err
	}
	s.ID, err = result.LastInsertId()
	return err
}

// ChangeSaved changes the name and the query of a person's saved search. Meetings that are
// already there are not notified for the new query. A search that says so already is left
// alone. It fails as Save does, with [archive.ErrNotFound] for a search that is not the
// person's, and, like each change here, with ErrChanged where the search was last changed at
// another time than seen; a zero seen takes any.
func (d *DB) ChangeSaved(ctx context.Context, person, id int64, name, query string, seen time.Time) error {
	s := SavedSearch{Name: name, Query: query}
	if err := s.clean(); err != nil {
		return err
	}
	head, err := d.archive.Head(ctx)
	if err != nil {
		return fmt.Errorf("change a saved search: %w", err)
	}
	return d.write(ctx, "change a saved search", func(tx *sql.Tx) error {
		was, err := savedOf(ctx, tx, person, id)
		if err != nil || was.Name == s.Name && was.Query == s.Query {
			return err
		}
		if err := checkSeen(seen, was.ChangedAt); err != nil {
			return err
		}
		same, err := sqlite.Column[int64](ctx, tx, `SELECT id FROM saved_searches WHERE person = ? AND name = ? AND id <> ?`, person, s.Name, id)
		if err != nil {
			return err
		}
		if len(same) > 0 {
			return ErrExists
		}
		if was.Query == s.Query {
			head = was.Seen
		}
		_, err = tx.ExecContext(ctx, `UPDATE saved_searches SET name = ?, query = ?, seen_epoch = ?, seen_seq = ?, changed_at = ? WHERE id = ?`,
			s.Name, s.Query, head.Epoch, head.Seq, d.timeAfter(was.ChangedAt), id)
		return err
	})
}

// DeleteSaved deletes a person's saved search, with its feed and notifications. It fails as
// ChangeSaved does.
func (d *DB) DeleteSaved(ctx context.Context, person, id int64, seen time.Time) error {
	return d.write(ctx, "delete a saved search", func(tx *sql.Tx) error {
		was, err := savedOf(ctx, tx, person, id)
		if err == nil {
			err = checkSeen(seen, was.ChangedAt)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM saved_searches WHERE id = ?`, id)
		}
		return err
	})
}

// savedOf returns a person's saved search in a transaction, or fails with
// [archive.ErrNotFound].
func savedOf(ctx context.Context, tx *sql.Tx, person, id int64) (SavedSearch, error) {
	found, err := sqlite.List(ctx, tx, scanSaved, `SELECT `+savedColumns+` FROM saved_searches WHERE id = ? AND person = ?`, id, person)
	if err == nil && len(found) == 0 {
		err = archive.ErrNotFound
	}
	if err != nil {
		return SavedSearch{}, err
	}
	return found[0], nil
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
func (d *DB) MakeFeed(ctx context.Context, person, id int64, seen time.Time) (secret string, err error) {
	secret = newSecret(base64.RawURLEncoding)
	return secret, d.updateSaved(ctx, person, id, seen, `feed = ?`, hashSecret(secret))
}

// EndFeed ends the feed of a person's saved search.
func (d *DB) EndFeed(ctx context.Context, person, id int64, seen time.Time) error {
	return d.updateSaved(ctx, person, id, seen, `feed = NULL`)
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
func (d *DB) SetNotify(ctx context.Context, person, id int64, address string, seen time.Time) (secret string, err error) {
	if address == "" {
		return "", d.updateSaved(ctx, person, id, seen, `notify = '', secret = ''`)
	}
	if err := checkAddress(address); err != nil {
		return "", err
	}
	secret = "whsec_" + newSecret(base64.StdEncoding)
	head, err := d.archive.Head(ctx)
	if err != nil {
		return "", fmt.Errorf("change a saved search: %w", err)
	}
	err = d.updateSaved(ctx, person, id, seen, `seen_epoch = iif(notify = '', ?, seen_epoch), seen_seq = iif(notify = '', ?, seen_seq), notify = ?, secret = ?`,
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
		return expectRow(tx.ExecContext(ctx, `UPDATE saved_searches SET `+endNotify+` WHERE `+asRead, read.ID, read.Notify, read.Secret, d.now().UnixMilli()))
	})
}

// EndNotifyAll is EndNotify of all saved searches of the person that are notified at the
// address.
func (d *DB) EndNotifyAll(ctx context.Context, read SavedSearch) error {
	return d.write(ctx, "end notifications", func(tx *sql.Tx) error {
		return expectRow(tx.ExecContext(ctx, `UPDATE saved_searches SET `+endNotify+` WHERE notify = ?2 AND person = (
			SELECT person FROM saved_searches WHERE `+asRead+`)`, read.ID, read.Notify, read.Secret, d.now().UnixMilli()))
	})
}

// endNotify is a change that ends the notifications: it has a time of its own.
const endNotify = `notify = '', secret = '', changed_at = max(?4, changed_at + 1)`

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

// updateSaved changes columns of a person's saved search. It fails as ChangeSaved does.
func (d *DB) updateSaved(ctx context.Context, person, id int64, seen time.Time, set string, args ...any) error {
	return d.write(ctx, "change a saved search", func(tx *sql.Tx) error {
		was, err := savedOf(ctx, tx, person, id)
		if err == nil {
			err = checkSeen(seen, was.ChangedAt)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE saved_searches SET `+set+`, changed_at = ? WHERE id = ?`, append(args, d.timeAfter(was.ChangedAt), id)...)
		}
		return err
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
