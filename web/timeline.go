package web

import "time"

// timeline draws who speaks when: a lane for each of the most talkative, the
// highlights above them. Its units are those of the drawing.
type timeline struct {
	Width, Height int
	Talk          []turn
	Marks         []timeMark
}

// turn is a period in which one speaker talks without interruption.
type turn struct {
	X, Width float64
	Y        int
	Voice    int
}

// timeMark is a highlight's span.
type timeMark struct{ X, Width float64 }

const (
	timelineWidth = 1000
	lane          = 10 // height of a lane
	maxLanes      = 6
)

// newTimeline returns nothing when there is no talk or no length to draw it on.
func newTimeline(lines []line, speakers []speaker, marks []highlight, length time.Duration) *timeline {
	if len(lines) == 0 || length <= 0 {
		return nil
	}
	lanes := min(len(speakers), maxLanes)
	t := &timeline{Width: timelineWidth, Height: lanes*lane + 8}
	x := func(d time.Duration) float64 {
		return min(1, max(0, float64(d)/float64(length))) * timelineWidth
	}
	for i := 0; i < len(lines); {
		j := i + 1
		for j < len(lines) && lines[j].Speaker == lines[i].Speaker {
			j++
		}
		if v := lines[i].Voice; v < lanes {
			from := x(lines[i].Offset)
			t.Talk = append(t.Talk, turn{X: from, Width: max(1.5, x(lines[j-1].End)-from), Y: v*lane + 7, Voice: v})
		}
		i = j
	}
	for _, h := range marks {
		from := x(h.From)
		t.Marks = append(t.Marks, timeMark{X: from, Width: max(4, x(h.To)-from)})
	}
	return t
}
