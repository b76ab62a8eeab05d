package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"

	"minutebook/api"
	"minutebook/bench/corpus"
)

// class is a kind of query; fts is the same question to FTS5, or empty where
// FTS5 has none.
type class struct {
	name    string
	queries []string
	fts     []string
	facets  bool
}

// wholeAnswer is the class of what the page asks for.
const wholeAnswer = "whole answer of the page"

// classes draws queries of every kind from what is said in the meetings.
func classes(r *corpus.Resampler, o options) []class {
	rnd := rand.New(rand.NewPCG(7, 7))
	common := strings.Fields("project meeting people question time network work point community need group remote")
	word := func() string {
		for {
			if w := anyWord(rnd, r.Meeting(1+rnd.IntN(o.meetings))); len(w) > 4 {
				return w
			}
		}
	}
	var list []class
	add := func(name string, facets bool, make func() (ours, fts string)) {
		c := class{name: name, facets: facets}
		for range o.queries {
			q, f := make()
			c.queries, c.fts = append(c.queries, q), append(c.fts, f)
		}
		list = append(list, c)
	}
	add("common term", false, func() (string, string) { w := common[rnd.IntN(len(common))]; return w, quote(w) })
	add("mid term", false, func() (string, string) { w := word(); return w, quote(w) })
	add("two terms", false, func() (string, string) { a, b := word(), word(); return a + " " + b, quote(a) + " " + quote(b) })
	add("three terms", false, func() (string, string) {
		a, b, c := word(), word(), word()
		return a + " " + b + " " + c, quote(a) + " " + quote(b) + " " + quote(c)
	})
	add("any of three", false, func() (string, string) {
		a, b, c := word(), word(), common[rnd.IntN(len(common))]
		return a + " OR " + b + " OR " + c, quote(a) + " OR " + quote(b) + " OR " + quote(c)
	})
	add("rare term", false, func() (string, string) { w := corpus.RareTerm(rnd.Uint64N(uint64(o.meetings))); return w, quote(w) })
	add("prefix", false, func() (string, string) { w := word()[:3]; return w + "*", w + "*" })
	add("phrase", false, func() (string, string) {
		p := anyPhrase(rnd, r.Meeting(1+rnd.IntN(o.meetings)))
		return `"` + p + `"`, quote(p)
	})
	add("stop words", false, func() (string, string) { return "what is the", quote("what") + " " + quote("is") + " " + quote("the") })
	add("date and speaker", false, func() (string, string) {
		return fmt.Sprintf("on:%d-%02d speaker:%q %s", 2021+rnd.IntN(5), 1+rnd.IntN(12), corpus.Speaker(rnd.IntN(2000)), common[rnd.IntN(len(common))]), ""
	})
	add("newest first, with text", false, func() (string, string) { return word() + " sort:date", "" })
	add("newest first, without", false, func() (string, string) { return "", "" })
	add(wholeAnswer, true, func() (string, string) { return word() + " " + common[rnd.IntN(len(common))], "" })
	add("question", true, func() (string, string) {
		return "What did they say about the " + word() + " and the " + word() + "?", ""
	})
	return list
}

func quote(s string) string { return `"` + s + `"` }

func words(m *api.Meeting, rnd *rand.Rand) []string {
	entries := m.Transcript.Or(nil)
	for {
		text := entries[rnd.IntN(len(entries))].Text
		found := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
		if len(found) > 5 {
			return found
		}
	}
}

func anyWord(rnd *rand.Rand, m *api.Meeting) string {
	w := words(m, rnd)
	return w[rnd.IntN(len(w))]
}

func anyPhrase(rnd *rand.Rand, m *api.Meeting) string {
	w := words(m, rnd)
	at := rnd.IntN(len(w) - 3)
	return strings.Join(w[at:at+2+rnd.IntN(2)], " ")
}
