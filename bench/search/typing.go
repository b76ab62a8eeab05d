package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/search"
)

// measureTyping asks for suggestions as somebody types, and for trends, and prints the
// times of both, for the owner and for who sees half.
func (h *house) measureTyping(ctx context.Context) error {
	rnd := rand.New(rand.NewPCG(11, 11))
	var texts, trends []string
	for range h.options.queries {
		m := h.anyMeeting(rnd)
		typed := anyPhrase(rnd, m)
		if rnd.IntN(3) == 0 {
			typed = strings.ToLower(anySpeaker(rnd, m))
		}
		for n := 1; n <= len(typed); n++ {
			texts = append(texts, typed[:n])
		}
		trends = append(trends, anyWord(rnd, m), `"`+anyPhrase(rnd, m)+`"`, anyWord(rnd, m)+" OR "+anyWord(rnd, m))
	}
	for _, by := range []struct {
		name   string
		viewer archive.Viewer
	}{{"", everyone}, {", by who sees half", half}} {
		var suggested, trended answered
		for _, text := range texts {
			begin := time.Now()
			found, err := h.index.Suggest(ctx, search.SuggestRequest{Text: text, Viewer: by.viewer})
			if err != nil {
				return err
			}
			suggested.note(time.Since(begin), text, len(found), true)
		}
		for i, query := range trends {
			begin := time.Now()
			unit := []string{search.TrendMonth, search.TrendTeam, search.TrendPerson}[i/3%3]
			found, err := h.index.Trends(ctx, search.TrendsRequest{Queries: []string{query}, By: unit, Viewer: by.viewer})
			if err != nil {
				return err
			}
			trended.note(time.Since(begin), query, found[0].Total, found[0].Exact)
		}
		suggested.print("suggestions"+by.name, nil)
		trended.print("trends"+by.name, nil)
	}
	fmt.Println()
	return nil
}

// note adds one answer.
func (a *answered) note(took time.Duration, question string, found int, exact bool) {
	if len(a.times) == 0 || took > a.longest {
		a.longest, a.worst = took, question
	}
	a.times = append(a.times, took)
	a.found += found
	if exact {
		a.exact++
	}
}
