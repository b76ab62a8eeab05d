package service

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// ranFile is the file of the data directory with the time at which the relay last ran or tried to,
// in the layout ranLayout. The file is overwritten in place, for which a full disk has room too: a
// program that starts after its disk was full for days, and nothing could be written into the
// database, sees that the relay was not off.
const (
	ranFile   = "service.ran"
	ranLayout = "2006-01-02T15:04:05Z\n"
)

// lastRun returns when the relay last ran, by its database or by its file, whichever is later; zero
// where it never ran. A time of the file that lies ahead is of a wrong clock, and does not count.
func (s *Service) lastRun(ctx context.Context) (time.Time, error) {
	last, err := s.store.timeSetting(ctx, followedKey)
	if err != nil {
		return last, err
	}
	text, err := os.ReadFile(s.ranPath())
	if err != nil {
		return last, nil //nolint:nilerr // it helps where it can be read
	}
	if ran, err := time.Parse(ranLayout, string(text)); err == nil && ran.After(last) && !ran.After(s.now()) {
		last = ran
	}
	return last, nil
}

// writeRan writes the time at which the relay runs. It does nothing where it cannot: then the database
// alone knows that time.
func (s *Service) writeRan(now time.Time) {
	f, err := os.OpenFile(s.ranPath(), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteAt([]byte(now.UTC().Format(ranLayout)), 0)
	_ = f.Close()
}

func (s *Service) ranPath() string { return filepath.Join(s.archive.Dir(), ranFile) }
