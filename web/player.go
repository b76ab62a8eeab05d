package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
)

// player is the recording as the page plays it, or why it cannot.
type player struct {
	Video, Audio string // addresses of our own, at the moment asked for
	State        string // said in place of a recording
	Note         string
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
	if p.Video == "" && p.Audio == "" {
		p.State, err = s.mediaState(r, row)
	}
	return p, err
}

// mediaState says why there is no recording to play.
func (s *server) mediaState(r *http.Request, row *archive.Row) (string, error) {
	failures, err := s.Archive.Failures(r.Context(), true)
	if err != nil {
		return "", err
	}
	for _, f := range failures {
		if f.RecordingID == row.RecordingID && strings.Contains(f.Class, "download") {
			return "The recording could not be fetched yet: " + f.Reason, nil
		}
	}
	if row.Gone {
		return "The recording was not kept before the meeting went from the service.", nil
	}
	return "The recording is not here yet. When it is, it plays here.", nil
}
