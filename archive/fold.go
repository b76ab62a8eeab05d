package archive

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

// edition is a version of the part "meeting" with its bytes.
type edition struct {
	*version
	raw []byte
}

// folded is the part "meeting" made of several versions.
type folded struct {
	raw  []byte
	base int64   // the greatest version: the order of the keys, and its bytes when it gives all
	gave []int64 // the versions that gave a key or a member its value
	kept []int64 // those and all that any later fold can need, the greatest first
	team string  // of the recorder, by the newest read: see the end of the table
}

// folding is a fold under way. Its editions are sorted, the greatest first.
type folding struct {
	editions []edition
	read     []map[string]json.RawMessage // their members
	values   map[string]json.RawMessage   // of the result
	from     map[string]int               // the edition that a value is from
	gave     []bool
	needed   []bool
}

// fold merges versions, at least one, of the part "meeting" by the table in
// merge.go.
//
// A version can be left out of every later fold when it gave nothing and a
// greater one has the very same recorded_by and the very same calendar_invitees,
// as far as it has these: each of its other keys has a better value elsewhere,
// that stays better since dates only grow, and of equal values in these two keys
// the later can add nothing to those that the earlier was added to. (A match
// depends on the two values alone, and what contradicts it stays.) So a fold of
// what is kept, and of what is shown again, is the fold of all.
func fold(editions []edition) folded {
	slices.SortFunc(editions, func(a, b edition) int {
		if a.beats(b.version) {
			return -1
		}
		return 1
	})
	f := &folding{editions: editions, values: map[string]json.RawMessage{}, from: map[string]int{},
		gave: make([]bool, len(editions)), needed: make([]bool, len(editions))}
	for i, e := range editions {
		f.read = append(f.read, members(e.raw))
		for key, value := range f.read[i] {
			if held, ok := f.values[key]; !ok || outranks(key, value, held) {
				f.values[key], f.from[key] = value, i
			}
		}
	}
	f.gave[0] = true
	for _, i := range f.from {
		f.gave[i] = true
	}
	if len(editions) > 1 {
		f.foldRecorder()
		f.foldInvitees()
	}
	return f.result()
}

func (f *folding) result() folded {
	r := folded{raw: f.editions[0].raw, base: f.editions[0].id, team: f.sharingTeam()}
	for i, e := range f.editions {
		if f.gave[i] {
			r.gave = append(r.gave, e.id)
		}
		if f.gave[i] || f.needed[i] {
			r.kept = append(r.kept, e.id)
		}
	}
	if len(r.gave) > 1 {
		r.raw = assemble(f.editions[0].raw, f.values)
	}
	return r
}

// distinct returns the values of a key that have content, each once, by the
// greatest edition that has it, the greatest first.
func (f *folding) distinct(key string) (at []int) {
	seen := map[[32]byte]bool{}
	for i, read := range f.read {
		value, ok := read[key]
		if !ok || rank(key, value) != rankContent {
			continue
		}
		if hash, _ := rawjson.Hash(value); !seen[hash] {
			seen[hash], f.needed[i] = true, true
			at = append(at, i)
		}
	}
	return at
}

// The ranks of a value.
const (
	rankNone    = iota // null, or without content
	rankOther          // of another type than the key is known for
	rankContent        // anything else
)

// typeOf says how a value of a key of the specification begins, in a meeting, a
// recorder or an invitee.
var typeOf = map[string]string{
	"title": `"`, "meeting_title": `"`, "meeting_type": `"`, "url": `"`, "share_url": `"`, "meeting_url": `"`,
	"transcript_language": `"`, "calendar_invitees_domains_type": `"`, "shared_with": `"`,
	"created_at": `"`, "scheduled_start_time": `"`, "scheduled_end_time": `"`,
	"recording_start_time": `"`, "recording_end_time": `"`, keyRecorder: `{`, keyInvitees: `[`,
	"name": `"`, "email": `"`, "email_domain": `"`, "team": `"`, "matched_speaker_display_name": `"`, "is_external": `tf`,
}

// timeKeys are those whose text has to be a time.
var timeKeys = []string{"created_at", "scheduled_start_time", "scheduled_end_time", "recording_start_time", "recording_end_time"}

func rank(key string, value json.RawMessage) int {
	begins, known := typeOf[key]
	switch {
	case api.Empty(value):
		return rankNone
	case known && bytes.IndexByte([]byte(begins), value[0]) < 0,
		slices.Contains(timeKeys, key) && lenient[api.Time](value).IsZero():
		return rankOther
	}
	return rankContent
}

// outranks tells whether an older version's value is taken over the one held.
func outranks(key string, older, held json.RawMessage) bool {
	o, h := rank(key, older), rank(key, held)
	return o > h || o == rankNone && h == rankNone && bytes.Compare(older, held) < 0
}

// members returns an object's members, nil of anything else.
func members(raw []byte) map[string]json.RawMessage { return rawjson.Map(raw) }

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
