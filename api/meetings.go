package api

import (
	"context"
	"encoding/json"
	"net/url"
	"time"
)

// MeetingQuery is a query of the meetings list (specification 4.1). The zero query
// lists all meetings without content, except meetings recorded by users outside the
// organisation: these are listed only with RecordedBy or Teams.
type MeetingQuery struct {
	Domains       []string  // companies of invitees, exact
	DomainsType   string    // DomainsAll, DomainsOnlyInternal, DomainsExternal or ""
	CreatedAfter  time.Time // zero: no bound; sent in whole seconds, never later
	CreatedBefore time.Time // zero: no bound; sent in whole seconds, never earlier
	MeetingType   string    // an unknown name gives an empty list
	RecordedBy    []string  // addresses
	Teams         []string  // names

	IncludeTranscript, IncludeSummary bool // heavy, and not with OAuth
	IncludeActionItems                bool
	IncludeHighlights                 bool
	IncludeCRM                        bool
}

// Heavy reports whether the query counts as a heavy call.
func (q MeetingQuery) Heavy() bool { return q.IncludeTranscript || q.IncludeSummary }

// values encodes the query. Only set flags are sent.
func (q MeetingQuery) values() url.Values {
	v := url.Values{}
	set := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	flag := func(key string, enabled bool) {
		if enabled {
			v.Set(key, "true")
		}
	}
	list := func(key string, values []string) {
		for _, value := range values {
			v.Add(key+"[]", value)
		}
	}
	list("calendar_invitees_domains", q.Domains)
	set("calendar_invitees_domains_type", q.DomainsType)
	if !q.CreatedAfter.IsZero() {
		v.Set("created_after", q.CreatedAfter.UTC().Format(timeLayout))
	}
	if !q.CreatedBefore.IsZero() {
		v.Set("created_before", q.CreatedBefore.Add(time.Second-1).UTC().Format(timeLayout))
	}
	set("meeting_type", q.MeetingType)
	list("recorded_by", q.RecordedBy)
	list("teams", q.Teams)
	flag("include_transcript", q.IncludeTranscript)
	flag("include_summary", q.IncludeSummary)
	flag("include_action_items", q.IncludeActionItems)
	flag("include_highlights", q.IncludeHighlights)
	flag("include_crm_matches", q.IncludeCRM)
	return v
}

// MeetingsPage reads one page of the meetings list, the items verbatim; cursor
// is the last page's NextCursor, or empty for the first, and belongs to the same
// query. See IsCursorRefused.
func (c *Client) MeetingsPage(ctx context.Context, q MeetingQuery, cursor string) (*Page[json.RawMessage], error) {
	cl := get("/meetings", q.values())
	if q.Heavy() {
		if !c.InlineContent() {
			return nil, ErrInlineContent
		}
		cl.asHeavy()
	}
	return c.readList(ctx, cl, cursor)
}
