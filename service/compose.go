package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"sort"
	"strconv"
	"time"

	"minutebook/api"
)

// partName is the name of a part that can be included.
type partName = api.Part

// kind is what a key of a meeting must hold (2.2, facts: nullable fields).
type kind int

const (
	kindString kind = iota
	kindNullableString
	kindTime
	kindNumber
	kindArray
	kindObject
)

// required are the keys that every meeting has, in the order of 2.2.
var required = []struct {
	key  string
	kind kind
}{
	{"title", kindString}, {"meeting_title", kindNullableString}, {"meeting_type", kindNullableString},
	{"recording_id", kindNumber}, {"url", kindString}, {"share_url", kindString},
	{"created_at", kindTime}, {"scheduled_start_time", kindTime}, {"scheduled_end_time", kindTime},
	{"recording_start_time", kindTime}, {"recording_end_time", kindTime},
	{"calendar_invitees_domains_type", kindString}, {"shared_with", kindString},
	{"transcript_language", kindString}, {"calendar_invitees", kindArray}, {"recorded_by", kindObject},
	{"meeting_url", kindNullableString},
}

// composeMeeting appends a meeting made of its parts to out: every required key,
// the content asked for, and unknown keys after them. Values are written
// verbatim; what a strict client would break on is put right.
func (c *strictCache) composeMeeting(out []byte, id int64, parts map[api.Part]json.RawMessage, include []partName) ([]byte, error) {
	members := map[string]json.RawMessage{}
	if raw := parts[api.PartMeeting]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &members); err != nil {
			return nil, fmt.Errorf("read meeting %d: %w", id, err)
		}
	}
	members["recording_id"] = strconv.AppendInt(nil, id, 10)
	c.check(api.PartMeeting, parts[api.PartMeeting], func(json.RawMessage) bool { // not run for what was found strict before
		before := maps.Clone(members)
		mend(members)
		return maps.EqualFunc(before, members, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
	})
	first := len(out)
	for _, f := range required {
		out = appendMember(out, f.key, members[f.key])
		delete(members, f.key)
	}
	for _, inc := range includeParts {
		delete(members, string(inc.part))
		for _, p := range include {
			if p == inc.part {
				out = appendMember(out, string(p), c.mendPart(p, parts[p]))
			}
		}
	}
	for _, key := range sortedKeys(members) {
		out = appendMember(out, key, members[key])
	}
	out[first] = '{'
	return append(out, '}'), nil
}

// appendMember appends a comma, a key and its value.
func appendMember(out []byte, key string, value []byte) []byte {
	out = append(out, ',')
	name, _ := json.Marshal(key) // a string always can be
	out = append(append(out, name...), ':')
	return append(out, value...)
}

// mend gives a meeting the keys that it lacks and that may not be missing or
// null. Times are taken from the nearest one that is known.
func mend(m map[string]json.RawMessage) {
	mendTimes(m)
	for _, f := range required {
		switch raw := m[f.key]; f.kind {
		case kindString:
			if !isKind(raw, '"') {
				m[f.key] = json.RawMessage(`""`)
			}
		case kindNullableString:
			if !isKind(raw, '"') {
				m[f.key] = json.RawMessage("null")
			}
		}
	}
	mendEnum(m, "shared_with", api.SharedNoTeams, api.SharedNoTeams, api.SharedSingleTeam, api.SharedMultipleTeams, api.SharedAllTeams)
	if string(m["transcript_language"]) == `""` {
		m["transcript_language"] = json.RawMessage(`"unknown"`)
	}
	external := mendInvitees(m)
	domains := api.DomainsOnlyInternal
	if external {
		domains = api.DomainsExternal
	}
	mendEnum(m, "calendar_invitees_domains_type", domains, api.DomainsOnlyInternal, api.DomainsExternal)
	mendRecorder(m)
}

// mendEnum gives a key that holds none of the values a value.
func mendEnum(m map[string]json.RawMessage, key, fallback string, values ...string) {
	var text string
	if json.Unmarshal(m[key], &text) == nil {
		for _, v := range values {
			if v == text {
				return
			}
		}
	}
	m[key] = json.RawMessage(`"` + fallback + `"`)
}

// mendTimes gives every time a value: that of its counterpart, or the other
// end's, or the beginning of 1970 where a meeting has no time at all.
func mendTimes(m map[string]json.RawMessage) {
	fallbacks := map[string][]string{
		"recording_start_time": {"scheduled_start_time", "created_at", "recording_end_time", "scheduled_end_time"},
		"recording_end_time":   {"scheduled_end_time", "created_at", "recording_start_time"},
		"scheduled_start_time": {"recording_start_time"},
		"scheduled_end_time":   {"recording_end_time"},
		"created_at":           {"recording_end_time"},
	}
	for _, key := range []string{"recording_start_time", "recording_end_time", "scheduled_start_time", "scheduled_end_time", "created_at"} {
		if isTime(m[key]) {
			continue
		}
		var lenient api.Time
		if len(m[key]) > 0 && lenient.UnmarshalJSON(m[key]) == nil && !lenient.IsZero() {
			m[key] = json.RawMessage(`"` + lenient.String() + `"`)
			continue
		}
		m[key] = json.RawMessage(`"1970-01-01T00:00:00Z"`)
		for _, other := range fallbacks[key] {
			if isTime(m[other]) {
				m[key] = m[other]
				break
			}
		}
	}
}

func isTime(raw json.RawMessage) bool {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, text)
	return err == nil
}

// isKind tells whether a value begins as one of its kind does.
func isKind(raw json.RawMessage, first byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == first
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
