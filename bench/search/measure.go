package main

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"slices"
	"time"

	_ "github.com/mattn/go-sqlite3" // registers the driver sqlite3

	"minutebook/archive"
	"minutebook/bench/corpus"
	"minutebook/search"
)

// measure asks the queries of every class and prints their times.
func measure(ctx context.Context, a *archive.Archive, x *search.Index, r *corpus.Resampler, o options) error {
	var fts *sql.DB
	if o.fts {
		var err error
		if fts, err = newFTS(r, o); err != nil {
			return err
		}
		defer fts.Close()
	}
	fmt.Printf("%-26s %10s %8s %8s %10s %8s %8s\n", "", "meetings", "p50", "p99", "", "p50 FTS5", "p99 FTS5")
	for _, c := range classes(r, o) {
		var ours, theirs []time.Duration
		total := 0
		for i, q := range c.queries {
			begin := time.Now()
			answer, err := x.Search(ctx, search.Request{Query: q, Viewer: archive.Viewer{All: true}, Facets: c.facets, Histogram: c.facets})
			if err != nil {
				return fmt.Errorf("%s: %q: %w", c.name, q, err)
			}
			ours = append(ours, time.Since(begin))
			total += answer.Total
			if fts != nil && c.fts[i] != "" {
				took, err := askFTS(fts, c.fts[i])
				if err != nil {
					return err
				}
				theirs = append(theirs, took)
			}
		}
		fmt.Printf("%-26s %10d %8.1f %8.1f %10s %8.1f %8.1f\n", c.name, total/len(c.queries), at(ours, 0.5), at(ours, 0.99), "", at(theirs, 0.5), at(theirs, 0.99))
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Printf("heap after a collection: %.0f MB\n", float64(m.HeapAlloc)/1e6)
	return arrivals(ctx, a, x, r, o)
}

// arrivals measures the time from a meeting's commit to its being found.
func arrivals(ctx context.Context, a *archive.Archive, x *search.Index, r *corpus.Resampler, o options) error {
	following, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- x.Follow(following) }()
	var times []time.Duration
	for i := range 50 {
		ob, _, err := r.Observation(10_000_000 + o.meetings + i)
		if err != nil {
			return err
		}
		if _, err := a.Apply(ctx, []archive.Observation{ob}); err != nil {
			return err
		}
		begin := time.Now()
		for {
			answer, err := x.Search(ctx, search.Request{Query: fmt.Sprintf("id:%d", ob.RecordingID), Viewer: archive.Viewer{All: true}})
			if err != nil {
				return err
			}
			if answer.Total == 1 {
				break
			}
		}
		times = append(times, time.Since(begin))
	}
	stop()
	fmt.Printf("from commit to found: p50 %.1f, p99 %.1f\n", at(times, 0.5), at(times, 0.99))
	return <-done
}

// at is the time that a share of all stays under, in milliseconds.
func at(times []time.Duration, share float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return float64(times[min(len(times)-1, int(share*float64(len(times))))]) / 1e6
}

// newFTS fills an FTS5 table with a row for every utterance.
func newFTS(r *corpus.Resampler, o options) (*sql.DB, error) {
	path := ""
	if o.data != "" {
		path = o.data + "/fts.db"
	}
	db, err := sql.Open("sqlite3", path+"?_journal_mode=OFF&_synchronous=OFF")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE VIRTUAL TABLE utterances USING fts5 (text, meeting UNINDEXED)`); err != nil {
		return db, nil // it is there from a run before
	}
	tx, err := db.Begin()
	if err != nil {
		return nil, err
	}
	add, err := tx.Prepare(`INSERT INTO utterances VALUES (?, ?)`)
	if err != nil {
		return nil, err
	}
	for number := 1; number <= o.meetings; number++ {
		for _, e := range r.Meeting(number).Transcript.Or(nil) {
			if _, err := add.Exec(e.Text, number); err != nil {
				return nil, err
			}
		}
	}
	return db, tx.Commit()
}

// askFTS asks for the ten best utterances.
func askFTS(db *sql.DB, query string) (time.Duration, error) {
	begin := time.Now()
	rows, err := db.Query(`SELECT meeting FROM utterances WHERE utterances MATCH ? ORDER BY bm25(utterances) LIMIT 10`, query)
	if err != nil {
		return 0, fmt.Errorf("FTS5: %q: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
	}
	return time.Since(begin), rows.Err()
}
