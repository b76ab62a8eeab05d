package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"minutebook/internal/rawjson"
)

// Part names one of the parts in which a meeting is stored.
type Part string

// The parts of a meeting. PartMeeting is the object of all keys that are not
// one of the content parts; the others are named as the service's keys.
const (
	PartMeeting     Part = "meeting"
	PartTranscript  Part = "transcript"
	PartSummary     Part = "default_summary"
	PartActionItems Part = "action_items"
	PartHighlights  Part = "highlights"
	PartCRM         Part = "crm_matches"
)

// Parts returns all parts in the order in which JoinMeeting writes them.
func Parts() []Part {
	return []Part{PartMeeting, PartTranscript, PartSummary, PartActionItems, PartHighlights, PartCRM}
}

func contentPart(key string) (Part, bool) {
	switch p := Part(key); p {
	case PartTranscript, PartSummary, PartActionItems, PartHighlights, PartCRM:
		return p, true
	}
	return "", false
}

// SplitMeeting splits a meeting's JSON without re-encoding it. Each present content
// key, null and empty ones included, becomes a part with exactly its bytes. All other
// members become PartMeeting, verbatim and in order. Of a repeated content key the
// last one counts. SplitMeeting fails on input that is not a JSON object, has no
// positive recording_id or has more than 4,000,000 values.
func SplitMeeting(raw []byte) (recordingID int64, parts map[Part]json.RawMessage, err error) {
	if bytes.Count(raw, []byte(",")) > maxValues {
		return 0, nil, fmt.Errorf("split meeting: it has more than %d values", maxValues)
	}
	members, err := rawjson.Members(raw)
	if err != nil {
		return 0, nil, fmt.Errorf("split meeting: %w", err)
	}
	parts = make(map[Part]json.RawMessage, 6)
	meeting := rawjson.NewObject(min(len(raw), 2048))
	err = errors.New("recording_id is missing")
	for _, m := range members {
		if p, ok := contentPart(m.Key); ok {
			parts[p] = bytes.Clone(m.Value)
			continue
		}
		if m.Key == "recording_id" {
			recordingID, err = parseID(m.Value)
		}
		meeting.Add(m.RawKey, m.Value)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("split meeting: %w", err)
	}
	parts[PartMeeting] = meeting.Bytes()
	return recordingID, parts, nil
}

// JoinMeeting is the reverse of [SplitMeeting]. It returns one object with the
// members of PartMeeting and then the content parts. Without PartMeeting the object
// has the content alone. JoinMeeting fails when a part is not JSON or PartMeeting is
// not an object.
func JoinMeeting(parts map[Part]json.RawMessage) ([]byte, error) {
	var out rawjson.Object
	if meeting, ok := parts[PartMeeting]; ok {
		members, err := rawjson.Members(meeting)
		if err != nil {
			return nil, fmt.Errorf("join meeting: part %s: %w", PartMeeting, err)
		}
		for _, m := range members {
			if _, content := contentPart(m.Key); !content {
				out.Add(m.RawKey, m.Value)
			}
		}
	}
	for _, p := range Parts()[1:] {
		value, ok := parts[p]
		if !ok {
			continue
		}
		if !json.Valid(value) {
			return nil, fmt.Errorf("join meeting: part %s: %w", p, rawjson.ErrNotJSON)
		}
		out.Set(string(p), value)
	}
	return out.Bytes(), nil
}

// parseID reads a positive identifier, written as a number or, leniently, as a
// string of digits.
func parseID(raw []byte) (int64, error) {
	literal := string(bytes.TrimSpace(raw))
	if len(literal) > 1 && literal[0] == '"' {
		literal = rawjson.Text([]byte(literal))
	}
	id, err := strconv.ParseInt(literal, 10, 64)
	if err != nil || id <= 0 {
		return 0, fmt.Errorf("read recording_id %q: want a positive integer", shorten(literal, 40))
	}
	return id, nil
}
