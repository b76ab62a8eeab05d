package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"minutebook/archive"
	"minutebook/archive/export"
	"minutebook/archive/media"
	"minutebook/internal/byterange"
	"minutebook/internal/httpserver"
	"minutebook/web/access"
	"minutebook/web/clip"
)

// clipLinks are the forms in which a span of a meeting is taken away.
type clipLinks struct {
	From, To  time.Duration
	File, VTT string // addresses, "" for a form that there is not
	Reason    string // why there is no file
}

// newClip returns the links of a span, or nil without one.
func (s *server) newClip(row *archive.Row, p player, from, to time.Duration) *clipLinks {
	if to < 0 {
		return nil
	}
	c := &clipLinks{From: from, To: to}
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	span := "?" + url.Values{"t": {seconds(from)}, "end": {seconds(to)}}.Encode()
	id := strconv.FormatInt(row.RecordingID, 10)
	if row.HasTranscript {
		c.VTT = "/meetings/" + id + "/clip.vtt" + span
	}
	switch {
	case p.Video == "" && p.Audio == "":
	case s.Clips == nil:
		c.Reason = "As a file it needs ffmpeg, which is not installed where this archive runs."
	case to-from > clip.MaxLength:
		c.Reason = "As a file it is too long: " + clip.ErrSpan.Error() + "."
	default:
		c.File = "/api/v1/meetings/" + id + "/media/clip" + span
	}
	return c
}

// OpenCutter returns the cutter of clips from an archive's recordings, or nil without ffmpeg,
// and deletes the clips that a crash has left unfinished.
func OpenCutter(a *archive.Archive) (*clip.Cutter, error) {
	return clip.New(clipDir(a)), clip.DeleteUnfinished(clipDir(a))
}

func clipDir(a *archive.Archive) string { return filepath.Dir(media.PartialPath(a.Dir(), "clip")) }

// clip answers with a span of a recording as a file: ?t and end. The visitor's right is
// judged before the span is cut, after it, and while it is read.
func (s *server) clip(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return archive.ErrNotFound
	}
	ctx, v := r.Context(), visitorOf(r.Context())
	if v.Token != nil && !v.Token.Has(access.ScopeExport) {
		return errScope
	}
	if err := s.mayPlay(ctx, v, id); err != nil {
		return err
	}
	from, to := parseSpan(r)
	all, err := s.Archive.MediaOf(ctx, id)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return errNoRecording
	case to < 0:
		return &failure{http.StatusBadRequest, "A clip is asked for as ?t=1:23&end=1:40."}
	case s.Clips == nil:
		return &failure{http.StatusNotImplemented, "Clips need ffmpeg, which is not installed where this archive runs."}
	}
	if err := s.recordRead(ctx, access.MeetingDownloaded, id); err != nil {
		return err
	}
	kind := slices.MaxFunc(all, func(a, b archive.Attached) int { return cmp.Compare(a.Kind, b.Kind) }).Kind // video before audio
	file, err := s.cutClip(ctx, id, kind, from, to)
	if err != nil {
		return s.toClipFailure(r, err)
	}
	defer file.Close()
	if v, err = s.identifyAgain(r); err == nil {
		err = s.mayPlay(ctx, v, id)
	}
	if err != nil {
		return err
	}
	return s.sendClip(w, r, id, kind, file)
}

// failClip answers an error as a page where a link led here: as the page of the meeting, to
// which signing in leads back.
func (s *server) failClip(w http.ResponseWriter, r *http.Request, err error) {
	if r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		s.failJSON(w, r, err)
		return
	}
	id := r.PathValue("id")
	r = r.Clone(r.Context())
	r.URL.Path = "/meetings/" + id
	s.failPage(w, r, err)
}

// cutClip cuts a span out of a meeting's recording of a kind, wherever that lies, unless the
// meeting is forgotten meanwhile.
func (s *server) cutClip(ctx context.Context, id int64, kind archive.MediaKind, from, to time.Duration) (_ *os.File, err error) {
	ctx, done := s.Archive.UntilForget(ctx, id)
	defer done()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), archive.ErrForgottenMeanwhile) {
			err = archive.ErrNotFound
		}
	}()
	recording, m, err := s.openMedia(ctx, id, kind)
	if err != nil {
		return nil, err
	}
	if err := recording.Close(); err != nil {
		return nil, err
	}
	source := clip.Source{Open: func(ctx context.Context) (io.ReadSeekCloser, error) {
		r, _, err := s.Archive.Media().Open(ctx, m.SHA256)
		return r, err
	}}
	if media.Dir(s.Archive.Media()) != "" {
		source.Path = media.Path(s.Archive.Media(), m.SHA256)
	}
	return s.Clips.Cut(ctx, source, from, to, kind == archive.MediaVideo)
}

// sendClip answers with a clip.
func (s *server) sendClip(w http.ResponseWriter, r *http.Request, id int64, kind archive.MediaKind, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	stream, end := s.newMediaStream(w, r, id)
	defer end()
	contentType := "video/mp4"
	if kind == archive.MediaAudio {
		contentType = "audio/mp4"
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Disposition", `attachment; filename="clip-`+strconv.FormatInt(id, 10)+`.mp4"`)
	h.Set("Cache-Control", "no-store")
	http.ServeContent(stream, byterange.Canonical(r, info.Size()), "", time.Time{}, file)
	return nil
}

func (s *server) toClipFailure(r *http.Request, err error) error {
	var said *failure
	switch {
	case errors.As(err, &said), errors.Is(err, archive.ErrNotFound):
		return err
	case errors.Is(err, clip.ErrBusy):
		return &failure{http.StatusServiceUnavailable, "Other clips are being cut. Try again in a minute."}
	case errors.Is(err, clip.ErrTooLate):
		return &failure{http.StatusNotFound, "The recording ends before this clip begins."}
	case errors.Is(err, clip.ErrSpan):
		return &failure{http.StatusBadRequest, "This clip is too long to be cut."}
	case r.Context().Err() != nil:
		return r.Context().Err()
	}
	s.Logger.Error().Err(err).Msg("cut a clip")
	if errors.Is(err, clip.ErrRead) {
		return errUnreadable
	}
	return &failure{http.StatusInternalServerError, "ffmpeg could not cut this clip. The log says why."}
}

// newMediaStream begins an answer that ends when the visitor may not play a meeting any
// more.
func (s *server) newMediaStream(w http.ResponseWriter, r *http.Request, id int64) (*httpserver.Stream, func()) {
	return httpserver.NewStream(r.Context(), w, s.bounds, func(ctx context.Context) error {
		v, err := s.identifyAgain(r)
		if err != nil {
			return err
		}
		return s.mayPlay(ctx, v, id)
	})
}

// cutTranscript leaves of a meeting the lines from from to to, in the time of the clip.
func cutTranscript(m *export.Meeting, from, to time.Duration) {
	var lines []archive.Entry
	length := m.Row.Length()
	entries := slices.SortedStableFunc(slices.Values(m.Entries), func(a, b archive.Entry) int { return cmp.Compare(a.Offset, b.Offset) })
	for i, e := range entries {
		ends := to
		if length > e.Offset {
			ends = length
		}
		if i+1 < len(entries) {
			ends = entries[i+1].Offset
		}
		if e.Offset >= to || e.Offset < from && ends <= from {
			continue
		}
		e.Offset = max(0, e.Offset-from)
		lines = append(lines, e)
	}
	row := *m.Row
	row.End = row.Start.Add(to - from)
	m.Row, m.Entries = &row, lines
}
