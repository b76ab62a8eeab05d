package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
// verbatim; what a strict client would break on is put right. What comes only
// with content that was not asked for is left out as the service leaves it out:
// for some meetings absent, for others null, see omits.
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
	if !slices.Contains(include, api.PartTranscript) || api.Empty(parts[api.PartTranscript]) {
		members["calendar_invitees"] = withoutSpeakers(members["calendar_invitees"], omits(id, speakerKey))
	}
	for _, f := range required {
		out = appendMember(out, f.key, members[f.key])
		delete(members, f.key)
	}
	for _, inc := range includeParts {
		delete(members, string(inc.part))
		switch {
		case slices.Contains(include, inc.part):
			out = appendMember(out, string(inc.part), c.mendPart(inc.part, parts[inc.part]))
		case !omits(id, string(inc.part)):
			out = appendMember(out, string(inc.part), []byte("null"))
		}
	}
	for _, key := range sortedKeys(members) {
		out = appendMember(out, key, members[key])
	}
	out[first] = '{'
	return append(out, '}'), nil
}

// speakerKey is the key of an invitee that comes only with transcripts.
const speakerKey = "matched_speaker_display_name"

// omits tells whether what is not there in a meeting is absent, and not null:
// the service does both, and a reader has to take either for nothing.
func omits(id int64, key string) bool { return (id+int64(len(key)))%2 == 0 }

// withoutSpeakers returns invitees without the names that were matched to
// speakers: absent, or null.
func withoutSpeakers(raw json.RawMessage, absent bool) json.RawMessage {
	if !bytes.Contains(raw, []byte(speakerKey)) {
		return raw
	}
	var invitees []map[string]json.RawMessage
	if json.Unmarshal(raw, &invitees) != nil {
		return raw
	}
	for _, i := range invitees {
		if _, ok := i[speakerKey]; !ok {
			continue
		}
		if i[speakerKey] = json.RawMessage("null"); absent {
			delete(i, speakerKey)
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // values stay as they are
	if encoder.Encode(invitees) != nil {
		return raw
	}
	return bytes.TrimSpace(out.Bytes())
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
