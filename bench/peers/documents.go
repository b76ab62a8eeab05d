package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"minutebook/api"
	"minutebook/bench/corpus"
)

// documents are the meetings and their words.
type documents struct {
	options
	source *corpus.Resampler
	bytes  int // of all text
}

// builtIn is how long an engine took to take in all meetings, and the bytes that it uses.
type builtIn struct {
	elapsed time.Duration
	size    int64
}

func newDocuments(o options) (*documents, error) {
	dir, err := corpus.Dir()
	if err != nil {
		return nil, err
	}
	d := &documents{options: o}
	if d.source, err = corpus.NewResampler(dir, 1); err != nil {
		return nil, err
	}
	d.source.Mean = true
	return d, d.each(func(_ int, text string) error {
		d.bytes += len(text)
		return nil
	})
}

// each calls fn with the text of every meeting.
func (d *documents) each(fn func(number int, text string) error) error {
	for number := 1; number <= d.meetings; number++ {
		m := d.source.Meeting(number)
		var lines []string
		for _, e := range m.Transcript.Or(nil) {
			lines = append(lines, e.Speaker.DisplayName+": "+e.Text)
		}
		sum, _ := m.DefaultSummary.Get()
		text := strings.Join(append([]string{m.Title, sum.MarkdownFormatted.Or("")}, lines...), "\n")
		if err := fn(number, text); err != nil {
			return err
		}
	}
	return nil
}

// query is a question: all of its words, any of them, the phrase that they are, or words
// that begin with the only one.
type query struct {
	Kind  string   `json:"kind"` // all, any, phrase, prefix
	Words []string `json:"words"`
}

// class is a kind of queries.
type class struct {
	name    string
	queries []query
}

// classes draws queries of every kind from the words of the meetings.
func (d *documents) classes() (list []class) {
	rnd := rand.New(rand.NewPCG(7, 7))
	frequent := strings.Fields("project meeting people question time network work point community need group remote")
	common := func() string { return frequent[rnd.IntN(len(frequent))] }
	meeting := func() *api.Meeting { return d.source.Meeting(1 + rnd.IntN(d.meetings)) }
	word := func() string {
		for {
			found := drawWords(meeting(), rnd)
			if w := found[rnd.IntN(len(found))]; len(w) > 4 {
				return w
			}
		}
	}
	add := func(name, kind string, draw func() []string) {
		c := class{name: name}
		for range d.queries {
			c.queries = append(c.queries, query{kind, draw()})
		}
		list = append(list, c)
	}
	add("common word", "all", func() []string { return []string{common()} })
	add("word of middling frequency", "all", func() []string { return []string{word()} })
	add("rare word", "all", func() []string { return []string{strings.ToLower(corpus.RareTerm(rnd.Uint64N(uint64(d.meetings))))} })
	add("two words", "all", func() []string { return []string{word(), word()} })
	add("three words", "all", func() []string { return []string{word(), word(), word()} })
	add("any of three words", "any", func() []string { return []string{word(), word(), common()} })
	add("phrase", "phrase", func() []string {
		w := drawWords(meeting(), rnd)
		at := rnd.IntN(len(w) - 3)
		return w[at : at+2+rnd.IntN(2)]
	})
	add("beginning of a word", "prefix", func() []string { return []string{word()[:4]} })
	return list
}

// drawWords returns the words of one of a meeting's entries.
func drawWords(m *api.Meeting, rnd *rand.Rand) []string {
	entries := m.Transcript.Or(nil)
	for {
		text := entries[rnd.IntN(len(entries))].Text
		found := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) })
		if len(found) > 5 {
			return found
		}
	}
}

// sizeOf returns the bytes of all files below a folder.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", dir, err)
	}
	return size, nil
}
