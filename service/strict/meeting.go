package strict

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"minutebook/api"
)

// field is a key that every meeting has. A value that is not a string is replaced
// by fallback, except where fallback is empty: those keys have rules of their own.
type field struct{ key, fallback string }

// required returns the keys that every meeting has, in the order of 2.2.
func required() []field {
	return []field{
		{"title", `""`}, {"meeting_title", "null"}, {"meeting_type", "null"}, {"recording_id", ""}, {"url", `""`}, {"share_url", `""`},
		{"created_at", ""}, {"scheduled_start_time", ""}, {"scheduled_end_time", ""}, {"recording_start_time", ""}, {"recording_end_time", ""},
		{"calendar_invitees_domains_type", `""`}, {"shared_with", `""`}, {"transcript_language", `""`}, {"calendar_invitees", ""},
		{"recorded_by", ""}, {"meeting_url", "null"},
	}
}

// normalizeMeeting gives a meeting the required keys that it lacks or that are
// null. Times are taken from the nearest one that is known.
func normalizeMeeting(m map[string]json.RawMessage) {
	normalizeTimes(m)
	for _, f := range required() {
		if f.fallback != "" && !beginsWith(m[f.key], '"') {
			m[f.key] = json.RawMessage(f.fallback)
		}
	}
	normalizeEnum(m, "shared_with", api.SharedNoTeams, api.SharedNoTeams, api.SharedSingleTeam, api.SharedMultipleTeams, api.SharedAllTeams)
	if string(m["transcript_language"]) == `""` {
		m["transcript_language"] = json.RawMessage(`"unknown"`)
	}
	external := normalizeInvitees(m)
	domains := api.DomainsOnlyInternal
	if external {
		domains = api.DomainsExternal
	}
	normalizeEnum(m, "calendar_invitees_domains_type", domains, api.DomainsOnlyInternal, api.DomainsExternal)
	normalizeRecorder(m)
}

// normalizeEnum gives a key that holds none of the values a value.
func normalizeEnum(m map[string]json.RawMessage, key, fallback string, values ...string) {
	var text string
	if json.Unmarshal(m[key], &text) == nil && slices.Contains(values, text) {
		return
	}
	m[key] = json.RawMessage(`"` + fallback + `"`)
}

// normalizeTimes gives every time a value: that of its counterpart, or the other
// end's, or the beginning of 1970 where a meeting has no time at all.
func normalizeTimes(m map[string]json.RawMessage) {
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

// beginsWith reports whether a value, without leading space, begins with a byte.
func beginsWith(raw json.RawMessage, first byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == first
}

// normalizeInvitees gives the invitees their types and tells whether one is external.
func normalizeInvitees(m map[string]json.RawMessage) (external bool) {
	var invitees []api.Invitee
	if raw := m["calendar_invitees"]; !beginsWith(raw, '[') || json.Unmarshal(raw, &invitees) != nil {
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

// normalizeRecorder gives recorded_by its strings.
func normalizeRecorder(m map[string]json.RawMessage) {
	var strict struct {
		Name   *string `json:"name"`
		Email  *string `json:"email"`
		Domain *string `json:"email_domain"`
		Team   *string `json:"team"`
	}
	raw := m["recorded_by"]
	if beginsWith(raw, '{') && json.Unmarshal(raw, &strict) == nil && strict.Name != nil && strict.Email != nil && strict.Domain != nil {
		return
	}
	var r api.Recorder
	if beginsWith(raw, '{') {
		_ = json.Unmarshal(raw, &r) // members that cannot be read stay empty
	}
	if r.EmailDomain == "" {
		_, r.EmailDomain, _ = strings.Cut(r.Email, "@")
	}
	if r.Team.Absent() {
		r.Team = api.NullOf[string]()
	}
	m["recorded_by"], _ = json.Marshal(r) // plain values always can be
}
