package merge

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"minutebook/api"
	"minutebook/internal/rawjson"
)

const (
	keyRecorder = "recorded_by"
	keyInvitees = "calendar_invitees"
)

// Input is a version of the part "meeting" with its bytes.
type Input struct {
	*Version
	Raw []byte
}

// Result is the part "meeting" merged from several versions.
type Result struct {
	Raw          []byte
	Base         int64   // the greatest version: it gives the order of the keys, and the bytes when it gives every value
	Contributors []int64 // the versions that gave a key or a member its value
	Needed       []int64 // the contributors and all versions that a later merge can need, the greatest first
	Team         string  // the recorder's, for visibility: see the end of the table
}

// merging is the state of a merge. Its inputs are sorted, the greatest first.
type merging struct {
	inputs  []Input
	members []map[string]json.RawMessage // of each input
	values  map[string]json.RawMessage   // of the result
	from    map[string]int               // the input that a value is from
	gave    []bool                       // by input: whether it gave a value
	needed  []bool                       // by input: whether a later merge can need it
}

// Meeting merges versions, at least one, of the part "meeting" by the table in
// merge.go. It sorts inputs.
//
// A version can be left out of every later merge when it gave nothing and a
// greater one has the very same recorded_by and the very same calendar_invitees,
// as far as it has these. Another version has a better value for each of its other keys,
// which stays better since dates only grow. Of equal values in these two keys the
// later one can add nothing that the earlier did not: a match depends on the two
// values alone, and a value that contradicts it stays. So the merge of the needed
// versions, and of those that are shown again, is the merge of all.
func Meeting(inputs []Input) Result {
	slices.SortFunc(inputs, func(a, b Input) int {
		if a.Beats(b.Version) {
			return -1
		}
		return 1
	})
	m := &merging{inputs: inputs, values: map[string]json.RawMessage{}, from: map[string]int{},
		gave: make([]bool, len(inputs)), needed: make([]bool, len(inputs))}
	for i, input := range inputs {
		m.members = append(m.members, rawjson.Map(input.Raw))
		for key, value := range m.members[i] {
			if current, ok := m.values[key]; !ok || outranks(key, value, current) {
				m.values[key], m.from[key] = value, i
			}
		}
	}
	m.preferSharing("shared_with")
	m.gave[0] = true
	for _, i := range m.from {
		m.gave[i] = true
	}
	if len(inputs) > 1 {
		m.mergeRecorder()
		m.mergeInvitees()
	}
	return m.result()
}

// HaveSameOrder reports whether two states of versions have the same versions in the same
// orders, of which [Meeting] then makes the same.
func HaveSameOrder(a, b []*Version) bool {
	for _, beats := range []func(v, w *Version) bool{(*Version).Beats, (*Version).beatsBySharing} {
		a, b = sortBy(beats, a), sortBy(beats, b)
		if !slices.EqualFunc(a, b, func(v, w *Version) bool { return v.ID == w.ID }) {
			return false
		}
	}
	return true
}

// sortBy returns versions in an order, and those that are equal in it as they were.
func sortBy(beats func(v, w *Version) bool, versions []*Version) []*Version {
	versions = slices.Clone(versions)
	slices.SortStableFunc(versions, func(v, w *Version) int {
		switch {
		case beats(v, w):
			return -1
		case beats(w, v):
			return 1
		}
		return 0
	})
	return versions
}

func (m *merging) result() Result {
	r := Result{Raw: m.inputs[0].Raw, Base: m.inputs[0].ID, Team: m.sharingTeam()}
	for i, input := range m.inputs {
		if m.gave[i] {
			r.Contributors = append(r.Contributors, input.ID)
		}
		if m.gave[i] || m.needed[i] {
			r.Needed = append(r.Needed, input.ID)
		}
	}
	if len(r.Contributors) > 1 {
		r.Raw = assemble(m.inputs[0].Raw, m.values)
	}
	return r
}

// preferSharing gives a key the value of the first version in sharingOrder with content
// there.
func (m *merging) preferSharing(key string) {
	for _, i := range m.sharingOrder() {
		if value, ok := m.members[i][key]; ok && rank(key, value) == rankContent {
			m.values[key], m.from[key] = value, i
			return
		}
	}
}

// sharingOrder returns the inputs in the order by which they decide who sees the meeting.
func (m *merging) sharingOrder() []int {
	at := m.countingOrder()
	slices.SortStableFunc(at, func(i, j int) int {
		switch {
		case m.inputs[i].beatsBySharing(m.inputs[j].Version):
			return -1
		case m.inputs[j].beatsBySharing(m.inputs[i].Version):
			return 1
		}
		return 0
	})
	return at
}

// countingOrder returns the inputs, the greatest first.
func (m *merging) countingOrder() []int {
	at := make([]int, len(m.inputs))
	for i := range at {
		at[i] = i
	}
	return at
}

// distinct returns those of the inputs, the greatest first, with content in a key,
// without those whose value a greater one has too. It marks them as needed.
func (m *merging) distinct(key string, inputs []int) (at []int) {
	seen := map[[32]byte]bool{}
	for _, i := range inputs {
		value, ok := m.members[i][key]
		if !ok || slices.ContainsFunc(at, func(greater int) bool { return bytes.Equal(m.members[greater][key], value) }) {
			continue // nearly always
		}
		if rank(key, value) != rankContent {
			continue
		}
		if hash, _ := rawjson.Hash(value); !seen[hash] {
			seen[hash], m.needed[i] = true, true
			at = append(at, i)
		}
	}
	return at
}

// The ranks of a value.
const (
	rankNone    = iota // null, or without content
	rankOther          // of another type than the key is known for, or invitees without name and address
	rankContent        // anything else
)

// typeOf has the characters with which a value of a key of the specification
// begins, in a meeting, a recorder or an invitee.
var typeOf = map[string]string{
	"title": `"`, "meeting_title": `"`, "meeting_type": `"`, "url": `"`, "share_url": `"`, "meeting_url": `"`,
	"transcript_language": `"`, "calendar_invitees_domains_type": `"`, "shared_with": `"`,
	"created_at": `"`, "scheduled_start_time": `"`, "scheduled_end_time": `"`,
	"recording_start_time": `"`, "recording_end_time": `"`, keyRecorder: `{`, keyInvitees: `[`,
	"name": `"`, "email": `"`, "email_domain": `"`, "team": `"`, "matched_speaker_display_name": `"`, "is_external": `tf`,
}

// timeKeys are the keys whose text has to be a time.
var timeKeys = []string{"created_at", "scheduled_start_time", "scheduled_end_time", "recording_start_time", "recording_end_time"}

func rank(key string, value json.RawMessage) int {
	begins, typed := typeOf[key]
	switch {
	case api.Empty(value):
		return rankNone
	case typed && bytes.IndexByte([]byte(begins), value[0]) < 0,
		slices.Contains(timeKeys, key) && !isTime(value),
		key == keyInvitees && !namesAnybody(value):
		return rankOther
	}
	return rankContent
}

func isTime(value json.RawMessage) bool {
	var t api.Time
	return json.Unmarshal(value, &t) == nil && !t.IsZero()
}

// outranks reports whether an older version's value replaces the current one.
func outranks(key string, older, current json.RawMessage) bool {
	if bytes.Equal(older, current) {
		return false // nearly always
	}
	o, c := rank(key, older), rank(key, current)
	return o > c || o == rankNone && c == rankNone && bytes.Compare(older, current) < 0
}

// assemble writes values in the order of base's keys, then the others by name.
func assemble(base []byte, values map[string]json.RawMessage) []byte {
	var keys []string
	if list, err := rawjson.Members(base); err == nil {
		for _, m := range list {
			keys = append(keys, m.Key)
		}
	}
	written := make(map[string]bool, len(values))
	var out rawjson.Object
	for _, key := range append(keys, slices.Sorted(maps.Keys(values))...) {
		if !written[key] {
			written[key] = true
			out.Set(key, values[key])
		}
	}
	return out.Bytes()
}
