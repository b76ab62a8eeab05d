package archive

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"minutebook/internal/diskspace"
	"minutebook/internal/sqlite"
)

// Stats is the size and growth of an archive.
type Stats struct {
	Meetings       int          `json:"meetings"`
	Gone           int          `json:"gone"`
	WithTranscript int          `json:"with_transcript"`
	WithSummary    int          `json:"with_summary"`
	WithRecording  int          `json:"with_recording"`
	Hours          float64      `json:"hours"` // of recorded meetings, by their start and end
	Entries        int64        `json:"entries"`
	Words          int64        `json:"words"`
	People         int          `json:"people"` // distinct addresses of recorders, invitees and speakers
	Revisions      int          `json:"revisions"`
	First          time.Time    `json:"first,omitzero"` // the first meeting
	Last           time.Time    `json:"last,omitzero"`
	Sizes          Sizes        `json:"sizes"`
	Months         []MonthStats `json:"months"` // with meetings, the oldest first
}

// Sizes are bytes on disk.
type Sizes struct {
	Database   int64 `json:"database"`   // archive.db and its log
	Inbox      int64 `json:"inbox"`      // inbox.db and its log
	Index      int64 `json:"index"`      // all of index/
	Recordings int64 `json:"recordings"` // as the archive counts them, wherever they are
	Revisions  int64 `json:"revisions"`  // size of all versions of all parts, uncompressed
}

// MonthStats are the meetings of one month, UTC.
type MonthStats struct {
	Month    string  `json:"month"` // 2026-03
	Meetings int     `json:"meetings"`
	Hours    float64 `json:"hours"`
	Words    int64   `json:"words"`
}

// meetingHours is a meeting's length in ms; an impossible length counts as 0.
const meetingHours = `iif(recording_end_time > recording_start_time AND recording_end_time - recording_start_time < 7 * 86400000,
	recording_end_time - recording_start_time, 0)`

// Stats counts everything, gone meetings included.
func (a *Archive) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	err := a.db.ReadTx(ctx, func(tx *sql.Tx) error {
		var ms int64
		var first, last sql.NullInt64
		err := tx.QueryRowContext(ctx, `SELECT count(*), count(gone_at), coalesce(sum(has_transcript), 0), coalesce(sum(has_summary), 0),
			coalesce(sum(has_video OR has_audio), 0), coalesce(sum(`+meetingHours+`), 0), coalesce(sum(entries), 0),
			coalesce(sum(words), 0), min(nullif(sort_at, 0)), max(nullif(sort_at, 0)) FROM meetings`).
			Scan(&s.Meetings, &s.Gone, &s.WithTranscript, &s.WithSummary, &s.WithRecording, &ms, &s.Entries, &s.Words, &first, &last)
		if err != nil {
			return err
		}
		s.Hours, s.First, s.Last = float64(ms)/3_600_000, sqlite.NullTime(first), sqlite.NullTime(last)
		err = tx.QueryRowContext(ctx, `SELECT
			(SELECT count(*) FROM (SELECT lower(recorded_by_email) FROM meetings WHERE recorded_by_email <> ''
				UNION SELECT lower(email) FROM invitees WHERE email <> '' UNION SELECT lower(email) FROM speakers WHERE email <> '')),
			(SELECT count(*) FROM revisions), (SELECT coalesce(sum(size), 0) FROM bodies), (SELECT coalesce(sum(size), 0) FROM media)`).
			Scan(&s.People, &s.Revisions, &s.Sizes.Revisions, &s.Sizes.Recordings)
		if err != nil {
			return err
		}
		s.Months, err = readMonths(ctx, tx)
		return err
	})
	if err != nil {
		return Stats{}, fmt.Errorf("count the archive: %w", err)
	}
	s.Sizes.Database, s.Sizes.Inbox, s.Sizes.Index = onDisk(a.dir, "archive.db"), onDisk(a.dir, "inbox.db"), a.IndexSize()
	return s, nil
}

// MediaSize returns the bytes of all recordings, as the archive counts them, wherever they are.
func (a *Archive) MediaSize(ctx context.Context) (int64, error) {
	return a.mediaSize.Get("", func() (size int64, err error) {
		if err = a.db.R.QueryRowContext(ctx, `SELECT coalesce(sum(size), 0) FROM media`).Scan(&size); err != nil {
			err = fmt.Errorf("count the recordings: %w", err)
		}
		return size, err
	})
}

// IndexSize returns the bytes of the search index on disk.
func (a *Archive) IndexSize() int64 { return diskspace.Used(filepath.Join(a.dir, "index")) }

func readMonths(ctx context.Context, tx *sql.Tx) ([]MonthStats, error) {
	list := []MonthStats{}
	err := sqlite.Each(ctx, tx, func(rows *sql.Rows) error {
		var m MonthStats
		var ms int64
		err := rows.Scan(&m.Month, &m.Meetings, &ms, &m.Words)
		m.Hours = float64(ms) / 3_600_000
		list = append(list, m)
		return err
	}, `SELECT strftime('%Y-%m', sort_at / 1000, 'unixepoch'), count(*), sum(`+meetingHours+`), sum(words)
		FROM meetings WHERE sort_at <> 0 GROUP BY 1 ORDER BY 1`)
	return list, err
}

// onDisk returns the size of the files of a data directory that are called name, or begin
// with name-, in bytes. Unreadable files are not counted.
func onDisk(dir, name string) (sum int64) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != name && !strings.HasPrefix(e.Name(), name+"-") {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

// Coverage counts the kept parts of the meetings that one account sees.
type Coverage struct {
	Meetings       int `json:"meetings"` // known
	WithTranscript int `json:"with_transcript"`
	WithSummary    int `json:"with_summary"`
	WithRecording  int `json:"with_recording"`
	RecordingsToDo int `json:"recordings_to_do"` // in the queue, and not given up
}

// Coverage counts, for each account, the meetings that some list shows it, and
// those that its webhooks brought and no list has shown to anybody yet. A meeting
// that several accounts see counts for each of them.
func (a *Archive) Coverage(ctx context.Context) (map[string]Coverage, error) {
	all := map[string]Coverage{}
	err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var account string
		var c Coverage
		err := rows.Scan(&account, &c.Meetings, &c.WithTranscript, &c.WithSummary, &c.WithRecording, &c.RecordingsToDo)
		all[account] = c
		return err
	}, `WITH seen AS (
			SELECT account, recording_id FROM sightings WHERE gone_at IS NULL
			UNION SELECT o.account, m.recording_id FROM meetings m
				JOIN revisions r ON r.recording_id = m.recording_id JOIN observations o ON o.revision_id = r.id
				WHERE o.source = 'webhook' AND NOT EXISTS (SELECT 1 FROM sightings s WHERE s.recording_id = m.recording_id))
		SELECT seen.account, count(*), sum(m.has_transcript), sum(m.has_summary), sum(m.has_video OR m.has_audio),
			count(d.recording_id)
		FROM seen JOIN meetings m ON m.recording_id = seen.recording_id
		LEFT JOIN downloads d ON d.recording_id = seen.recording_id AND d.state IN ('wanted', 'requested', 'ready')
		GROUP BY seen.account`)
	if err != nil {
		return nil, fmt.Errorf("count what accounts see: %w", err)
	}
	return all, nil
}
