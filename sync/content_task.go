package syncer

import (
	"strconv"
	"time"
)

const (
	taskPrefix = "sync/ask/"
	// oldAfter is the age from which a meeting is old: the last of retryIntervals
	// and a day of grace.
	oldAfter = 8 * 24 * time.Hour
)

// retryIntervals returns when missing content is asked for again, counted from
// the first attempt: a meeting can be listed long before its transcript exists.
func retryIntervals() []time.Duration {
	s := []time.Duration{5 * time.Minute, 15 * time.Minute, 60 * time.Minute, 180 * time.Minute}
	for day := range 7 {
		s = append(s, time.Duration(day+1)*24*time.Hour)
	}
	return s
}

// contentTask is content of one meeting that is still to be read, because it
// did not exist yet or because the list that showed the meeting may not carry
// it. It is a mark, written together with the observation that made it
// necessary.
type contentTask struct {
	RecordingID int64     `json:"recording_id"`
	Account     string    `json:"account"`
	List        string    `json:"pass,omitempty"` // name of the query that lists the meeting
	Transcript  bool      `json:"transcript,omitempty"`
	Summary     bool      `json:"summary,omitempty"`
	Created     time.Time `json:"created"` // of the meeting
	First       time.Time `json:"first"`   // the first attempt
	Due         time.Time `json:"due"`
	Dated       time.Time `json:"dated,omitzero"`     // when Due was set
	Tries       int       `json:"tries,omitempty"`    // attempts that found no content
	Failures    int       `json:"failures,omitempty"` // failed calls since the last answer
	Urgent      bool      `json:"urgent,omitempty"`
	// Reread marks a second reading of content that the archive has, by the calls for the
	// content: if it is missing then, it is not waited for.
	Reread bool `json:"again,omitempty"`
	// Spare marks a second reading that takes only calls that nothing else wants.
	Spare bool `json:"spare,omitempty"`
}

// isSpare reports whether the task comes after all other work: a second reading
// in rotation, or a daily attempt for an old meeting. A long history has many
// meetings without content, and those attempts seldom find any.
func (a contentTask) isSpare() bool {
	daily := a.Tries > 0 && a.Due.Sub(a.First) >= 24*time.Hour
	return a.Spare || daily && a.First.Sub(a.Created) > oldAfter
}

// dueAt returns when the task is due. A task that was first attempted in the future, or would
// wait longer than any task does, or was dated in the future, was dated by a wrong clock and is due
// now.
func (a contentTask) dueAt(now time.Time) time.Time {
	if a.First.After(now) || a.Dated.After(now) || a.Due.Sub(now) > oldAfter {
		return now
	}
	return a.Due
}

// taskKey is the key of the mark of a meeting's task.
func taskKey(id int64) string { return taskPrefix + strconv.FormatInt(id, 10) }

// nextAttempt returns the task after an attempt at now that found no content;
// ok is false when it was attempted often enough. Attempts that were due while
// nothing ran are not made up one by one, but when all intervals have passed, a day follows
// each attempt until there were as many as intervals: a clock that was ahead for an hour, or a
// week without the program, ends no waiting.
func (a contentTask) nextAttempt(now time.Time) (next contentTask, ok bool) {
	a.Tries++
	if a.Reread {
		return a, false
	}
	if a.First.After(now) {
		a.First = now // a wrong clock dated it
	}
	a.Dated = now
	for _, after := range retryIntervals() {
		if a.Due = a.First.Add(after); a.Due.After(now) {
			return a, true
		}
	}
	a.Due = now.Add(24 * time.Hour)
	return a, a.Tries <= len(retryIntervals())
}

// postponed returns the task after a failed call, which says nothing about the content. It waits ever
// longer, as a recording does. But content that is wanted for the first time waits no longer than it has
// in all, so that a service that fails for some hours does not delay it by many more.
func (a contentTask) postponed(now time.Time) contentTask {
	wait := retryDelay(a.Failures)
	if !a.Reread {
		wait = min(wait, max(now.Sub(a.First), failedTaskDelay))
	}
	a.Due, a.Dated = now.Add(wait), now
	return a
}
