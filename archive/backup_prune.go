package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"minutebook/internal/sqlite"
)

// doubts says what speaks against removing older generations: one that cannot be
// read, and meetings or changes that are in them, not here, and not forgotten. A
// person can accept what is missing, for the generations up to now.
func (b *backup) doubts(ctx context.Context, m Manifest) ([]string, error) {
	doubts := []string{}
	forgotten, _, err := b.archive.tombstones(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range b.there.all {
		if g.Damage != nil {
			doubts = append(doubts, fmt.Sprintf("%s cannot be read (%v); delete it when nothing is to be had from it", g.Path(), g.Damage))
			continue
		}
		if m.AcceptedFewer || slices.ContainsFunc(b.there.all, func(o Generation) bool { return o.AcceptedFewer && o.number > g.number }) {
			continue
		}
		if g.Epoch == m.Epoch && g.Seq > m.Seq {
			doubts = append(doubts, fmt.Sprintf("%s has %d changes more than the archive: archive.db was replaced by an older copy", g.Name, g.Seq-m.Seq))
		}
		if missing := g.missing(m, forgotten); missing != "" {
			doubts = append(doubts, fmt.Sprintf("%s holds meetings that are not in the archive and were not forgotten: %s", g.Name, missing))
		}
	}
	return doubts, nil
}

// missing names the meetings of a generation that a later one has not and that
// were not forgotten.
func (g Generation) missing(m Manifest, forgotten []int64) string {
	if g.Version == singleVersion { // it tells only how many
		if n := g.Meetings - m.Meetings - len(forgotten); n > 0 {
			return fmt.Sprintf("%d or more", n)
		}
		return ""
	}
	var ids []string
	for _, id := range g.IDs {
		_, here := slices.BinarySearch(m.IDs, id)
		_, gone := slices.BinarySearch(forgotten, id)
		if !here && !gone {
			ids = append(ids, fmt.Sprint(id))
		}
	}
	const most = 10
	if n := len(ids) - most; n > 0 {
		ids = append(ids[:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(ids, ", ")
}

// prune removes the generations beyond those to keep, and what belongs to none.
func (b *backup) prune(ctx context.Context, m Manifest) error {
	older := slices.Clone(b.there.all)
	b.there.all = append(b.there.all, Generation{Manifest: m, Dir: b.dest, Name: b.dir, number: numberIn(b.dir)})
	b.result.Pruned = []string{}
	if n := len(older) + 1 - b.Keep; b.Keep > 0 && n > 0 && len(b.result.Doubts) == 0 && len(b.result.Lost) == 0 {
		for _, g := range older[:n] {
			if err := b.there.remove(g); err != nil {
				return err
			}
			b.result.Pruned = append(b.result.Pruned, g.Name)
		}
	}
	return errors.Join(b.there.sweep(), b.archive.noteGenerations(ctx, b.there))
}

// RemoveGenerations removes generations of a directory of backups, by their
// paths, and the recordings that only they had.
func (a *Archive) RemoveGenerations(ctx context.Context, dir string, paths []string) error {
	err := func() (err error) {
		d, err := openBackupDir(dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.lock.release()) }()
		for _, g := range slices.Clone(d.all) {
			if slices.Contains(paths, g.Path()) && g.Damage == nil {
				if err := d.remove(g); err != nil {
					return err
				}
			}
		}
		return errors.Join(d.sweep(), a.noteGenerations(ctx, d))
	}()
	if err != nil {
		return fmt.Errorf("remove generations of %s: %w", dir, err)
	}
	return nil
}

// refuseForeign fails for a generation of another archive, or of this one after
// it parted from what became the archive here.
func (g Generation) refuseForeign(ours []string) error {
	if g.Damage != nil {
		return nil // nothing is known of it, and nothing is done to it
	}
	theirs := g.Lineage
	if len(theirs) <= len(ours) && slices.Equal(theirs, ours[:len(theirs)]) {
		return nil
	}
	made := fmt.Sprintf("%s, of %s with %d meetings", g.Name, g.TakenAt.Format("2006-01-02 15:04"), g.Meetings)
	if theirs[0] != ours[0] {
		return fmt.Errorf("the directory has backups of another archive, %s (%s), and this one is %s; back up to a directory of its own; "+
			"if this data directory should be that archive, stop it and restore the backup", theirs[0], made, ours[0])
	}
	return fmt.Errorf("the directory has backups of another copy of this archive, %s: %s is of epoch %s, and this copy is of %s; one was restored "+
		"and both went on; back up to a directory of its own", ours[0], made, theirs[len(theirs)-1], strings.Join(ours, ", then "))
}

// rowQuerier is a database, a connection or a transaction.
type rowQuerier interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// lineage reads the epochs of an archive, the current one last.
func lineage(ctx context.Context, q rowQuerier) (epochs []string, err error) {
	var epoch, list string
	err = q.QueryRowContext(ctx, `SELECT value, coalesce((SELECT value FROM info WHERE name = 'lineage'), json_array(value))
		FROM info WHERE name = 'epoch'`).Scan(&epoch, &list)
	if err == nil {
		err = json.Unmarshal([]byte(list), &epochs)
	}
	if err == nil && (len(epochs) == 0 || epochs[len(epochs)-1] != epoch) {
		err = fmt.Errorf("it ends with another epoch than %s", epoch)
	}
	if err != nil {
		return nil, fmt.Errorf("read the archive's lineage: %w", err)
	}
	return epochs, nil
}

// tombstones are the meetings that were forgotten, rising; open are those of them
// of which something may still be there.
func (a *Archive) tombstones(ctx context.Context) (all, open []int64, err error) {
	rows, err := a.db.R.QueryContext(ctx, `SELECT recording_id FROM tombstones ORDER BY 1`)
	if err == nil {
		all, err = scanIDs(rows)
	}
	if err == nil {
		open, err = a.unfinished(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read what was forgotten: %w", err)
	}
	return all, open, nil
}

func scanIDs(rows *sql.Rows) (ids []int64, err error) {
	return ids, sqlite.EachRow(rows, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
}
