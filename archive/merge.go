package archive

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"minutebook/api"
)

// The merge rules. A part's versions (revisions) are a set: a version is its
// content, and seeing it again only moves its dates forward. The current part is
// the greatest of the set in the order below, so it does not depend on the order
// in which anything arrived, on repetition, or on what was current before.
//
//	what arrived                           against what is held          current is
//	-------------------------------------  ----------------------------  ---------------------
//	the key absent                         anything                      what is held
//	null                                   anything                      what is held
//	empty ([], {}, "", no Markdown, ...)   content                       what is held
//	empty                                  empty                         by the rows below
//	content                                nothing, null or empty        what arrived
//	content of a read                      content only told of          what arrived
//	content told of (webhook, import)      content of a read             what is held
//	content of a read, sent later          content of a read             what arrived
//	content of a read, sent earlier        content of a read             what is held
//	content told of, dated later           content only told of          what arrived
//	the same content, spelled differently  itself                        the lesser raw hash's bytes
//	dated the same                         content                       the greater hash
//
// The part "meeting" is merged so for each of its keys, since a row of the list
// may lack what another had: every key has the value of the greatest version in
// which it has content. A forgotten meeting takes nothing.

// version is a revision as far as the rules go.
type version struct {
	id     int64
	hash   [32]byte
	empty  bool
	readAt int64 // latest read that showed it, in ms; 0: none
	toldAt int64 // latest delivery or import that held it, in ms; 0: none
}

// beats is the order of the table.
func (v *version) beats(w *version) bool {
	if v.empty != w.empty {
		return w.empty
	}
	return v.laterThan(w)
}

// laterThan is the order without a look at the content: reads over what was
// only told of, then the date, then the hash.
func (v *version) laterThan(w *version) bool {
	if read := v.readAt != 0; read != (w.readAt != 0) {
		return read
	}
	if v.readAt != w.readAt {
		return v.readAt > w.readAt
	}
	if v.readAt == 0 && v.toldAt != w.toldAt {
		return v.toldAt > w.toldAt
	}
	return bytes.Compare(v.hash[:], w.hash[:]) > 0
}

// greatest returns the current one of a part's versions, nil when there is none.
func greatest(versions []*version) *version {
	var best *version
	for _, v := range versions {
		if best == nil || v.beats(best) {
			best = v
		}
	}
	return best
}

// keepsBytes tells whether of two spellings of one content the first is kept.
func keepsBytes(rawHash, held int64) bool { return rawHash < held }

// edition is a version of the part "meeting" with its bytes.
type edition struct {
	*version
	raw []byte
}

// folded is the part "meeting" made of several versions.
type folded struct {
	raw  []byte
	of   []int64 // the versions that gave a key its value, the greatest first
	base int64   // the greatest version: its bytes, and the order of the keys
}

// fold merges versions of the part "meeting" key by key. When the greatest
// version gives every key, raw is its bytes untouched. Versions left out of
// folded.of can be left out of every later fold too: they gave no key, and
// another's dates only grow.
func fold(editions []edition) folded {
	slices.SortFunc(editions, func(a, b edition) int {
		if a.beats(b.version) {
			return -1
		}
		return 1
	})
	values := map[string]json.RawMessage{}
	from := map[string]int64{}
	for _, wantContent := range []bool{true, false} {
		for _, e := range editions {
			for key, value := range members(e.raw) {
				if _, done := values[key]; !done && api.Empty(value) != wantContent {
					values[key], from[key] = value, e.id
				}
			}
		}
	}
	f := folded{raw: editions[0].raw, base: editions[0].id}
	for _, e := range editions {
		if e.id == f.base || slices.Contains(slices.Collect(maps.Values(from)), e.id) {
			f.of = append(f.of, e.id)
		}
	}
	if len(f.of) > 1 {
		f.raw = assemble(editions[0].raw, values)
	}
	return f
}

// members reads an object's members; what is not an object has none.
func members(raw []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// assemble writes values in the order of base's keys, then the others by name.
func assemble(base []byte, values map[string]json.RawMessage) []byte {
	keys := orderedKeys(base)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	out := []byte{'{'}
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(key) // a string always marshals
		out = append(append(append(out, name...), ':'), values[key]...)
	}
	return append(out, '}')
}

// orderedKeys are the distinct keys of a valid JSON object, as they come.
func orderedKeys(raw []byte) []string {
	d := json.NewDecoder(bytes.NewReader(raw))
	var keys []string
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return keys
		}
		if k, ok := key.(string); ok && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}
