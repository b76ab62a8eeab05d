package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"minutebook/archive"
)

// player is the recording as the page plays it, or why it cannot.
type player struct {
	Video, Audio string // addresses of our own, at the moment asked for
	State        string // said in place of a recording
	Captions     string // the address of the transcript as captions
	Spoken       string // its language
}

// player finds the recording of a meeting. Without scripts the address itself
// says where to begin, as a media fragment.
func (s *server) player(r *http.Request, row *archive.Row, at time.Duration) (player, error) {
	var p player
	all, err := s.Archive.MediaOf(r.Context(), row.RecordingID)
	if err != nil {
		return p, err
	}
	from := ""
	if at > 0 {
		from = "#t=" + strconv.FormatFloat(at.Seconds(), 'f', -1, 64)
	}
	for _, m := range all {
		address := s.signer.address(m.SHA256, m.ContentType, s.Now()) + from
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

// mediaState says why there is no recording to play, and what is done about it.
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
		return "The meeting went from the service before its recording was kept.", nil
	case err == nil && d.State == archive.DownloadRequested:
		return "The service is preparing the recording. When it is ready, it is fetched and plays here.", nil
	case err == nil && d.State == archive.DownloadReady:
		return "The recording is being fetched" + fetched(d) + ". When it is whole, it plays here.", nil
	case err == nil && d.Failures > 0:
		return "The recording could not be fetched yet, and will be tried again: " + d.Reason, nil
	}
	return "The recording is not here yet. When it is, it plays here.", nil
}

// fetched says how much of a recording is on disk, when that is known.
func fetched(d archive.Download) string {
	if d.Size <= 0 {
		return ""
	}
	return ", " + strconv.FormatInt(min(99, d.Fetched*100/d.Size), 10) + "% of " + bytesOf(d.Size)
}
