package search

import (
	"context"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/search/query"
)

// Request asks for the meetings that answer a query.
type Request struct {
	Query     string         // in the language of docs/search.md; empty finds every meeting
	Sort      string         // [query.SortDate] or [query.SortRelevance] in place of the order that the query asks for; "" leaves that
	Within    int64          // only this meeting is found, as if id: were a part of the query; 0 means any
	Viewer    archive.Viewer // only meetings that this person sees are found and counted
	Limit     int            // meetings in the answer; 0 means 10, at most 100
	After     string         // Answer.Next of the page before; empty for the first page
	Moments   int            // moments per meeting; 0 means 3, at most 20, and 1,000 of Within
	Facets    bool           // count the values of fields
	Histogram bool           // count the meetings over time
	Trend     bool           // count by month how often the words were said, as if the query had no dates
	Whole     bool           // find only meetings that match the whole query, for programs, which do not see how it was loosened
	Location  *time.Location // of the dates in the query and the histogram; nil means UTC

	Notes      NotesFunc
	SamePerson SamePersonFunc
}

// NotesFunc calls add for each note that the viewer may read, with its meeting, its moment and
// its text; a note about the whole meeting is at -1. Unless only is 0, the notes of that meeting
// are enough. A query with the filter note: asks it, once. A nil NotesFunc has no note.
type NotesFunc func(ctx context.Context, only int64, add func(id int64, at time.Duration, text string)) error

// SamePersonFunc returns all names and addresses of the person with a name or an address,
// the value itself among them. The filters on people ask it, and facets add its names up
// under the first. A nil SamePersonFunc knows the value alone.
type SamePersonFunc func(value string) []string

// QueryError is a mistake in a query and its place.
type QueryError = query.Error

// Answer is the result of a search.
type Answer struct {
	Total      int  // meetings found
	Exact      bool // false when there are at least Total
	Meetings   []Hit
	Facets     []Facet
	Histogram  []Bar
	Trend      *Trend   // nil unless it was asked for
	DidYouMean string   // a query that would find more, or empty
	Relaxed    string   // how the query was loosened to find something, for people; empty when it was not
	Progress   Progress // how much of the archive was searched
	Next       string   // Request.After of the next page; empty on the last
}

// Hit is a meeting with its best moments.
type Hit struct {
	Row     *archive.Row
	Moments []Moment
	Why     string // for people: why it answers, where no moment shows it, and which words it lacks
}

// Moment is a place where something was said or noted. Part tells where it stands: in
// the transcript, where Entry is the index of the entry and Speaker who says
// it, or in another part, where Entry is -1 unless the part names a moment, or PartNotes.
type Moment struct {
	Offset  time.Duration // into the recording; -1 where the part names no time
	Entry   int
	Speaker string
	Text    string // the whole entry or item
	Snippet []Span // the best piece of Text, as it was said
	Part    api.Part
}

// PartNotes is the part of a moment that a note of a reader has, which the service does
// not know.
const PartNotes api.Part = "notes"

// Span is a piece of a snippet; Hit marks a term of the query.
type Span struct {
	Text string
	Hit  bool
}

// Facet counts the meetings found by the values of a field, most first.
type Facet struct {
	Field  string // a field of the query language, or "month"
	Values []FacetValue
	More   bool // values of fewer meetings, or of earlier months, are left out
}

// FacetValue is one value and how many of the found meetings have it.
type FacetValue struct {
	Value string
	Count int
}

// Bar counts the meetings from a month's beginning to the next one's.
type Bar struct {
	From  time.Time
	Count int
}

// Progress says how far the index is.
type Progress struct {
	Indexed    int    // meetings in the index that answers; in an answer to a person, those that the person sees
	Total      int    // meetings in the archive; in an answer to a person, the same as Indexed
	Rebuilding bool   // the index, or its successor, is being built; in an answer to a person, or it is not complete
	Reason     string // why it is being built, or will be; empty when it is not
	Damaged    bool   // damage was met in the index that answers, which is built anew; not in an answer to a person
	Position   archive.Position
}

// hideCounts returns the progress without the number of meetings that the person does
// not see.
func (p Progress) hideCounts(visible int) Progress {
	return Progress{Indexed: visible, Total: visible, Rebuilding: p.Rebuilding || p.Indexed < p.Total, Position: p.Position}
}
