package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/registry"
	_ "github.com/mattn/go-sqlite3" // registers the driver sqlite3

	"minutebook/archive"
)

// baseline is FTS5 with bm25 over pieces of 60 seconds, stop words dropped and
// terms joined by OR.
type baseline struct {
	db   *sql.DB
	stop map[string]bool
}

func newBaseline(ctx context.Context, a *archive.Archive) (*baseline, error) {
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE VIRTUAL TABLE pieces USING fts5 (text, meeting UNINDEXED, begins UNINDEXED, ends UNINDEXED)`); err != nil {
		return nil, fmt.Errorf("make the baseline: %w", err)
	}
	words, err := registry.NewCache().TokenMapNamed(en.StopName)
	if err != nil {
		return nil, err
	}
	b := &baseline{db: db, stop: words}
	rows, err := a.List(ctx, archive.ListQuery{Viewer: archive.Viewer{All: true}})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		entries, err := a.Entries(ctx, r.RecordingID, 0, -1)
		if err != nil {
			return nil, err
		}
		if err := b.add(r.RecordingID, entries); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// add cuts a transcript into pieces of 60 seconds at entries' borders.
func (b *baseline) add(id int64, entries []archive.Entry) error {
	tx, err := b.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for i := 0; i < len(entries); {
		var text strings.Builder
		j := i
		for ; j < len(entries) && entries[j].Offset < entries[i].Offset+time.Minute; j++ {
			text.WriteString(entries[j].Text + "\n")
		}
		if j == i {
			j++
		}
		_, err := tx.Exec(`INSERT INTO pieces VALUES (?, ?, ?, ?)`, text.String(), id, entries[i].Offset.Seconds(), entries[j-1].Offset.Seconds())
		if err != nil {
			return err
		}
		i = j
	}
	return tx.Commit()
}

// ask returns the best pieces, best first.
func (b *baseline) ask(query string) ([]place, error) {
	var terms []string
	for _, w := range strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if !b.stop[w] {
			terms = append(terms, `"`+w+`"`)
		}
	}
	rows, err := b.db.Query(`SELECT meeting, begins, ends FROM pieces WHERE pieces MATCH ? ORDER BY bm25(pieces) LIMIT 200`, strings.Join(terms, " OR "))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []place
	for rows.Next() {
		var p place
		if err := rows.Scan(&p.meeting, &p.from, &p.to); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, rows.Err()
}
