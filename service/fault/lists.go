package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hasListFaults reports whether some fault changes the form of lists.
func (p *Plan) hasListFaults() bool {
	return slices.ContainsFunc([]Kind{Absent, Share, Team, Twice, Limit, End, Keys},
		func(kind Kind) bool { return p.rates[kind] > 0 })
}

// reshape gives a page the forms that real services were seen to send. Any other
// body stays as it is.
func (p *Plan) reshape(path, key string, body []byte) []byte {
	if !p.hasListFaults() {
		return body
	}
	var list map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // an id is longer than a float64 is exact
	items, ok := []any(nil), false
	if decoder.Decode(&list) == nil {
		items, ok = list["items"].([]any)
	}
	if !ok {
		return body
	}
	for i, item := range items {
		if members, ok := item.(map[string]any); ok {
			p.reshapeItem(members, fmt.Sprintf("%s item %d", key, i))
		}
	}
	if len(items) > 0 && p.Roll(Twice, key) {
		list["items"] = append(items, items[len(items)/2])
	}
	nullable := strings.HasSuffix(path, "/meetings") || strings.HasSuffix(path, "/meeting_types")
	if nullable && p.Roll(Limit, key) {
		list["limit"] = nil
	}
	if list["next_cursor"] == nil && p.Roll(End, key) {
		if list["next_cursor"] = ""; p.draw(End, key, 0) < 0.5 {
			delete(list, "next_cursor")
		}
	}
	if p.Roll(Keys, key) {
		list["total_count"], list["links"] = len(items), map[string]any{"next": nil}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(list) != nil {
		return body
	}
	return bytes.TrimSpace(out.Bytes())
}

func (p *Plan) reshapeItem(item map[string]any, key string) {
	if p.Roll(Share, key) {
		delete(item, "share_url")
	}
	if recorder, ok := item["recorded_by"].(map[string]any); ok && p.Roll(Team, key) {
		recorder["team"] = nil
	}
	if p.Roll(Absent, key) {
		dropNulls(item)
	}
}

// dropNulls removes, at every depth, the members that are null.
func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
				continue
			}
			dropNulls(member)
		}
	case []any:
		for _, element := range v {
			dropNulls(element)
		}
	}
}

// RetryAfter is the value of Retry-After: seconds, or the date that they lead to.
func (p *Plan) RetryAfter(key string, seconds int, now time.Time) string {
	if p.Roll(Date, key) {
		return now.Add(time.Duration(seconds) * time.Second).UTC().Format(http.TimeFormat)
	}
	return strconv.Itoa(seconds)
}
