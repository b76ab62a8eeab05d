package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"

	"minutebook/api"
	"minutebook/bench/corpus"
)

// class is a kind of query; theirs are the arguments of the same question to
// FTS5, none where it has none.
type class struct {
	name    string
	queries []string
	sql     string
	theirs  [][]any
	facets  bool
}

// Questions to FTS5.
const (
	bestFTS   = `SELECT meeting FROM utterances WHERE utterances MATCH ? ORDER BY bm25(utterances) LIMIT 10`
	saidFTS   = `SELECT meeting FROM utterances WHERE utterances MATCH ? AND speaker = ? AND start >= ? AND start < ? ORDER BY bm25(utterances) LIMIT 10`
	newestFTS = `SELECT meeting FROM utterances WHERE utterances MATCH ? ORDER BY start DESC LIMIT 10`
	facetsFTS = `SELECT speaker, count(DISTINCT meeting) FROM utterances WHERE utterances MATCH ? GROUP BY speaker ORDER BY 2 DESC LIMIT 12`
)

// wholeAnswer is the class of the searches that the page makes.
const wholeAnswer = "whole answer of the page"

// newClasses draws queries of every kind from the words of the sample.
func (h *house) newClasses() []class {
	rnd := rand.New(rand.NewPCG(7, 7))
	frequent := strings.Fields("project meeting people question time network work point community need group remote")
	common := func() string { return frequent[rnd.IntN(len(frequent))] }
	word := func() string {
		for {
			if w := anyWord(rnd, h.anyMeeting(rnd)); len(w) > 4 {
				return w
			}
		}
	}
	all := func(words ...string) (string, []any) { return strings.Join(words, " "), []any{quoted(" ", words...)} }
	var list []class
	add := func(name, sql string, facets bool, make func() (string, []any)) {
		c := class{name: name, sql: sql, facets: facets}
		for range h.queries {
			q, args := make()
			c.queries, c.theirs = append(c.queries, q), append(c.theirs, args)
		}
		list = append(list, c)
	}
	add("common term", bestFTS, false, func() (string, []any) { return all(common()) })
	add("mid term", bestFTS, false, func() (string, []any) { return all(word()) })
	add("two terms", bestFTS, false, func() (string, []any) { return all(word(), word()) })
	add("three terms", bestFTS, false, func() (string, []any) { return all(word(), word(), word()) })
	add("any of three", bestFTS, false, func() (string, []any) {
		a, b, c := word(), word(), common()
		return a + " OR " + b + " OR " + c, []any{quoted(" OR ", a, b, c)}
	})
	add("rare term", bestFTS, false, func() (string, []any) { return all(corpus.RareTerm(rnd.Uint64N(uint64(len(h.ids))))) })
	add("prefix", bestFTS, false, func() (string, []any) { w := word()[:3] + "*"; return w, []any{w} })
	add("phrase", bestFTS, false, func() (string, []any) {
		p := quoted("", anyPhrase(rnd, h.anyMeeting(rnd)))
		return p, []any{p}
	})
	add("stop words", "", false, func() (string, []any) { return all("what", "is", "the") })
	add("date and speaker", saidFTS, false, func() (string, []any) {
		m := h.anyMeeting(rnd)
		year, who, what := m.RecordingStartTime.Year(), anySpeaker(rnd, m), common()
		from := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		return fmt.Sprintf("on:%d speaker:%q %s", year, who, what), []any{quoted("", what), who, from.Unix(), from.AddDate(1, 0, 0).Unix()}
	})
	add("newest first with text", newestFTS, false, func() (string, []any) { w := word(); return w + " sort:date", []any{quoted("", w)} })
	add("newest first without", "", false, func() (string, []any) { return "", nil })
	add("facets", facetsFTS, true, func() (string, []any) { return all(common()) })
	add(wholeAnswer, "", true, func() (string, []any) { return word() + " " + common(), nil })
	add("question", "", true, func() (string, []any) {
		return "What did they say about the " + word() + " and the " + word() + "?", nil
	})
	return list
}

// quoted puts words into quotation marks, with something between them.
func quoted(between string, words ...string) string {
	return `"` + strings.Join(words, `"`+between+`"`) + `"`
}

// anyMeeting returns a meeting of the sample.
func (h *house) anyMeeting(rnd *rand.Rand) *api.Meeting { return h.sample[rnd.IntN(len(h.sample))] }

// fewestWords is how many words an entry has of which queries are made.
const fewestWords = 6

// anyWords returns the words of an entry that has enough of them.
func anyWords(rnd *rand.Rand, m *api.Meeting) []string {
	entries := m.Transcript.Or(nil)
	for {
		if found := wordsOf(entries[rnd.IntN(len(entries))].Text); len(found) >= fewestWords {
			return found
		}
	}
}

func wordsOf(passage string) []string {
	return strings.FieldsFunc(strings.ToLower(passage), func(r rune) bool { return !unicode.IsLetter(r) })
}

// anySpeaker returns the name of somebody who speaks in a meeting.
func anySpeaker(rnd *rand.Rand, m *api.Meeting) string {
	entries := m.Transcript.Or(nil)
	return entries[rnd.IntN(len(entries))].Speaker.DisplayName
}

func anyWord(rnd *rand.Rand, m *api.Meeting) string {
	w := anyWords(rnd, m)
	return w[rnd.IntN(len(w))]
}

func anyPhrase(rnd *rand.Rand, m *api.Meeting) string {
	w := anyWords(rnd, m)
	at := rnd.IntN(len(w) - 3)
	return strings.Join(w[at:at+2+rnd.IntN(2)], " ")
}
