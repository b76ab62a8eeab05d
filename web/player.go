package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"minutebook/archive"
)

// player is the recording on the page, or the reason for its absence.
type player struct {
	Video, Audio string // addresses, with the moment to begin at
	State        string // the reason when there is neither
	Captions     string // the address of the transcript as captions
	Spoken       string // its language
}

// newPlayer finds the recording of a meeting. A media fragment in the address makes
// it begin at the moment without scripts.
func (s *server) newPlayer(r *http.Request, row *archive.Row, at time.Duration) (player, error) {
	var p player
	_, mayPlay, err := s.Archive.MayPlay(r.Context(), viewerOf(r.Context()), row.RecordingID)
	if err != nil {
		return p, err
	}
	if !mayPlay {
		p.State = readOnly
		return p, nil
	}
	all, err := s.Archive.MediaOf(r.Context(), row.RecordingID)
	if err != nil {
		return p, err
	}
	from := ""
	if at > 0 {
		from = "#t=" + strconv.FormatFloat(at.Seconds(), 'f', -1, 64)
	}
	for _, m := range all {
		address := mediaAddress(row.RecordingID, m.Kind) + from
		switch m.Kind {
		case archive.MediaVideo:
			p.Video = address
		case archive.MediaAudio:
			p.Audio = address
		}
	}
	if row.HasTranscript {
		p.Captions = "/meetings/" + strconv.FormatInt(row.RecordingID, 10) + "/transcript.vtt"
		if row.Language != "unknown" {
			p.Spoken = row.Language
		}
	}
	if p.Video == "" && p.Audio == "" {
		p.State, err = s.mediaState(r, row)
	}
	return p, err
}

// mediaState explains why there is no recording yet.
func (s *server) mediaState(r *http.Request, row *archive.Row) (string, error) {
	d, err := s.Archive.DownloadOf(r.Context(), row.RecordingID)
	if err != nil && !errors.Is(err, archive.ErrNotFound) {
		return "", err
	}
	switch {
	case err == nil && d.State == archive.DownloadNone:
		return "There is no recording of this meeting.", nil
	case err == nil && d.State == archive.DownloadRefused:
		return "No account here may have the recording of this meeting.", nil
	case err == nil && d.State == archive.DownloadDeleted:
		return "A retention rule has deleted the recording of this meeting.", nil
	case row.Gone:
		return "The meeting was removed from the service before its recording was fetched.", nil
	case err == nil && d.State == archive.DownloadRequested:
		return "The service is preparing the recording. It will play here as soon as it is fetched.", nil
	case err == nil && d.State == archive.DownloadReady:
		return "The recording is being fetched" + formatFetched(d) + ". It will play here as soon as it is complete.", nil
	case err == nil && d.Failures > 0 && visitorOf(r.Context()).Admin:
		return "The recording could not be fetched yet, and will be tried again: " + d.Reason, nil
	}
	return "The recording is not here yet. It will play here as soon as it is fetched.", nil
}

// formatFetched writes the fetched share of a recording, if its size is known.
func formatFetched(d archive.Download) string {
	if d.Size <= 0 {
		return ""
	}
	return ", " + strconv.FormatInt(min(99, d.Fetched*100/d.Size), 10) + "% of " + formatBytes(d.Size)
}
