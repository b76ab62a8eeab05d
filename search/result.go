package search

import "minutebook/api"

// Result is an answer in the form of `search --json`, in which the page's
// interface answers too. Total counts meetings.
type Result struct {
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
	Why         string        `json:"why,omitempty"` // why it answers, where no moment shows it, and which words it lacks
}

// FoundMoment is where it was said: seconds from the recording's start, or null
// where the part, such as the summary, names no time.
type FoundMoment struct {
	OffsetSeconds *int        `json:"offset_seconds"`
	Speaker       string      `json:"speaker"`
	Text          string      `json:"text"`
	Part          string      `json:"part"`
	Snippet       []FoundSpan `json:"snippet,omitempty"`
}

// FoundSpan is a piece of a snippet; Hit marks a term of the query.
type FoundSpan struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit,omitempty"`
}

// Result is the answer in the form that is printed and sent.
func (a *Answer) Result() *Result {
	r := &Result{
		Total: a.Total, Exact: a.Exact, Relaxed: a.Relaxed, DidYouMean: a.DidYouMean,
		Indexed: a.Progress.Indexed, Known: a.Progress.Total, Next: a.Next,
		Meetings: []FoundMeeting{},
	}
	for _, hit := range a.Meetings {
		m := FoundMeeting{RecordingID: hit.Row.RecordingID, Title: hit.Row.Title, Start: api.TimeOf(hit.Row.Start).String(), Moments: []FoundMoment{}, Why: hit.Why}
		for _, moment := range hit.Moments {
			f := FoundMoment{Speaker: moment.Speaker, Text: moment.Text, Part: string(moment.Part)}
			if at := int(moment.Offset.Seconds()); moment.Offset >= 0 {
				f.OffsetSeconds = &at
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

// PartName says for people where in a meeting a moment stands; the transcript,
// where most do, needs no name.
func PartName(p api.Part) string {
	switch p {
	case api.PartMeeting:
		return "Title"
	case api.PartSummary:
		return "Summary"
	case api.PartActionItems:
		return "Action item"
	case api.PartHighlights:
		return "Highlight"
	case api.PartCRM:
		return "CRM"
	case PartNotes:
		return "Note"
	}
	return ""
}
