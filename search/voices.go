package search

import (
	"minutebook/search/segment"
	"minutebook/search/text"
)

import "strings"

// voices are the keys, in moments, of the speakers that a name may stand for: a
// name, a word of one, an address, or the beginning of any with a star.
func (v *view) voices(value string) ([]string, error) {
	if known, ok := v.speakers[value]; ok {
		return known, nil
	}
	if v.format < 2 {
		return v.personKeys(keySpeaker, value)
	}
	names := []string{text.Fold(value) + "\x00", strings.ToLower(value) + "\x00"}
	if begin, ok := strings.CutSuffix(value, "*"); ok && begin != "" {
		names = []string{text.Fold(begin)}
	} else if names[0] == names[1] {
		names = names[:1]
	}
	var keys []string
	for _, name := range names {
		more, err := v.voicesOf(name)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	v.speakers[value] = keys
	return keys, nil
}

// voicesOf are the keys of the speakers who are found by something that begins
// so.
func (v *view) voicesOf(begin string) ([]string, error) {
	found, err := v.scan(segment.FieldKeys, keyVoice+begin, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(found))
	seen := map[string]bool{}
	for _, f := range found {
		_, voice, _ := strings.Cut(f.term, "\x00")
		if !seen[voice] {
			seen[voice] = true
			keys = append(keys, keySpeaker+voice)
		}
	}
	return keys, nil
}

// mostNamed is how many forms of a word are looked for among the speakers of
// moments.
const mostNamed = 64

// voicesNamed finds the voices that the words of leaves may name, so that they
// are known to goroutines side by side.
func (v *view) voicesNamed(leaves []*leaf) error {
	for _, l := range leaves {
		for _, f := range l.forms[:min(len(l.forms), mostNamed)] {
			if !f.in.has(segment.FieldPeople) {
				continue
			}
			if _, err := v.voices(f.term); err != nil {
				return err
			}
		}
	}
	return nil
}

// named adds weight to the candidates in which somebody speaks whose name has a
// word.
func (m *momentSegment) named(l *leaf, c *candidates, weight float64) error {
	for _, f := range l.forms[:min(len(l.forms), mostNamed)] {
		if !f.in.has(segment.FieldPeople) {
			continue
		}
		voices, err := m.v.voices(f.term)
		if err != nil {
			return err
		}
		if len(voices) == 0 {
			continue
		}
		docs, err := m.any(segment.FieldKeys, voices)
		if err != nil {
			return err
		}
		docs.And(c.set)
		add := c.adding()
		eachOf(docs, func(doc uint32) { add(doc, f.weight*weight) })
	}
	return nil
}
