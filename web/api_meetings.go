package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/web/access"
)

// listedJSON is a meeting in the JSON list.
type listedJSON struct {
	RecordingID     int64         `json:"recording_id"`
	Title           string        `json:"title"`
	MeetingType     string        `json:"meeting_type,omitempty"`
	Start           string        `json:"recording_start_time"` // "" when the service named none
	DurationSeconds int64         `json:"duration_seconds"`
	RecordedBy      *api.Recorder `json:"recorded_by,omitempty"`
	HasTranscript   bool          `json:"has_transcript"`
	HasSummary      bool          `json:"has_summary"`
	HasRecording    bool          `json:"has_recording"`
	Gone            bool          `json:"gone,omitempty"`
}

// meetingsJSON is a page of the list of meetings.
type meetingsJSON struct {
	Meetings []listedJSON `json:"meetings"`
	Next     string       `json:"next,omitempty"`
}

// apiMeetings lists meetings newest first: ?type, team, recorded_by, person, limit,
// cursor.
func (s *server) apiMeetings(w http.ResponseWriter, r *http.Request) error {
	list, err := s.listQuery(r)
	if err != nil {
		return err
	}
	limit, err := parseNumber(r.URL.Query(), "limit", listSize, 1, 500)
	if err != nil {
		return err
	}
	list.Limit = limit + 1
	rows, err := s.Archive.List(r.Context(), list)
	if err != nil {
		return err
	}
	out := meetingsJSON{Meetings: []listedJSON{}}
	if len(rows) > limit {
		rows = rows[:limit]
		out.Next = rows[limit-1].Key().String()
	}
	for _, row := range rows {
		out.Meetings = append(out.Meetings, s.listedJSON(row))
	}
	return answerJSON(w, r, out)
}

func (s *server) listedJSON(row *archive.Row) listedJSON {
	m := s.newListed(row)
	return listedJSON{RecordingID: row.RecordingID, Title: meetingTitle(row), MeetingType: row.MeetingType,
		Start: api.TimeOf(row.Start).String(), DurationSeconds: int64(m.Length / time.Second), RecordedBy: &row.RecordedBy,
		HasTranscript: row.HasTranscript, HasSummary: row.HasSummary,
		HasRecording: row.HasVideo || row.HasAudio, Gone: row.Gone}
}

// apiMeeting answers with the Meeting in the service's shape with all parts.
func (s *server) apiMeeting(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	raw, err := s.Archive.MeetingJSONFor(r.Context(), viewerOf(r.Context()), id)
	if err == nil {
		err = s.recordRead(r.Context(), access.MeetingOpened, id)
	}
	if err != nil {
		return err
	}
	writeTagged(w, r, "application/json; charset=utf-8", raw)
	return nil
}

// entryJSON is an entry of a transcript.
type entryJSON struct {
	Index         int     `json:"index"`
	OffsetSeconds float64 `json:"offset_seconds"`
	Speaker       string  `json:"speaker"`
	Email         string  `json:"email,omitempty"`
	Text          string  `json:"text"`
}

// transcriptJSON is a span of a transcript.
type transcriptJSON struct {
	Entries []entryJSON `json:"entries"`
	Next    string      `json:"next,omitempty"`
}

// mostSeconds is longer than any recording.
const mostSeconds = 1_000_000

// apiTranscript answers with a span of a transcript: ?from and to, in seconds, limit,
// cursor.
func (s *server) apiTranscript(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	var n [4]int
	for i, p := range []struct {
		key                   string
		def, minimum, maximum int
	}{{"from", 0, 0, mostSeconds}, {"to", mostSeconds, 0, mostSeconds}, {"limit", 500, 1, 5000}, {"cursor", 0, 0, 1 << 20}} {
		if n[i], err = parseNumber(q, p.key, p.def, p.minimum, p.maximum); err != nil {
			return err
		}
	}
	if _, err := s.openMeeting(r, id); err != nil {
		return err
	}
	entries, err := s.Archive.Entries(r.Context(), id, n[3], -1)
	if err != nil {
		return err
	}
	from, to := time.Duration(n[0])*time.Second, time.Duration(n[1])*time.Second
	out := transcriptJSON{Entries: []entryJSON{}}
	for _, e := range entries {
		if e.Offset < from || e.Offset > to {
			continue
		}
		if len(out.Entries) == n[2] {
			out.Next = strconv.Itoa(e.Index)
			break
		}
		out.Entries = append(out.Entries, entryJSON{e.Index, e.Offset.Seconds(), e.Speaker, e.Email, e.Text})
	}
	return answerJSON(w, r, out)
}

// mediaJSON has the addresses of a meeting's recordings.
type mediaJSON struct {
	MayPlay  bool   `json:"may_play"`
	Video    string `json:"video,omitempty"`
	Audio    string `json:"audio,omitempty"`
	Captions string `json:"captions,omitempty"`
	State    string `json:"state,omitempty"` // why there is neither video nor audio
}

// apiMedia answers with the addresses of a meeting's recordings.
func (s *server) apiMedia(w http.ResponseWriter, r *http.Request) error {
	_, row, err := s.findMeetingInPath(r)
	if err != nil {
		return err
	}
	p, err := s.newPlayer(r, row, -1, -1)
	if err != nil {
		return err
	}
	return answerJSON(w, r, mediaJSON{p.State != readOnly, s.base.path(p.Video), s.base.path(p.Audio), s.base.path(p.Captions), p.State})
}

// revisionJSON is a version of a part, without its value.
type revisionJSON struct {
	ID      int64      `json:"id"`
	Part    api.Part   `json:"part"`
	Size    int        `json:"size"`
	Empty   bool       `json:"empty"`
	Current bool       `json:"current"`
	First   time.Time  `json:"first_seen"`
	Last    time.Time  `json:"last_seen"`
	Seen    []seenJSON `json:"seen"`
}

type seenJSON struct {
	Account string         `json:"account,omitempty"`
	Source  archive.Source `json:"source"`
	First   time.Time      `json:"first"`
	Last    time.Time      `json:"last"`
}

// apiRevisions lists the versions of a meeting's parts.
func (s *server) apiRevisions(w http.ResponseWriter, r *http.Request) error {
	id, _, err := s.openMeetingInPath(r)
	if err != nil {
		return err
	}
	all, err := s.visibleRevisions(r.Context(), id)
	if err != nil {
		return err
	}
	out := []revisionJSON{}
	for _, v := range all {
		j := revisionJSON{ID: v.ID, Part: v.Part, Size: v.Size, Empty: v.Empty, Current: v.Current, First: v.First, Last: v.Last, Seen: []seenJSON{}}
		for _, seen := range v.Seen {
			j.Seen = append(j.Seen, seenJSON(seen))
		}
		out = append(out, j)
	}
	return answerJSON(w, r, map[string]any{"revisions": out})
}

// apiRevision answers with a version of a part, verbatim.
func (s *server) apiRevision(w http.ResponseWriter, r *http.Request) error {
	id, _, err := s.openMeetingInPath(r)
	if err != nil {
		return err
	}
	number, err := strconv.ParseInt(r.PathValue("revision"), 10, 64)
	if err != nil {
		return errNoRevision
	}
	part, raw, err := s.Archive.RevisionJSON(r.Context(), id, number)
	switch {
	case errors.Is(err, archive.ErrNotFound), err == nil && part == api.PartCRM && !viewerOf(r.Context()).All:
		return errNoRevision
	case err != nil:
		return err
	}
	return answerJSON(w, r, struct {
		Part  api.Part        `json:"part"`
		Value json.RawMessage `json:"value"`
	}{part, raw})
}

var errNoRevision = &failure{http.StatusNotFound, "There is no such version of this meeting."}
