package strict

import (
	"encoding/json"
	"slices"
	"strings"

	"minutebook/api"
)

// Part returns a content part: verbatim when it keeps to section 2.2, else with the
// members that it lacks and without the elements that say nothing, and null when there
// is none.
func (c *Cache) Part(p api.Part, raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("null")
	}
	raw = inUTF8(raw)
	switch p {
	case api.PartTranscript:
		return normalize(c, p, raw, isTranscript, func(entries *[]api.TranscriptEntry) bool {
			*entries = slices.DeleteFunc(*entries, func(e api.TranscriptEntry) bool { return strings.TrimSpace(e.Text) == "" })
			for i, e := range *entries {
				(*entries)[i].Timestamp = normalizeOffset(e.Timestamp)
			}
			return len(*entries) > 0
		})
	case api.PartSummary:
		return normalize(c, p, raw, isSummary, func(*api.Summary) bool { return true })
	case api.PartActionItems:
		return normalize(c, p, raw, isActionItems, func(items *[]api.ActionItem) bool {
			*items = api.DropBlank(*items)
			for i, item := range *items {
				(*items)[i].RecordingTimestamp = normalizeOffset(item.RecordingTimestamp)
			}
			return len(*items) > 0
		})
	case api.PartHighlights:
		return normalize(c, p, raw, isHighlights, func(highlights *[]api.Highlight) bool {
			*highlights = api.DropBlank(*highlights)
			for i, h := range *highlights {
				if h.Text.Or("") == "" || h.Text == h.Summary {
					(*highlights)[i].Text = api.Opt[string]{}
				}
			}
			return len(*highlights) > 0
		})
	case api.PartCRM:
		return normalize(c, p, raw, isCRM, func(matches *api.CRMMatches) bool {
			if matches.Error.Null() {
				matches.Error = api.Opt[string]{}
			}
			return true
		})
	}
	return raw
}

// normalize returns raw when it is strict, else its value as type T writes it after
// repair, which reports whether there is content. Content that says nothing, or that type T cannot
// read, becomes null.
func normalize[T any](c *Cache, p api.Part, raw json.RawMessage, strict func(json.RawMessage) bool, repair func(*T) bool) json.RawMessage {
	if c.isStrict(p, raw, strict) {
		return raw
	}
	var v api.Opt[T]
	if v.UnmarshalJSON(raw) != nil {
		return json.RawMessage("null")
	}
	if value, ok := v.Get(); ok {
		if !repair(&value) {
			return json.RawMessage("null")
		}
		v = api.Some(value)
	}
	repaired, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return repaired
}

// normalizeOffset writes an offset as HH:MM:SS; any other text becomes 00:00:00.
func normalizeOffset(text string) string {
	if isOffset(text) {
		return text
	}
	d, _ := api.ParseOffset(text) // 0 on failure
	return api.FormatOffset(d)
}

// isOffset reports whether a text is HH:MM:SS with as many hours as it takes.
func isOffset(text string) bool {
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

func isSummary(raw json.RawMessage) bool {
	var v struct {
		Template *string `json:"template_name"`
		Markdown *string `json:"markdown_formatted"`
	}
	return json.Unmarshal(raw, &v) == nil
}

func isActionItems(raw json.RawMessage) bool {
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
			i.Timestamp == nil || !isOffset(*i.Timestamp) {
			return false
		}
	}
	return saysAll[api.ActionItem](raw)
}

// saysAll reports whether all elements of a list say something.
func saysAll[T interface{ IsBlank() bool }](raw json.RawMessage) bool {
	var list []T
	return json.Unmarshal(raw, &list) == nil && !slices.ContainsFunc(list, T.IsBlank)
}

func isHighlights(raw json.RawMessage) bool {
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
	return saysAll[api.Highlight](raw)
}

func isCRM(raw json.RawMessage) bool {
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
	return !ok || beginsWith(reason, '"')
}
