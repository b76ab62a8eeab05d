package syncer

import (
	"context"

	"minutebook/archive"
)

// Refetch has a meeting's content read again and its recording fetched again,
// because the archive's copy was damaged. It returns the account that will read
// them, "" when no configured account is shown the meeting any more.
func (s *Syncer) Refetch(ctx context.Context, id int64) (string, error) {
	watches, err := s.archive.OpenSightings(ctx, id)
	if err != nil {
		return "", err
	}
	for _, w := range watches {
		if s.account(w.Account) == nil {
			continue
		}
		now := s.now()
		task := contentTask{RecordingID: id, Account: w.Account, List: w.Query, Transcript: true, Summary: true, Created: now, First: now, Due: now}
		if _, err := s.apply(ctx, []archive.Observation{}, []contentTask{task}, nil); err != nil {
			return "", err
		}
		if s.opt.DownloadMedia {
			if _, err := s.archive.WantDownloads(ctx, id); err != nil {
				return "", err
			}
			s.downloads.wakeForChange()
		}
		return w.Account, nil
	}
	return "", nil
}

// FetchRecording has a meeting's recording requested again now, and reports whether
// there is one to request: see [archive.Archive.RetryDownload].
func (s *Syncer) FetchRecording(ctx context.Context, id int64) (bool, error) {
	wanted, err := s.archive.RetryDownload(ctx, id)
	if wanted {
		s.downloads.wakeForChange()
	}
	return wanted, err
}
