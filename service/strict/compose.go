// Package strict writes meetings as a client with strict types can read them
// (specification 2.2). Values are written byte for byte as they were archived; a
// part that a strict client would break on is normalized: it gets the members that
// it lacks, and values of the right types. It promises valid JSON with every
// required key, whatever was archived. It keeps nothing on disk.
//
//	compose.go     a meeting, from its parts
//	meeting.go     the part "meeting", normalized
//	parts.go       the content parts, normalized
//	transcript.go  a check of transcripts that does not decode them
//	cache.go       the parts that were found strict before
package strict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"minutebook/api"
)

// contents are the parts that can be included, in the order of 2.2.
func contents() []api.Part {
	return []api.Part{api.PartTranscript, api.PartSummary, api.PartActionItems, api.PartHighlights, api.PartCRM}
}

// AppendMeeting appends a meeting made of its parts to out: every required key,
// the parts to include, and unknown keys after them. Content that is not included
// is left out as the service leaves it out: absent for some meetings, null for
// others, see isOmitted. It fails when the part "meeting" is no JSON object.
func (c *Cache) AppendMeeting(out []byte, id int64, parts map[api.Part]json.RawMessage, include []api.Part) ([]byte, error) {
	members := map[string]json.RawMessage{}
	meeting := inUTF8(parts[api.PartMeeting])
	if len(meeting) > 0 {
		if err := json.Unmarshal(meeting, &members); err != nil {
			return nil, fmt.Errorf("read meeting %d: %w", id, err)
		}
	}
	members["recording_id"] = strconv.AppendInt(nil, id, 10)
	c.isStrict(api.PartMeeting, meeting, func(json.RawMessage) bool { // not called for a part that was found strict before
		before := maps.Clone(members)
		normalizeMeeting(members)
		return maps.EqualFunc(before, members, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
	})
	first := len(out)
	if !slices.Contains(include, api.PartTranscript) || !api.HasContent(api.PartTranscript, parts[api.PartTranscript]) {
		members["calendar_invitees"] = withoutSpeakers(members["calendar_invitees"], isOmitted(id, speakerKey))
	}
	for _, f := range required() {
		out = appendMember(out, f.key, members[f.key])
		delete(members, f.key)
	}
	for _, part := range contents() {
		delete(members, string(part))
		switch {
		case slices.Contains(include, part):
			out = appendMember(out, string(part), c.Part(part, parts[part]))
		case !isOmitted(id, string(part)):
			out = appendMember(out, string(part), []byte("null"))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		out = appendMember(out, key, members[key])
	}
	out[first] = '{'
	return append(out, '}'), nil
}

// inUTF8 returns a part with every byte sequence that is no UTF-8 replaced: JSON is
// UTF-8, and a strict client reads nothing of an answer that holds another byte.
func inUTF8(raw json.RawMessage) json.RawMessage {
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

// speakerKey is the key of an invitee that comes only with transcripts.
const speakerKey = "matched_speaker_display_name"

// isOmitted reports whether a key without a value is absent from a meeting, and not
// null: the service does both, and a reader has to take either for nothing.
func isOmitted(id int64, key string) bool { return (id+int64(len(key)))%2 == 0 }

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
