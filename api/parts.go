package api

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Part names one of the pieces that a meeting is kept in.
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

// SplitMeeting takes a meeting's JSON apart without re-encoding anything: each
// content key that is there, null and empty ones included, becomes a part with
// exactly its bytes, and all other members, keys and values verbatim and in
// order, become PartMeeting. Of a repeated content key the last one counts. It
// fails on what is not a JSON object or has no positive recording_id.
func SplitMeeting(raw []byte) (recordingID int64, parts map[Part]json.RawMessage, err error) {
	parts = make(map[Part]json.RawMessage, 6)
	rest := make([]byte, 0, 2048)
	var idErr error = errors.New("recording_id is missing")
	err = eachMember(raw, func(key string, rawKey, value []byte) {
		if p, ok := contentPart(key); ok {
			parts[p] = append(json.RawMessage(nil), value...)
			return
		}
		if key == "recording_id" {
			recordingID, idErr = parseID(value)
		}
		rest = appendMember(rest, rawKey, value)
	})
	if err == nil {
		err = idErr
	}
	if err != nil {
		return 0, nil, fmt.Errorf("split meeting: %w", err)
	}
	parts[PartMeeting] = closeObject(rest)
	return recordingID, parts, nil
}

// JoinMeeting is the reverse of SplitMeeting: one object with the members of
// PartMeeting, then the content parts that are there. It fails when a part is
// not JSON or PartMeeting is not an object; without PartMeeting the object has
// the content alone.
func JoinMeeting(parts map[Part]json.RawMessage) ([]byte, error) {
	var out []byte
	if meeting, ok := parts[PartMeeting]; ok {
		err := eachMember(meeting, func(key string, rawKey, value []byte) {
			if _, content := contentPart(key); !content {
				out = appendMember(out, rawKey, value)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("join meeting: part %s: %w", PartMeeting, err)
		}
	}
	for _, p := range Parts()[1:] {
		value, ok := parts[p]
		if !ok {
			continue
		}
		if !json.Valid(value) {
			return nil, fmt.Errorf("join meeting: part %s: %w", p, errNotJSON)
		}
		out = appendMember(out, []byte(`"`+string(p)+`"`), value)
	}
	return closeObject(out), nil
}

func appendMember(b, rawKey, value []byte) []byte {
	if len(b) == 0 {
		b = append(b, '{')
	} else {
		b = append(b, ',')
	}
	return append(append(append(b, rawKey...), ':'), value...)
}

func closeObject(b []byte) []byte {
	if len(b) == 0 {
		return []byte("{}")
	}
	return append(b, '}')
}
