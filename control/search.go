package control

import (
	"context"
	"errors"

	"minutebook/archive"
	"minutebook/search"
)

// SearchRequest asks for the meetings that a query finds.
type SearchRequest struct {
	Query   string `json:"query"`
	Limit   int    `json:"limit"`   // meetings; 0 means 10
	Moments int    `json:"moments"` // per meeting; 0 means 3
	After   string `json:"after"`   // where the page before ended: its Next
}

// SearchResult is the form of `search --json`. Total counts meetings.
type SearchResult struct {
	Total      int            `json:"total"`
	Exact      bool           `json:"exact"` // false: total is a lower bound
	Relaxed    string         `json:"relaxed,omitempty"`
	DidYouMean string         `json:"did_you_mean,omitempty"`
	Indexed    int            `json:"indexed"`
	Known      int            `json:"known"` // meetings in the archive; more than Indexed while indexing
	Next       string         `json:"next,omitempty"`
	Meetings   []FoundMeeting `json:"meetings"`
}

// FoundMeeting is a meeting that answers, with its best moments first.
type FoundMeeting struct {
	RecordingID int64         `json:"recording_id"`
	Title       string        `json:"title"`
	Start       string        `json:"recording_start_time"`
	Moments     []FoundMoment `json:"moments"`
}

// FoundMoment is where it was said: seconds from the recording's start.
type FoundMoment struct {
	OffsetSeconds int         `json:"offset_seconds"`
	Speaker       string      `json:"speaker"`
	Text          string      `json:"text"`
	Part          string      `json:"part"`
	Snippet       []FoundSpan `json:"snippet,omitempty"`
}

// FoundSpan is a piece of a snippet; Hit marks what the query found.
type FoundSpan struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit,omitempty"`
}

func (h House) search(ctx context.Context, q SearchRequest, _ Emit) (*SearchResult, error) {
	index, err := h.Index(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := index.Search(ctx, search.Request{
		Query: q.Query, Limit: q.Limit, Moments: q.Moments, After: q.After,
		Viewer: archive.Viewer{All: true},
	})
	var bad *search.QueryError
	if errors.As(err, &bad) {
		return nil, &Error{Kind: KindQuery, Message: err.Error(), ExitCode: 2}
	}
	if err != nil {
		return nil, err
	}
	return searchResult(answer), nil
}

func searchResult(a *search.Answer) *SearchResult {
	r := &SearchResult{
		Total: a.Total, Exact: a.Exact, Relaxed: a.Relaxed, DidYouMean: a.DidYouMean,
		Indexed: a.Progress.Indexed, Known: a.Progress.Total, Next: a.Next,
		Meetings: []FoundMeeting{},
	}
	for _, hit := range a.Meetings {
		m := FoundMeeting{
			RecordingID: hit.Row.RecordingID, Title: hit.Row.Title,
			Start: hit.Row.Start.UTC().Format("2006-01-02T15:04:05Z"), Moments: []FoundMoment{},
		}
		for _, moment := range hit.Moments {
			f := FoundMoment{
				OffsetSeconds: int(moment.Offset.Seconds()), Speaker: moment.Speaker,
				Text: moment.Text, Part: string(moment.Part),
			}
			for _, s := range moment.Snippet {
				f.Snippet = append(f.Snippet, FoundSpan(s))
			}
			m.Moments = append(m.Moments, f)
		}
		r.Meetings = append(r.Meetings, m)
	}
	return r
}
