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
// line, when a line is no meeting; the lines before it are loaded. Whatever ends it, no
// meeting of an earlier file that was held back is lost.
func (s *Service) Load(ctx context.Context, r io.Reader, name string) (LoadResult, error) {
	s.load.Lock()
	defer s.load.Unlock()
	l := &loading{s: s, derive: newOrganisationDeriver()}
	err := l.read(ctx, r)
	if err == nil || ctx.Err() == nil {
		err = errors.Join(err, l.finish(ctx))
	}
	if err != nil {
		return l.result, fmt.Errorf("load %s: %w", name, err)
	}
	return l.result, nil
}

// loading is one Load.
type loading struct {
	s        *Service
	derive   *organisationDeriver
	batch    []archive.Observation
	released []int64         // meetings of the batch that were held back
	entered  []loadedMeeting // of this and earlier batches
	result   LoadResult
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

// take puts a meeting into the batch, or holds it back, and puts those into the batch of
// which too many are held back then. A meeting that is in the archive stays there.
func (l *loading) take(ctx context.Context, raw []byte) error {
	o, m, err := l.parse(raw)
	if err != nil {
		return err
	}
	l.result.Meetings++
	l.derive.add(&m)
	known := l.s.opts.Hold == 0
	if !known {
		_, err := l.s.archive.Row(ctx, o.RecordingID)
		if known = err == nil || errors.Is(err, archive.ErrForgotten); !known && !errors.Is(err, archive.ErrNotFound) {
			return err
		}
	}
	if known {
		return l.put(ctx, o, &m)
	}
	_, err = l.s.store.db.ExecContext(ctx, `INSERT INTO held (recording_id, start, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
		o.RecordingID, m.RecordingStartTime.Time.UnixMilli(), raw)
	if err != nil {
		return fmt.Errorf("keep back %d: %w", o.RecordingID, err)
	}
	return l.release(ctx)
}

func (l *loading) parse(raw []byte) (o archive.Observation, m api.Meeting, err error) {
	if o, err = archive.FromMeeting(archive.LocalAccount, archive.SourceImport, l.s.now(), raw); err == nil {
		err = json.Unmarshal(o.Parts[api.PartMeeting], &m)
	}
	return o, m, err
}

// release puts the oldest meetings that are held back into the batch until Options.Hold are
// left. They are held until the batch is in the archive.
func (l *loading) release(ctx context.Context) error {
	for {
		var raw []byte
		released, err := json.Marshal(append([]int64{}, l.released...))
		if err != nil {
			return err
		}
		err = l.s.store.db.R.QueryRowContext(ctx, `SELECT body FROM held WHERE (SELECT count(*) FROM held) - json_array_length(?1) > ?2
			AND recording_id NOT IN (SELECT value FROM json_each(?1)) ORDER BY start, recording_id LIMIT 1`, string(released), l.s.opts.Hold).Scan(&raw)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what is kept back: %w", err)
		}
		o, m, err := l.parse(raw)
		if err != nil {
			return err
		}
		l.released = append(l.released, o.RecordingID)
		if err := l.put(ctx, o, &m); err != nil {
			return err
		}
	}
}

func (l *loading) put(ctx context.Context, o archive.Observation, m *api.Meeting) error {
	l.entered = append(l.entered, newLoaded(o.RecordingID, m))
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
	return l.s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		for _, id := range l.released {
			if _, err := tx.ExecContext(ctx, `DELETE FROM held WHERE recording_id = ?`, id); err != nil {
				return fmt.Errorf("keep back %d no more: %w", id, err)
			}
		}
		l.released = nil
		return nil
	})
}

// finish applies the last batch, and derives the directory and the shares of the loaded
// meetings.
func (l *loading) finish(ctx context.Context) error {
	s := l.s
	if err := l.flush(ctx); err != nil {
		return err
	}
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
	return s.shareLoaded(ctx, exact == nil, l.entered...)
}
