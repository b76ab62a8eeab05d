package corpus

import (
	"bytes"
	"context"
	"path/filepath"
	"time"

	"minutebook/archive"
	real "minutebook/internal/corpus"
)

// readAt is when the corpus counts as read.
var readAt = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

// Load applies every meeting of the corpus to an archive.
func Load(ctx context.Context, a *archive.Archive, dir string) error {
	for _, name := range real.Files() {
		var batch []archive.Observation
		err := real.EachLine(filepath.Join(dir, name), func(line []byte) error {
			o, err := archive.FromMeeting("corpus", archive.SourceList, readAt, bytes.Clone(line))
			if err != nil {
				return err
			}
			if batch = append(batch, o); len(batch) < 20 {
				return nil
			}
			_, err = a.Apply(ctx, batch)
			batch = nil
			return err
		})
		if err != nil {
			return err
		}
		if _, err := a.Apply(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// Fill adds resampled meetings to an archive until it has as many as are wanted. An archive
// that has enough is left as it is.
func Fill(ctx context.Context, a *archive.Archive, want int) error {
	size, err := a.Size(ctx)
	if err != nil || size >= want {
		return err
	}
	dir, err := Dir()
	if err != nil {
		return err
	}
	meetings, err := NewResampler(dir, 1)
	if err != nil {
		return err
	}
	var batch []archive.Observation
	for number := size + 1; number <= want; number++ {
		o, _, err := meetings.Observation(number)
		if err != nil {
			return err
		}
		if batch = append(batch, o); len(batch) < 50 && number < want {
			continue
		}
		if _, err := a.Apply(ctx, batch); err != nil {
			return err
		}
		batch = nil
	}
	return nil
}
