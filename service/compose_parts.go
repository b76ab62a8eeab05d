package service

import (
	"encoding/json"
	"hash/maphash"
	"sync"

	"minutebook/api"
)

// mendPart returns a content part as a strict client can read it: verbatim when
// it keeps to section 2.2, else with what it lacks filled in, and null when
// there is none.
func (c *strictCache) mendPart(p api.Part, raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("null")
	}
	switch p {
	case api.PartTranscript:
		return mendAs(c, p, raw, strictEntries, func(entries []api.TranscriptEntry) {
			for i := range entries {
				entries[i].Timestamp = mendOffset(entries[i].Timestamp)
			}
		})
	case api.PartSummary:
		return mendAs(c, p, raw, strictSummary, func(api.Summary) {})
	case api.PartActionItems:
		return mendAs(c, p, raw, strictActionItems, func(items []api.ActionItem) {
			for i := range items {
				items[i].RecordingTimestamp = mendOffset(items[i].RecordingTimestamp)
			}
		})
	case api.PartHighlights:
		return mendAs(c, p, raw, strictHighlights, func(highlights []api.Highlight) {
			for i, h := range highlights {
				if h.Text.Or("") == "" || h.Text == h.Summary {
					highlights[i].Text = api.Opt[string]{}
				}
			}
		})
	case api.PartCRM:
		return mendAs(c, p, raw, strictCRM, func(api.CRMMatches) {})
	}
	return raw
}

// mendAs returns raw when it is strict, else what the lenient type and mend make
// of it. What cannot be read even so is no content: null.
func mendAs[T any](c *strictCache, p api.Part, raw json.RawMessage, strict func(json.RawMessage) bool, mend func(T)) json.RawMessage {
	if c.check(p, raw, strict) {
		return raw
	}
	var v api.Opt[T]
	if v.UnmarshalJSON(raw) != nil {
		return json.RawMessage("null")
	}
	if value, ok := v.Get(); ok {
		mend(value)
	}
	mended, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return mended
}

// mendOffset writes an offset as HH:MM:SS; what is none is the beginning.
func mendOffset(text string) string {
	if strictOffset(text) {
		return text
	}
	d, _ := api.ParseOffset(text) // 0 on failure
	return api.FormatOffset(d)
}

// strictOffset tells whether a text is HH:MM:SS with as many hours as it takes.
func strictOffset(text string) bool {
	n := len(text)
	if n < 8 || text[n-3] != ':' || text[n-6] != ':' {
		return false
	}
	for i := range n {
		if i != n-3 && i != n-6 && (text[i] < '0' || text[i] > '9') {
			return false
		}
	}
	return true
}

func strictSummary(raw json.RawMessage) bool {
	var v struct {
		Template *string `json:"template_name"`
		Markdown *string `json:"markdown_formatted"`
	}
	return json.Unmarshal(raw, &v) == nil
}

func strictActionItems(raw json.RawMessage) bool {
	var items []struct {
		Description *string `json:"description"`
		Generated   *bool   `json:"user_generated"`
		Completed   *bool   `json:"completed"`
		Timestamp   *string `json:"recording_timestamp"`
		URL         *string `json:"recording_playback_url"`
		Assignee    *struct {
			Name, Email, Team *string
		} `json:"assignee"`
	}
	if json.Unmarshal(raw, &items) != nil {
		return false
	}
	for _, i := range items {
		if i.Description == nil || i.Generated == nil || i.Completed == nil || i.URL == nil ||
			i.Timestamp == nil || !strictOffset(*i.Timestamp) {
			return false
		}
	}
	return true
}

func strictHighlights(raw json.RawMessage) bool {
	var highlights []struct {
		Type    *string  `json:"type"`
		Summary *string  `json:"summary"`
		Start   *float64 `json:"start_time"`
		End     *float64 `json:"end_time"`
		Text    *string  `json:"text"`
	}
	if json.Unmarshal(raw, &highlights) != nil {
		return false
	}
	for _, h := range highlights {
		if h.Type == nil || h.Start == nil || h.End == nil {
			return false
		}
		if h.Text != nil && (*h.Text == "" || h.Summary != nil && *h.Text == *h.Summary) {
			return false // the text is there only when it differs
		}
	}
	return true
}

func strictCRM(raw json.RawMessage) bool {
	var v map[string]json.RawMessage
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	for _, key := range []string{"contacts", "companies", "deals"} {
		var list []map[string]any
		if member, ok := v[key]; ok && json.Unmarshal(member, &list) != nil {
			return false
		}
	}
	reason, ok := v["error"]
	return !ok || isKind(reason, '"')
}

// mendInvitees puts the invitees right and tells whether one is external.
func mendInvitees(m map[string]json.RawMessage) (external bool) {
	var invitees []api.Invitee
	if raw := m["calendar_invitees"]; !isKind(raw, '[') || json.Unmarshal(raw, &invitees) != nil {
		m["calendar_invitees"] = json.RawMessage("[]")
		return false
	}
	strict := true
	var flags []struct {
		External *bool `json:"is_external"`
	}
	if json.Unmarshal(m["calendar_invitees"], &flags) != nil {
		strict = false
	}
	for _, f := range flags {
		strict = strict && f.External != nil
	}
	for i := range invitees {
		external = external || invitees[i].IsExternal
	}
	if !strict {
		m["calendar_invitees"], _ = json.Marshal(invitees) // plain values always can be
	}
	return external
}

// mendRecorder gives recorded_by its strings.
func mendRecorder(m map[string]json.RawMessage) {
	var strict struct {
		Name   *string `json:"name"`
		Email  *string `json:"email"`
		Domain *string `json:"email_domain"`
		Team   *string `json:"team"`
	}
	raw := m["recorded_by"]
	if isKind(raw, '{') && json.Unmarshal(raw, &strict) == nil && strict.Name != nil && strict.Email != nil && strict.Domain != nil {
		return
	}
	var r api.Recorder
	if isKind(raw, '{') {
		_ = json.Unmarshal(raw, &r) // what cannot be read stays empty
	}
	if r.EmailDomain == "" {
		r.EmailDomain = domainOf(r.Email)
	}
	if r.Team.Absent() {
		r.Team = api.NullOf[string]()
	}
	m["recorded_by"], _ = json.Marshal(r) // plain values always can be
}

// strictCache remembers, by part and hash, contents that were found strict, so
// that a transcript is looked through once and not for every page.
type strictCache struct {
	seed maphash.Seed

	mu   sync.Mutex // guards seen
	seen map[uint64]struct{}
}

func newStrictCache() *strictCache {
	return &strictCache{seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}
}

// maxStrict bounds the memory of a strictCache: 8 bytes and the map's overhead
// for each.
const maxStrict = 200_000

func (c *strictCache) check(p api.Part, raw json.RawMessage, strict func(json.RawMessage) bool) bool {
	sum := maphash.Bytes(c.seed, raw) ^ maphash.String(c.seed, string(p))
	c.mu.Lock()
	_, ok := c.seen[sum]
	c.mu.Unlock()
	if ok || !strict(raw) {
		return ok
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) >= maxStrict {
		clear(c.seen)
	}
	c.seen[sum] = struct{}{}
	return true
}
