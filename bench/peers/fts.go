package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // registers the driver sqlite3
)

// openFTS fills an FTS5 table with a row for each meeting.
func openFTS(ctx context.Context, d *documents, dir string) (e engine, built builtIn, err error) {
	db, err := sql.Open("sqlite3", filepath.Join(dir, "fts.db")+"?_journal_mode=OFF&_synchronous=OFF")
	if err != nil {
		return e, built, err
	}
	db.SetMaxOpenConns(1)
	e = engine{"FTS5", func(q query) (answer, error) { return askFTS(ctx, db, q) }, db.Close}
	began := time.Now()
	if err = fillFTS(ctx, db, d); err != nil {
		return e, built, errors.Join(err, db.Close())
	}
	built.elapsed = time.Since(began)
	err = db.QueryRowContext(ctx, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&built.size)
	return e, built, err
}

func fillFTS(ctx context.Context, db *sql.DB, d *documents) error {
	if _, err := db.ExecContext(ctx, `CREATE VIRTUAL TABLE meetings USING fts5 (text)`); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	err = d.each(func(number int, text string) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO meetings (rowid, text) VALUES (?, ?)`, number, text)
		return err
	})
	if err != nil {
		return err
	}
	return tx.Commit()
}

// askFTS asks for the ten best meetings and for the number of all.
func askFTS(ctx context.Context, db *sql.DB, q query) (a answer, err error) {
	between := map[string]string{"all": `" "`, "any": `" OR "`, "phrase": " "}[q.Kind]
	text := `"` + strings.Join(q.Words, between) + `"`
	if q.Kind == "prefix" {
		text += "*"
	}
	began := time.Now()
	rows, err := db.QueryContext(ctx, `SELECT rowid FROM meetings WHERE meetings MATCH ? ORDER BY rank LIMIT 10`, text)
	if err != nil {
		return a, err
	}
	for rows.Next() {
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return a, err
	}
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM meetings WHERE meetings MATCH ?`, text).Scan(&a.found)
	a.elapsed = time.Since(began)
	return a, err
}
