package syncer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

const (
	taskPrefix = "sync/ask/"
	// lateFor is the age from which a meeting is old: the last entry of the schedule
	// of what is late, and a day's grace.
	oldAfter = 8 * 24 * time.Hour
)

// lateSchedule says when missing content is asked for again, counted from the
// first look: a meeting can be listed long before its transcript exists.
func retryIntervals() []time.Duration {
	s := []time.Duration{5 * time.Minute, 15 * time.Minute, 60 * time.Minute, 180 * time.Minute}
	for day := range 7 {
		s = append(s, time.Duration(day+1)*24*time.Hour)
	}
	return s
}

// ask is content of one meeting that is still to be read: it was not there yet,
// or the list that showed the meeting may not carry it. It is a mark, written
// together with the observation that made it necessary.
type contentTask struct {
	RecordingID int64     `json:"recording_id"`
	Account     string    `json:"account"`
	List        string    `json:"pass,omitempty"` // the query that lists the meeting
	Transcript  bool      `json:"transcript,omitempty"`
	Summary     bool      `json:"summary,omitempty"`
	Created     time.Time `json:"created"` // of the meeting
	First       time.Time `json:"first"`   // the first look
	Due         time.Time `json:"due"`
	Tries       int       `json:"tries,omitempty"` // answers without content
	Urgent      bool      `json:"urgent,omitempty"`
	// Again marks a second reading of content that is in the archive: its absence
	// is not waited for.
	Reread bool `json:"again,omitempty"`
	// Spare marks a second reading that is made with what is left of the budget.
	Spare bool `json:"spare,omitempty"`
}

// spare tells whether an ask comes after everything else: a second reading in
// rotation, and the daily looks for what an old meeting has not, which it hardly
// gets and of which a long history has many.
func (a contentTask) isSpare() bool {
	daily := a.Tries > 0 && a.Due.Sub(a.First) >= 24*time.Hour
	return a.Spare || daily && a.First.Sub(a.Created) > oldAfter
}

// due is when the ask is to be answered. One that waits for longer than any does
// was dated by a clock that was wrong, and is due now.
func (a contentTask) dueAt(now time.Time) time.Time {
	if a.Due.Sub(now) > oldAfter {
		return now
	}
	return a.Due
}

func taskKey(id int64) string { return taskPrefix + strconv.FormatInt(id, 10) }

// late is the ask after another answer without content at now, or ok false when
// it has been waited for long enough. Looks that fell into a time when nothing
// ran are not made up one by one.
func (a contentTask) nextAttempt(now time.Time) (next contentTask, ok bool) {
	a.Tries++
	if a.Reread {
		return a, false
	}
	if a.First.After(now) {
		a.First = now // it was dated by a clock that was wrong
	}
	for _, after := range retryIntervals() {
		if due := a.First.Add(after); due.After(now) {
			a.Due = due
			return a, true
		}
	}
	return a, false
}

// postponed is the ask after a failed call, which says nothing about content.
func (a contentTask) postponed(now time.Time, wait time.Duration) contentTask {
	a.Due = now.Add(wait)
	return a
}

func (a contentTask) encode() []byte {
	b, err := json.Marshal(a)
	if err != nil {
		panic("encode ask: " + err.Error()) // times of this era always encode
	}
	return b
}

func decodeTask(b []byte) (contentTask, error) {
	var a contentTask
	if err := json.Unmarshal(b, &a); err != nil {
		return contentTask{}, fmt.Errorf("read an ask's mark: %w", err)
	}
	return a, nil
}
