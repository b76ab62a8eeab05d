package notes

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// Judgement says that some names and addresses are one person, or that two are not,
// which suggestions respect. It gives nobody a right.
type Judgement struct {
	ID       int64
	Same     bool
	Names    []string // addresses in lower case, and names; the first is shown for the person
	Person   int64    // who said so
	JudgedAt time.Time
}

// Merge says that some names and addresses are one person. It fails with ErrNames for fewer
// than two or too many of them, and for one that is too long.
func (d *DB) Merge(ctx context.Context, by int64, names ...string) (Judgement, error) {
	return d.judge(ctx, Judgement{Same: true, Names: names, Person: by})
}

// KeepApart says that two names or addresses are not one person. It fails as Merge does.
func (d *DB) KeepApart(ctx context.Context, by int64, name, other string) (Judgement, error) {
	return d.judge(ctx, Judgement{Names: []string{name, other}, Person: by})
}

func (d *DB) judge(ctx context.Context, j Judgement) (Judgement, error) {
	var err error
	if j.Names, err = cleanNames(j.Names); err != nil {
		return j, err
	}
	j.JudgedAt = sqlite.Time(d.now().UnixMilli())
	err = d.write(ctx, "merge persons", func(tx *sql.Tx) error { return insertJudgement(ctx, tx, &j) })
	d.dropCaches()
	return j, err
}

func insertJudgement(ctx context.Context, tx *sql.Tx, j *Judgement) error {
	result, err := tx.ExecContext(ctx, `INSERT INTO judgements (same, person, judged_at) VALUES (?, ?, ?)`, j.Same, j.Person, j.JudgedAt.UnixMilli())
	if err != nil {
		return err
	}
	if j.ID, err = result.LastInsertId(); err != nil {
		return err
	}
	for i, name := range j.Names {
		if _, err := tx.ExecContext(ctx, `INSERT INTO judged_names (judgement, position, name) VALUES (?, ?, ?)`, j.ID, i, name); err != nil {
			return err
		}
	}
	return nil
}

// Undo takes a judgement back. Other judgements stay. It fails with
// [archive.ErrNotFound] when there is none with this id.
func (d *DB) Undo(ctx context.Context, id int64) error {
	err := d.write(ctx, "undo a merge", func(tx *sql.Tx) error {
		return expectRow(tx.ExecContext(ctx, `DELETE FROM judgements WHERE id = ?`, id))
	})
	d.dropCaches()
	return err
}

// Judgements returns all judgements, the oldest first.
func (d *DB) Judgements(ctx context.Context) ([]Judgement, error) {
	var all []Judgement
	err := sqlite.Each(ctx, d.db.R, func(rows *sql.Rows) error {
		var j Judgement
		var at int64
		var name string
		if err := rows.Scan(&j.ID, &j.Same, &j.Person, &at, &name); err != nil {
			return err
		}
		if len(all) == 0 || all[len(all)-1].ID != j.ID {
			j.JudgedAt = sqlite.Time(at)
			all = append(all, j)
		}
		last := &all[len(all)-1]
		last.Names = append(last.Names, name)
		return nil
	}, `SELECT j.id, j.same, j.person, j.judged_at, n.name FROM judgements j JOIN judged_names n ON n.judgement = j.id ORDER BY j.id, n.position`)
	if err != nil {
		return nil, fmt.Errorf("read merged persons: %w", err)
	}
	return all, nil
}

// cleanName returns a name or address as judgements keep it: trimmed, an address in
// lower case.
func cleanName(name string) string {
	name = strings.TrimSpace(strings.ToValidUTF8(name, "\ufffd"))
	if strings.Contains(name, "@") {
		return api.FoldEmail(name)
	}
	return name
}

func cleanNames(names []string) ([]string, error) {
	var clean []string
	for _, name := range names {
		name = cleanName(name)
		if utf8.RuneCountInString(name) > maxName {
			return nil, ErrNames
		}
		if name != "" && !slices.Contains(clean, name) {
			clean = append(clean, name)
		}
	}
	if len(clean) < 2 || len(clean) > maxNames {
		return nil, ErrNames
	}
	return clean, nil
}
