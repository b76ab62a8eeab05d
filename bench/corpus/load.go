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
