package search

import (
	"container/heap"
	"slices"
	"sort"
)

// rankedMeeting is a meeting in the order of the answer.
type rankedMeeting struct {
	id            int64
	start         int64 // Unix milliseconds
	score         float64
	momentsRanked bool
	moments       []rankedMoment // best first
}

// rankedMoment is a moment of a meeting with its score.
type rankedMoment struct {
	entryRange
	score float64
}

// before orders by score, then newest, then by id, all descending.
func (r rankedMeeting) before(o rankedMeeting) bool {
	if r.score != o.score {
		return r.score > o.score
	}
	if r.start != o.start {
		return r.start > o.start
	}
	return r.id > o.id
}

// rankHeap is a heap whose first meeting is the last in rank.
type rankHeap []rankedMeeting

func (h rankHeap) Len() int           { return len(h) }
func (h rankHeap) Less(i, j int) bool { return h[j].before(h[i]) }
func (h rankHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *rankHeap) Push(x any)        { *h = append(*h, x.(rankedMeeting)) }
func (h *rankHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// topMeetings returns the first n meetings of a set in the order of before, without
// those that skip accepts. Without scores the order is newest first.
func (s *snapshot) topMeetings(set meetingSet, scores scores, n int, skip func(rankedMeeting) bool) []rankedMeeting {
	if n <= 0 { // such as titles that may still be read
		return nil
	}
	var h rankHeap
	for i, docs := range set {
		cols := s.segments[i].columns
		eachDocument(docs, func(doc uint32) {
			score := 0.0
			if scores != nil {
				score = float64(scores[i][doc])
			}
			if len(h) == n && score < h[0].score { // as most are
				return
			}
			r := rankedMeeting{id: cols.id[doc], start: cols.start[doc], score: score}
			if len(h) == n && !r.before(h[0]) || skip != nil && skip(r) {
				return
			}
			heap.Push(&h, r)
			if len(h) > n {
				heap.Pop(&h)
			}
		})
	}
	sort.Slice(h, func(i, j int) bool { return h[i].before(h[j]) })
	return h
}

// smoothMoments gives moments a share of the scores of those before and after them,
// and sorts them, best first.
func smoothMoments(moments []rankedMoment, share float64) {
	slices.SortFunc(moments, func(a, b rankedMoment) int { return a.From - b.From })
	own := make([]float64, len(moments))
	for i, m := range moments {
		own[i] = m.score
	}
	for i := range moments {
		if i > 0 && moments[i-1].To == moments[i].From {
			moments[i].score += share * own[i-1]
		}
		if i+1 < len(moments) && moments[i].To == moments[i+1].From {
			moments[i].score += share * own[i+1]
		}
	}
	sort.SliceStable(moments, func(i, j int) bool { return moments[i].score > moments[j].score })
}

// addMomentScores adds the moments' scores to the meetings' and sorts anew.
func addMomentScores(list []rankedMeeting, t tuning) {
	for i := range list {
		for j, m := range list[i].moments {
			switch {
			case j == 0:
				list[i].score += t.bestMoment * m.score
			case j < 3:
				list[i].score += t.nextMoments * m.score
			}
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].before(list[j]) })
}
