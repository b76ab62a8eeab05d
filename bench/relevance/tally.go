package main

import (
	"fmt"

	"minutebook/api"
	"minutebook/bench/corpus"
)

// tally counts how often the answers were right.
type tally struct{ questions, first, five, moment int }

// add judges one answer: places, best first.
func (t *tally) add(q corpus.Question, places []place) {
	t.questions++
	var meetings []int64
	seen := map[int64]bool{}
	for _, p := range places {
		if !seen[p.meeting] {
			seen[p.meeting] = true
			meetings = append(meetings, p.meeting)
		}
	}
	for i, m := range meetings[:min(5, len(meetings))] {
		if m == q.RecordingID {
			t.five++
			if i == 0 {
				t.first++
			}
		}
	}
	for _, p := range places[:min(5, len(places))] {
		if p.meeting == q.RecordingID && answers(q, p) {
			t.moment++
			return
		}
	}
}

// answers says whether a place overlaps one of the stretches that answer.
func answers(q corpus.Question, p place) bool {
	for _, s := range q.Spans {
		from, err1 := api.ParseOffset(s[0])
		to, err2 := api.ParseOffset(s[1])
		if err1 == nil && err2 == nil && p.to >= from.Seconds() && p.from <= to.Seconds() {
			return true
		}
	}
	return false
}

func (t tally) plus(o tally) tally {
	return tally{t.questions + o.questions, t.first + o.first, t.five + o.five, t.moment + o.moment}
}

func (t tally) String() string {
	share := func(n int) float64 { return float64(n) / float64(max(1, t.questions)) }
	return fmt.Sprintf("%9d %9.3f %9.3f %9.3f", t.questions, share(t.first), share(t.five), share(t.moment))
}
