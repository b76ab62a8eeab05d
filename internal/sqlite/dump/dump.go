// Package dump makes databases of the SQL that `sqlite3 FILE .dump` prints, and large ones of
// small ones, for tests and measurements on databases of earlier versions.
package dump

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"minutebook/internal/sqlite"
)

// Restore makes the database of a dump at path, in place of a file there.
func Restore(dump, path string) error {
	content, err := os.ReadFile(dump)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	db := sqlite.Connect(path, "?_foreign_keys=0", nil)
	_, err = db.Exec(string(content))
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("restore %s: %w", dump, err)
	}
	return nil
}

// Keys are tables and those of their columns that are different in each copy of the rows, with
// the number that lies between two copies.
type Keys map[string]map[string]int64

// Repeat adds copies of the rows of the database at from to the tables of the database at
// path that keys name: those with the numbers from first to last. Columns that only one of both
// has are left out. It may lose the database when power fails.
func Repeat(ctx context.Context, path, from string, first, last int64, keys Keys) (err error) {
	db := sqlite.Connect(path, "?mode=rw&_foreign_keys=0&_synchronous=OFF", nil)
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `ATTACH ? AS origin`, from); err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for table, steps := range keys {
		if err := repeatTable(ctx, tx, table, steps, first, last); err != nil {
			return fmt.Errorf("repeat the rows of %s: %w", table, err)
		}
	}
	return tx.Commit()
}

func repeatTable(ctx context.Context, tx *sql.Tx, table string, steps map[string]int64, first, last int64) error {
	columns, err := sqlite.Column[string](ctx, tx, `SELECT name FROM pragma_table_info(?1, 'main')
		INTERSECT SELECT name FROM pragma_table_info(?1, 'origin')`, table)
	if err != nil {
		return err
	}
	var values []string
	for _, column := range columns {
		values = append(values, fmt.Sprintf("%s + %d * ?1", column, steps[column]))
		if steps[column] == 0 {
			values[len(values)-1] = column
		}
	}
	insert, err := tx.PrepareContext(ctx, fmt.Sprintf(`INSERT INTO main.%s (%s) SELECT %s FROM origin.%[1]s`,
		table, strings.Join(columns, ", "), strings.Join(values, ", ")))
	if err != nil {
		return err
	}
	defer insert.Close()
	for n := first; n <= last; n++ {
		var args []any
		if len(steps) > 0 {
			args = []any{n}
		}
		if _, err := insert.ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}
