package notes

import (
	"context"
	"database/sql"
	"fmt"
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
	Since       archive.Position // meetings that arrived after it in the change log are notified; of an earlier version zero: use CreatedAt
	Seen        archive.Position // up to here matches were notified
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

const savedColumns = `id, person, name, query, feed IS NOT NULL, notify, secret, since_epoch, since_seq, seen_epoch, seen_seq, created_at, changed_at`

func scanSaved(rows *sql.Rows, s *SavedSearch) error {
	var created, changed int64
	err := rows.Scan(&s.ID, &s.Person, &s.Name, &s.Query, &s.HasFeed, &s.Notify, &s.Secret, &s.Since.Epoch, &s.Since.Seq, &s.Seen.Epoch, &s.Seen.Seq, &created, &changed)
	s.CreatedAt, s.ChangedAt = sqlite.Time(created), sqlite.Time(changed)
	return err
}

// Save keeps a query under a name. Since and Seen are the change log's head. A search that is kept
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
	s.Since = s.Seen
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
	result, err := tx.ExecContext(ctx, `INSERT INTO saved_searches (person, name, query, since_epoch, since_seq, seen_epoch, seen_seq, created_at, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.Person, s.Name, s.Query, s.Since.Epoch, s.Since.Seq, s.Seen.Epoch, s.Seen.Seq, s.CreatedAt.UnixMilli(), s.ChangedAt.UnixMilli())
	if err != nil {
		return err
	}
	s.ID, err = result.LastInsertId()
	return err
}

// ChangeSaved changes the name and the query of a person's saved search. Meetings that are
// already there are not notified for the new query, also when they change. A search that says so already is left
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
		s.Since, s.Seen = head, head
		if was.Query == s.Query {
			s.Since, s.Seen = was.Since, was.Seen
		}
		_, err = tx.ExecContext(ctx, `UPDATE saved_searches SET name = ?, query = ?, since_epoch = ?, since_seq = ?, seen_epoch = ?, seen_seq = ?, changed_at = ? WHERE id = ?`,
			s.Name, s.Query, s.Since.Epoch, s.Since.Seq, s.Seen.Epoch, s.Seen.Seq, d.timeAfter(was.ChangedAt), id)
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
