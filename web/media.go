package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"minutebook/archive"
	"minutebook/archive/media"
	"minutebook/internal/byterange"
	"minutebook/web/access"
)

// Bounds of a recording on its way to a player. A paused player reads nothing; when it
// goes on, it asks for the rest by a range.
const (
	mediaStall = 30 * time.Second
	mediaJudge = 2 * time.Second
)

// readOnly is said to whoever may read a meeting but not play it.
const readOnly = "This meeting is shared with you to read: its recording is not."

// errNoRecording is said to whoever sees a meeting.
var errNoRecording = &failure{http.StatusNotFound, "There is no such recording of this meeting here."}

// errUnreadable is said where the store of recordings cannot be read.
var errUnreadable = &failure{http.StatusServiceUnavailable, "This recording cannot be read at present. The log says why."}

// mayPlay fails unless the visitor of a request may play a meeting's recording now: with
// [archive.ErrNotFound] for a meeting that the visitor does not see, and for the owner with
// [archive.ErrForgotten] for one that was forgotten.
func (s *server) mayPlay(ctx context.Context, v Visitor, id int64) error {
	visible, allowed, err := s.Archive.MayPlay(ctx, v.Viewer, id)
	switch {
	case err != nil:
		return err
	case !visible:
		if _, err = s.Archive.VisibleRow(ctx, v.Viewer, id); err == nil { // it is shared only now
			err = archive.ErrNotFound
		}
		return err
	case !allowed:
		return &failure{http.StatusForbidden, readOnly}
	}
	return nil
}

// mediaAddress returns the address of a meeting's recording.
func mediaAddress(id int64, kind archive.MediaKind) string {
	return "/api/v1/meetings/" + strconv.FormatInt(id, 10) + "/media/" + string(kind)
}

// media serves a meeting's recording by ranges. The visitor's right is judged when the
// answer begins and, while it is read, every few seconds again: the end of the session or
// of the right, and forgetting, end the answer.
func (s *server) media(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return archive.ErrNotFound
	}
	v := visitorOf(r.Context())
	if v.Token != nil && !v.Token.Has(access.ScopeExport) {
		return errScope
	}
	if err := s.mayPlay(r.Context(), v, id); err != nil {
		return err
	}
	file, m, err := s.openMedia(r.Context(), id, archive.MediaKind(r.PathValue("kind")))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := s.recordRead(r.Context(), access.MeetingPlayed, id); err != nil {
		return err
	}
	stream, end := s.newMediaStream(w, r, id)
	defer end()
	h := w.Header()
	h.Set("Content-Type", playableType(m.ContentType))
	h.Set("ETag", `"`+m.SHA256+`"`)
	h.Set("Cache-Control", "private, no-cache")
	http.ServeContent(stream, byterange.Canonical(r, m.Size), "", time.Time{}, file)
	return nil
}

// openMedia opens a meeting's newest recording of a kind. It fails with
// errNoRecording when there is none, and with 503 when it cannot be read.
func (s *server) openMedia(ctx context.Context, id int64, kind archive.MediaKind) (io.ReadSeekCloser, archive.Attached, error) {
	all, err := s.Archive.MediaOf(ctx, id)
	if err != nil {
		return nil, archive.Attached{}, err
	}
	i := slices.IndexFunc(all, func(m archive.Attached) bool { return m.Kind == kind })
	if i < 0 {
		return nil, archive.Attached{}, errNoRecording
	}
	file, blob, err := s.Archive.Media().Open(ctx, all[i].SHA256)
	if err == nil && blob.Size != all[i].Size {
		err = errors.Join(fmt.Errorf("it has %d bytes and not %d; verify names the damage", blob.Size, all[i].Size), file.Close())
	}
	if errors.Is(err, archive.ErrNotFound) {
		return nil, archive.Attached{}, errNoRecording
	}
	if err != nil {
		if ctx.Err() == nil {
			s.Logger.Error().Err(err).Str("sha256", all[i].SHA256).Msg("open recording")
		}
		return nil, archive.Attached{}, errUnreadable
	}
	return media.Reporting{ReadSeekCloser: file, Report: func(err error) {
		if ctx.Err() == nil {
			s.Logger.Error().Err(err).Str("sha256", all[i].SHA256).Msg("read recording")
		}
	}}, all[i], nil
}

// playableType returns a content type of audio or video as it is, and another one as
// unknown: with it a recording could become a page of this site.
func playableType(contentType string) string {
	if strings.HasPrefix(contentType, "video/") || strings.HasPrefix(contentType, "audio/") {
		return contentType
	}
	return "application/octet-stream"
}

// errFetch is said to whoever may not have a recording fetched.
var errFetch = &failure{http.StatusForbidden, "An admin has recordings fetched again."}

// fetchRecording has a meeting's recording requested again, for admins who see the
// meeting, and reports whether there is one to request.
func (s *server) fetchRecording(ctx context.Context, id int64) (bool, error) {
	if _, err := s.visibleRow(ctx, id); err != nil {
		return false, err
	}
	if s.Fetch == nil || !visitorOf(ctx).Admin {
		return false, errFetch
	}
	if err := s.recordChange(ctx, access.RecordingRequested, access.IDs{Meeting: id}); err != nil {
		return false, err
	}
	return s.Fetch(ctx, id)
}

// fetch answers the button under the reason why there is no recording.
func (s *server) fetch(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	if _, err := s.fetchRecording(r.Context(), id); err != nil {
		return err
	}
	http.Redirect(w, r, meetingAddress(id, -1, -1, ""), http.StatusSeeOther)
	return nil
}

// apiFetch is fetch for programs.
func (s *server) apiFetch(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	wanted, err := s.fetchRecording(r.Context(), id)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, struct {
		Requested bool `json:"requested"`
	}{wanted})
	return nil
}

// playEvery is how long the requests of a player count as one playing: it asks for a
// recording in many pieces, in any order.
const playEvery = time.Hour

// reads records who read which meeting, where the configuration asks for that.
type reads struct {
	audit *access.DB // nil: nothing is recorded
	now   func() time.Time

	mu     sync.Mutex
	played map[reading]time.Time // when it was last recorded
	opened map[reading]time.Time // when its page was opened, for a day
	back   map[reading]time.Time // when a form led back to the open page
}

// reading is a meeting and who reads it.
type reading struct {
	actor   access.Actor
	meeting int64
}

func newReads(audit *access.DB, now func() time.Time) *reads {
	return &reads{audit: audit, now: now, played: map[reading]time.Time{}, opened: map[reading]time.Time{}, back: map[reading]time.Time{}}
}

// How long a page counts as open, and how long after a form its browser comes back to it.
const (
	openFor    = 24 * time.Hour
	backWithin = time.Minute
)

// recordRead records that the visitor read a meeting. It fails when the record cannot
// be written: a meeting is not shown without it.
func (s *server) recordRead(ctx context.Context, kind access.EventKind, id int64) error {
	if s.reads.audit == nil || isHead(ctx) {
		return nil
	}
	event := access.Event{Actor: visitorOf(ctx).Actor(), Kind: kind, IDs: access.IDs{Meeting: id}}
	if kind == access.MeetingPlayed {
		return s.reads.recordPlaying(ctx, event)
	}
	return s.reads.audit.Record(ctx, event)
}

// openPage is openMeeting for the page of the meeting. Who sends a form of the open page, such as
// a note, is led back to it, and opens nothing again.
func (s *server) openPage(r *http.Request, id int64) (*archive.Row, error) {
	reader := reading{visitorOf(r.Context()).Actor(), id}
	if s.reads.audit == nil || isHead(r.Context()) || s.reads.comesBack(reader) {
		return s.visibleRow(r.Context(), id)
	}
	row, err := s.openMeeting(r, id)
	if err == nil {
		s.reads.remember(s.reads.opened, reader, openFor)
	}
	return row, err
}

// leadBack is seeOther after a form on a meeting, which may be one of its page.
func (s *server) leadBack(w http.ResponseWriter, r *http.Request, id int64, address string) error {
	if path, _, _ := strings.Cut(address, "#"); s.reads.audit != nil && strings.Split(path, "?")[0] == meetingAddress(id, -1, -1, "") {
		s.reads.remember(s.reads.back, reading{visitorOf(r.Context()).Actor(), id}, backWithin)
	}
	return s.seeOther(w, r, address)
}

// remember notes that it is time now for a reader, and drops times that are older than keep.
func (p *reads) remember(times map[reading]time.Time, reader reading, keep time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	maps.DeleteFunc(times, func(_ reading, at time.Time) bool { return now.Sub(at).Abs() >= keep })
	times[reader] = now
}

// comesBack reports whether a form has led somebody back to a page that was open, and counts it
// as done.
func (p *reads) comesBack(reader reading) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	back, opened := p.back[reader], p.opened[reader]
	delete(p.back, reader)
	now := p.now()
	return !back.IsZero() && !opened.IsZero() && now.Sub(back).Abs() < backWithin && now.Sub(opened).Abs() < openFor
}

// openMeeting is visibleRow for a request that shows content of the meeting, which is
// recorded.
func (s *server) openMeeting(r *http.Request, id int64) (*archive.Row, error) {
	row, err := s.visibleRow(r.Context(), id)
	if err == nil {
		err = s.recordRead(r.Context(), access.MeetingOpened, id)
	}
	return row, err
}

// openMeetingInPath opens the meeting that a request's path names.
func (s *server) openMeetingInPath(r *http.Request) (id int64, row *archive.Row, err error) {
	if id, err = recordingID(r); err == nil {
		row, err = s.openMeeting(r, id)
	}
	return id, row, err
}

// recordPlaying records the first request of a playing. A request that ends before its
// record is written counts as none: the next one is recorded.
func (p *reads) recordPlaying(ctx context.Context, e access.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, playing := p.now(), reading{e.Actor, e.IDs.Meeting}
	if last, ok := p.played[playing]; ok && now.Sub(last).Abs() < playEvery {
		return nil
	}
	if err := p.audit.Record(ctx, e); err != nil {
		return err
	}
	maps.DeleteFunc(p.played, func(_ reading, last time.Time) bool { return now.Sub(last).Abs() >= playEvery })
	p.played[playing] = now
	return nil
}
