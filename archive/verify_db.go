package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"minutebook/archive/inbox"
	"minutebook/internal/sqlite"
)

// Databases returns the archive's own database and those of other rooms. They close with
// the archive.
func (a *Archive) Databases() []*sqlite.DB {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]*sqlite.DB{a.db}, a.side...)
}

// checkDatabases runs SQLite's own check on every database, also on those that are not open.
func (c *check) checkDatabases(ctx context.Context, _ VerifyOptions, found func(Damage)) error {
	lost, err := c.archive.findLost(ctx)
	if err != nil {
		return err
	}
	for _, path := range lost {
		found(Damage{Class: DamageDatabase, Path: path, What: "it is missing or empty"})
	}
	open := c.archive.Databases()
	for _, db := range open {
		if err := checkDatabase(ctx, db, found); err != nil {
			return err
		}
	}
	return c.checkClosed(ctx, open, lost, found)
}

// checkClosed checks the databases that were created and that this program has not opened.
func (c *check) checkClosed(ctx context.Context, open []*sqlite.DB, lost []string, found func(Damage)) error {
	names, err := c.archive.readCreated(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(c.archive.dir, name)
		if path == c.archive.inbox.Path() || slices.Contains(lost, path) || slices.ContainsFunc(open, func(db *sqlite.DB) bool { return db.Path == path }) {
			continue
		}
		db, err := sqlite.Open(ctx, path)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			found(Damage{Class: DamageDatabase, Path: path, What: err.Error()})
			continue
		}
		if err := errors.Join(checkDatabase(ctx, db, found), db.Close()); err != nil {
			return err
		}
	}
	return nil
}

// checkDatabase runs SQLite's own check on a database.
func checkDatabase(ctx context.Context, db *sqlite.DB, found func(Damage)) error {
	err := db.Check(ctx, func(line string) { found(Damage{Class: DamageDatabase, Path: db.Path, What: line}) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // too damaged to be checked
		found(Damage{Class: DamageDatabase, Path: db.Path, What: err.Error()})
	}
	return nil
}

// checkDeliveries reads every kept body of a delivery. A damaged body cannot be
// restored, so a repair drops it. The content of an applied one is in the archive. That of
// another one is requested again where the body still says which meeting it is about.
func (c *check) checkDeliveries(ctx context.Context, o VerifyOptions, found func(Damage)) (err error) {
	deliveries := c.archive.inbox
	c.sum.Deliveries, err = deliveries.CheckBodies(ctx, func(b inbox.DamagedBody) {
		d := Damage{Class: DamageDelivery, Path: deliveries.Path(), RecordingID: b.RecordingID,
			What: fmt.Sprintf("the body of delivery %d, %s, cannot be read back: %v", b.ID, b.State, b.Err)}
		c.repair(ctx, &d, o, func() (err error) {
			if about := inbox.DamagedRecordingIDs(b.Stored); d.RecordingID == 0 && len(about) == 1 {
				d.RecordingID = about[0]
			}
			if d.Aside, err = c.archive.putAside(ctx, d.RecordingID, fmt.Sprintf("delivery-%d", b.ID), b.Stored); err != nil {
				return err
			}
			if b.State == inbox.StateApplied {
				d.Outcome = "let go: what it brought is in the archive"
				return deliveries.DropBody(ctx, b.ID)
			}
			c.askAgain(ctx, d.RecordingID, fmt.Sprintf("delivery %d", b.ID), d.RecordingID != 0, &d)
			return deliveries.GiveUp(ctx, b.ID)
		})
		found(d)
	})
	return err
}

// checkForeignKeys reports rows that refer to missing rows. A repair first repairs
// those of the archive.
func (c *check) checkForeignKeys(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	if o.Repair {
		if err := c.repairBroken(ctx, o, found); err != nil {
			return err
		}
	}
	for _, db := range c.archive.Databases() {
		broken := map[string]int{} // counts by table and parent, since a damaged file can have millions
		err := sqlite.Each(ctx, db.R, func(rows *sql.Rows) error {
			var table, parent string
			var rowid int64
			err := rows.Scan(&table, &rowid, &parent)
			broken[table+" refer to "+parent]++
			return err
		}, `SELECT "table", coalesce(rowid, 0), "parent" FROM pragma_foreign_key_check`)
		if err != nil {
			return err
		}
		for what, n := range broken {
			found(Damage{Class: DamageForeignKey, Path: db.Path, What: fmt.Sprintf("rows of %s that are not there: %d", what, n)})
		}
	}
	return nil
}

// checkForgotten reports remains of forgotten meetings.
func (c *check) checkForgotten(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	ids, err := a.readUnfinished(ctx)
	if err != nil {
		return err
	}
	open, why := ids, ""
	if o.Repair {
		if err := a.FinishForgetting(ctx); err != nil {
			why = ": " + err.Error()
		}
		if open, err = a.readUnfinished(ctx); err != nil {
			return err
		}
	}
	for _, id := range ids {
		d := Damage{Class: DamageForgetting, RecordingID: id, What: "forgetting it is not finished", Repaired: !slices.Contains(open, id)}
		switch {
		case !o.Repair:
			d.What += ": the daemon goes on, or verify --repair"
		case !d.Repaired:
			d.What += why
		}
		found(d)
	}
	if ids, err = a.forgottenPartials(ctx); err != nil {
		return err
	}
	for _, id := range ids {
		found(Damage{Class: DamageForgetting, RecordingID: id, Path: a.PartialPath(strconv.FormatInt(id, 10)),
			What: "a part of its recording is there", Repaired: o.Repair && a.dropPartial(id) == nil})
	}
	for _, table := range meetingTables {
		if table == "changes" {
			continue // it has no remains
		}
		if err := c.checkRemains(ctx, table, o, found); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) checkRemains(ctx context.Context, table string, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	remains, err := sqlite.Map[int64, int](ctx, a.db.R, `SELECT recording_id, count(*) FROM `+table+`
		WHERE recording_id IN (SELECT recording_id FROM tombstones) GROUP BY 1`)
	if err != nil {
		return err
	}
	for id, n := range remains {
		d := Damage{Class: DamageForgetting, Path: a.db.Path, RecordingID: id, What: fmt.Sprintf("rows of it in %s: %d", table, n)}
		if o.Repair {
			_, err := a.db.ExecContext(ctx, `DELETE FROM `+table+` WHERE recording_id = ?`, id)
			d.Repaired = err == nil
		}
		found(d)
	}
	return nil
}
