package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	_ "github.com/mattn/go-sqlite3" // registers the driver sqlite3
)

// newFTS fills an FTS5 table with a row for every utterance, or opens one that
// was filled before.
func (h *house) newFTS(ctx context.Context) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", filepath.Join(h.data, "fts.db")+"?_journal_mode=OFF&_synchronous=OFF")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS filled (meetings INTEGER);
		CREATE VIRTUAL TABLE IF NOT EXISTS utterances USING fts5 (text, meeting UNINDEXED, speaker UNINDEXED, start UNINDEXED)`)
	if err != nil {
		return nil, fmt.Errorf("make FTS5's table: %w", err)
	}
	var filled int
	if err := db.QueryRowContext(ctx, `SELECT coalesce(max(meetings), 0) FROM filled`).Scan(&filled); err != nil {
		return nil, err
	}
	begin := time.Now()
	for ids := range slices.Chunk(h.ids[min(filled, len(h.ids)):], 1000) {
		if err := h.fillFTS(ctx, db, ids); err != nil {
			return nil, err
		}
	}
	if filled < len(h.ids) {
		fmt.Printf("FTS5 filled in %v\n", time.Since(begin).Round(time.Second))
	}
	return db, nil
}

// fillFTS adds the utterances of some meetings.
func (h *house) fillFTS(ctx context.Context, db *sql.DB, ids []int64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	add, err := tx.PrepareContext(ctx, `INSERT INTO utterances VALUES (?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	for _, id := range ids {
		m, err := h.archive.Meeting(ctx, everyone, id)
		if err != nil {
			return err
		}
		for _, e := range m.Transcript.Or(nil) {
			if _, err := add.ExecContext(ctx, e.Text, id, e.Speaker.DisplayName, m.RecordingStartTime.Unix()); err != nil {
				return err
			}
		}
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO filled SELECT coalesce(max(meetings), 0) + ? FROM filled`, len(ids)); err != nil {
		return err
	}
	return tx.Commit()
}

// askFTS asks FTS5 and reads its answer.
func askFTS(ctx context.Context, db *sql.DB, question string, args []any) (time.Duration, error) {
	begin := time.Now()
	rows, err := db.QueryContext(ctx, question, args...)
	if err != nil {
		return 0, fmt.Errorf("FTS5: %v: %w", args, err)
	}
	defer rows.Close()
	for rows.Next() {
	}
	return time.Since(begin), rows.Err()
}
