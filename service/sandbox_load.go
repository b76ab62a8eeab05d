package service

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"minutebook/api"
	"minutebook/archive"
)

// LoadResult counts the meetings of one Load.
type LoadResult struct {
	Meetings int `json:"meetings"` // read from the file
	New      int `json:"new"`      // not in the archive before
	Held     int `json:"held"`     // kept back, of this and earlier files
}

// loadBatch is how many meetings enter the archive in one transaction.
const loadBatch = 50

// maxLine bounds one meeting of a file, in bytes.
const maxLine = 64 << 20

// Load reads meetings, one JSON object a line, plain or gzip, into the sandbox,
// and derives the directory from them. The newest Options.Hold of all that is
// loaded are kept back. Loading again changes nothing. It fails, naming the
// line, when a line is no meeting; the lines before it are loaded.
func (s *Service) Load(ctx context.Context, r io.Reader, name string) (LoadResult, error) {
	s.load.Lock()
	defer s.load.Unlock()
	l := &loading{s: s, derive: newOrganisationDeriver()}
	err := l.read(ctx, r)
	if err == nil {
		err = l.flush(ctx)
	}
	if err != nil {
		return l.result, fmt.Errorf("load %s: %w", name, err)
	}
	if err := l.finish(ctx); err != nil {
		return l.result, fmt.Errorf("load %s: %w", name, err)
	}
	return l.result, nil
}

// loading is one Load.
type loading struct {
	s      *Service
	derive *organisationDeriver
	batch  []archive.Observation
	result LoadResult
}

func (l *loading) read(ctx context.Context, r io.Reader) error {
	in := bufio.NewReader(r)
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		zipped, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		defer zipped.Close()
		in = bufio.NewReader(zipped)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<20), maxLine)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := l.take(ctx, bytes.Clone(line)); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

// take holds a meeting back or puts it into the next batch.
func (l *loading) take(ctx context.Context, raw []byte) error {
	var m api.Meeting
	id, parts, err := api.SplitMeeting(raw)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(parts[api.PartMeeting], &m); err != nil {
		return err
	}
	l.result.Meetings++
	l.derive.add(id, &m)
	if raw, err = l.s.holdBack(ctx, id, &m, raw); err != nil || raw == nil {
		return err
	}
	o, err := archive.FromMeeting(archive.LocalAccount, archive.SourceImport, l.s.now(), raw)
	if err != nil {
		return err
	}
	if l.batch = append(l.batch, o); len(l.batch) >= loadBatch {
		return l.flush(ctx)
	}
	return nil
}

func (l *loading) flush(ctx context.Context) error {
	if len(l.batch) == 0 {
		return nil
	}
	applied, err := l.s.archive.Apply(ctx, l.batch)
	if err != nil {
		return err
	}
	l.result.New += applied.New
	l.batch = l.batch[:0]
	return nil
}

// finish derives the directory and the shares of the loaded meetings.
func (l *loading) finish(ctx context.Context) error {
	s := l.s
	if err := s.store.db.R.QueryRowContext(ctx, `SELECT count(*) FROM held`).Scan(&l.result.Held); err != nil {
		return err
	}
	exact, err := s.store.setting(ctx, "directory")
	if err != nil {
		return err
	}
	if exact == nil {
		if err := s.changeDirectory(ctx, func() error { return s.putDerived(ctx, l.derive) }); err != nil {
			return err
		}
	}
	if err := s.mirror.Refresh(ctx); err != nil {
		return err
	}
	return s.shareLoaded(ctx, exact == nil, l.derive.meetings...)
}

// holdBack decides which meeting enters the archive now: this one, another that was
// held back before, or none (nil). A meeting that is in the archive stays there.
func (s *Service) holdBack(ctx context.Context, id int64, m *api.Meeting, raw []byte) ([]byte, error) {
	if s.opts.Hold == 0 {
		return raw, nil
	}
	if _, err := s.archive.Row(ctx, id); err == nil {
		return raw, nil
	} else if !errors.Is(err, archive.ErrNotFound) {
		return nil, err
	}
	released := raw
	err := s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		var count int
		var loaded bool
		err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(max(recording_id = ?), 0) FROM held`, id).Scan(&count, &loaded)
		if err != nil {
			return err
		}
		if loaded {
			released = nil
			return nil
		}
		start := m.RecordingStartTime.Time.UnixMilli()
		released = nil
		_, err = tx.ExecContext(ctx, `INSERT INTO held (recording_id, start, body) VALUES (?, ?, ?)`, id, start, raw)
		if err != nil || count < s.opts.Hold {
			return err
		}
		return tx.QueryRowContext(ctx, `DELETE FROM held WHERE recording_id =
			(SELECT recording_id FROM held ORDER BY start, recording_id LIMIT 1) RETURNING body`).Scan(&released)
	})
	if err != nil {
		return nil, fmt.Errorf("keep back %d: %w", id, err)
	}
	return released, nil
}
