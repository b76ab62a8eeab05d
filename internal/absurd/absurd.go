// Package absurd mutates JSON texts by a seed, for tests of programs that read a
// service's answers. It changes the types, signs and sizes of values, leaves
// values out, and repeats them.
package absurd

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// Changer changes JSON texts. It is safe for concurrent use.
type Changer struct {
	mu   sync.Mutex // guards the fields below
	rand *rand.Rand
	rate float64
}

// New makes a Changer that changes nothing yet.
func New(seed uint64) *Changer { return &Changer{rand: rand.New(rand.NewPCG(seed, 1))} }

// SetRate sets the share of texts that are changed, from 0 to 1.
func (c *Changer) SetRate(rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rate = rate
}

// Change returns the text with some of its values changed. It returns the text
// itself when the seed spares it or when it is not JSON.
func (c *Changer) Change(raw []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !json.Valid(raw) || c.rand.Float64() >= c.rate {
		return raw
	}
	for range 1 + c.rand.IntN(3) {
		raw = c.mutate(raw)
	}
	return raw
}

// Pick returns one of the texts, or "" when the seed spares them.
func (c *Changer) Pick(list ...string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rand.Float64() >= c.rate {
		return ""
	}
	return list[c.rand.IntN(len(list))]
}

// place is the range of a value in a JSON text, in bytes.
type place struct{ from, to int }

// findPlaces returns the place of each value in a text, objects and arrays
// included. Keys are left out.
func findPlaces(raw []byte) (list []place) {
	d := json.NewDecoder(bytes.NewReader(raw))
	type level struct {
		from        int
		object, key bool
	}
	var open []level
	done := func(from int) {
		list = append(list, place{from, int(d.InputOffset())})
		if n := len(open); n > 0 && open[n-1].object {
			open[n-1].key = true
		}
	}
	for {
		from := int(d.InputOffset())
		token, err := d.Token()
		if err != nil {
			return list
		}
		from += len(raw[from:d.InputOffset()]) - len(bytes.TrimLeft(raw[from:d.InputOffset()], " \t\r\n,:"))
		switch token {
		case json.Delim('{'), json.Delim('['):
			open = append(open, level{from, token == json.Delim('{'), token == json.Delim('{')})
			continue
		case json.Delim('}'), json.Delim(']'):
			last := open[len(open)-1]
			open = open[:len(open)-1]
			done(last.from)
			continue
		}
		if n := len(open); n > 0 && open[n-1].key {
			open[n-1].key = false
			continue
		}
		done(from)
	}
}

// mutate replaces or repeats one value.
func (c *Changer) mutate(raw []byte) []byte {
	list := findPlaces(raw)
	if len(list) == 0 {
		return raw
	}
	p := list[c.rand.IntN(len(list))]
	old := string(raw[p.from:p.to])
	others := []string{"null", "0", "-1", "-9223372036854775808", "9223372036854775807", "18446744073709551616", "1e300", "-0.5", `""`,
		`"x"`, "[]", "{}", "true", "[null]", `[{}]`, `{"a":{}}`, `"` + strings.Repeat("long ", 5000) + `"`, `"0000-00-00T00:00:00Z"`,
		`"9999-12-31T23:59:59Z"`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-01:00"`, `"0000-01-01T00:00:00+01:00"`, `"\ud800"`, `"a\u0000\r\nb"`, "[" + strings.Repeat(old+",", min(2000, 1<<18/len(old))) + old + "]",
		strings.Repeat("[", 200) + strings.Repeat("]", 200), `"` + strings.Trim(old, `"{}[]`) + `"`, "-" + old}
	next := others[c.rand.IntN(len(others))]
	out := slices.Concat(raw[:p.from], []byte(next), raw[p.to:])
	if key := bytes.LastIndexByte(raw[:p.from], '"'); c.rand.IntN(4) == 0 && key > 0 && p.from-key < 4 { // the key once more
		begin := bytes.LastIndexByte(raw[:key], '"')
		out = slices.Concat(raw[:p.to], []byte(","), raw[begin:key+1], []byte(":"+next), raw[p.to:])
	}
	if !json.Valid(out) {
		return raw
	}
	return out
}
