package web

import (
	"net/http"

	"minutebook/api"
	"minutebook/search"
)

// answerJSON is the form of `search --json`, which the page's interface answers
// with too. Total counts meetings.
type answerJSON struct {
	Total      int            `json:"total"`
	Exact      bool           `json:"exact"` // false: total is a lower bound
	Relaxed    string         `json:"relaxed,omitempty"`
	DidYouMean string         `json:"did_you_mean,omitempty"`
	Indexed    int            `json:"indexed"`
	Known      int            `json:"known"` // meetings in the archive
	Next       string         `json:"next,omitempty"`
	Meetings   []foundMeeting `json:"meetings"`
}

type foundMeeting struct {
	RecordingID int64         `json:"recording_id"`
	Title       string        `json:"title"`
	Start       string        `json:"recording_start_time"`
	Moments     []foundMoment `json:"moments"`
}

type foundMoment struct {
	OffsetSeconds int         `json:"offset_seconds"`
	Speaker       string      `json:"speaker"`
	Text          string      `json:"text"`
	Part          string      `json:"part"`
	Snippet       []foundSpan `json:"snippet,omitempty"`
}

type foundSpan struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit,omitempty"`
}

// apiSearch answers a query: ?q, limit, moments, after.
func (s *server) apiSearch(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := numberAsked(q, "limit", 10, 1, 100)
	if err != nil {
		return err
	}
	moments, err := numberAsked(q, "moments", 3, 1, 20)
	if err != nil {
		return err
	}
	answer, err := s.Index.Search(r.Context(), search.Request{Query: q.Get("q"), Viewer: viewer,
		Limit: limit, Moments: moments, After: q.Get("after"), Location: s.Location})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, newAnswerJSON(answer))
	return nil
}

func newAnswerJSON(a *search.Answer) *answerJSON {
	out := &answerJSON{Total: a.Total, Exact: a.Exact, Relaxed: a.Relaxed, DidYouMean: a.DidYouMean,
		Indexed: a.Progress.Indexed, Known: a.Progress.Total, Next: a.Next, Meetings: []foundMeeting{}}
	for _, h := range a.Meetings {
		m := foundMeeting{RecordingID: h.Row.RecordingID, Title: h.Row.Title,
			Start: api.TimeOf(h.Row.Start).String(), Moments: []foundMoment{}}
		for _, v := range h.Moments {
			f := foundMoment{OffsetSeconds: int(v.Offset.Seconds()), Speaker: v.Speaker,
				Text: v.Text, Part: string(v.Part)}
			for _, span := range v.Snippet {
				f.Snippet = append(f.Snippet, foundSpan(span))
			}
			m.Moments = append(m.Moments, f)
		}
		out.Meetings = append(out.Meetings, m)
	}
	return out
}
