package syncer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"minutebook/archive"
)

// classAbsence is the class of failures for walks that lacked many meetings, or
// whose absences do not count.
const classAbsence = "absence"

// maxMomentPages is how many pages are read of the meetings that were created at one time.
const maxMomentPages = 500

// errUnended ends the look for meetings that a walk lacks: they may come later in the list.
var errUnended = errors.New("the list of all meetings that were created together with one that the walk lacks does not end")

// walkWithAbsences makes a walk that shows everything and then counts the
// meetings that it lacked. If it lacked too many to be believed, a second walk
// without content follows at once.
func (s *Syncer) walkWithAbsences(ctx context.Context, o walkSpec, t *runStats) error {
	for range 2 {
		c, err := s.walk(ctx, o, t)
		if err != nil {
			return err
		}
		uncertain, err := s.countAbsences(ctx, o, c, t)
		if err != nil || !uncertain {
			return err
		}
		o.content, o.reread, o.survey = false, false, false
	}
	return nil
}

// countAbsences counts absences after a complete walk; uncertain means that a
// second walk has to confirm them. A walk with an unreadable item counts none:
// that item may be any of the missing meetings.
func (s *Syncer) countAbsences(ctx context.Context, o walkSpec, c walkState, t *runStats) (uncertain bool, err error) {
	name := o.account.Name
	w := archive.Walk{Account: name, Query: o.list.Name, Number: c.Walk, Listed: c.Listed, Bounded: c.Bounded,
		ByKey: o.account.Client.InlineContent()}
	if c.Unreadable == 0 {
		c.Unreadable, err = s.lookAgain(ctx, o, w, t)
		if errors.Is(err, errUnended) {
			return false, s.recordAbsence(ctx, o, "%v: meetings that the list lacks do not count as removed upstream", err)
		}
		if err != nil {
			return false, s.walkError(o, err)
		}
	}
	if c.Unreadable > 0 {
		return false, s.recordAbsence(ctx, o, "%d items of the list could not be read: meetings that the list lacks do not count as removed upstream", c.Unreadable)
	}
	if err := s.archive.ResolveFailure(ctx, name, classList, unreadableKey(o)); err != nil {
		return false, err
	}
	absence, err := s.archive.CompleteWalk(ctx, w)
	if err != nil {
		return false, err
	}
	if absence.Hidden > 0 {
		s.log.Info().Str("account", name).Int("hidden", absence.Hidden).Int("gone", len(absence.Gone)).
			Msg("meetings are not listed any more")
	}
	switch {
	case absence.Doubted:
		return true, s.recordAbsence(ctx, o, "a complete walk lacked %d of the %d meetings that were listed before: meetings that the next one lacks too are marked as removed upstream", absence.Lacked, absence.Listed)
	case absence.Confirmed:
		return false, s.recordAbsence(ctx, o, "two complete walks lacked %d of the %d meetings that were listed before: they are marked as removed upstream, and kept", absence.Hidden, absence.Listed)
	}
	return false, s.archive.ResolveFailure(ctx, name, classAbsence, describeList(o.list))
}

// lookAgain asks for the meetings that a walk lacks, where they are few, by the time of their
// creation: where a cursor is a place in the list, a page skips a meeting for each that
// left the pages before it meanwhile. An empty answer is not believed once, as that of a
// walk, but where many meetings have left. It returns how many items could not be read.
func (s *Syncer) lookAgain(ctx context.Context, o walkSpec, lacking archive.Walk, t *runStats) (unreadable int, err error) {
	created, err := s.archive.Lacking(ctx, lacking)
	if err != nil {
		return 0, err
	}
	o.content, o.reread = false, false
	doubts := 10 // so many empty answers are asked for again
	for _, at := range slices.Compact(created) {
		listed, bad, err := s.readMoment(ctx, o, at, t)
		if err == nil && listed == 0 && doubts > 0 {
			doubts--
			_, bad, err = s.readMoment(ctx, o, at, t)
		}
		if err != nil {
			return 0, err
		}
		unreadable += bad
	}
	return unreadable, nil
}

// readMoment reads the meetings that were created at a time, and at most two pages of a service that
// ignores the bounds. It returns how many items there were, and how many of them could not be read.
func (s *Syncer) readMoment(ctx context.Context, o walkSpec, at time.Time, t *runStats) (listed, unreadable int, err error) {
	w := window{After: at, Before: at}
	for isBounded := true; !w.Done && (isBounded || w.Pages < 2); {
		after, before := w.bounds()
		page, err := s.fetchPage(ctx, o, after, before, w.Cursor)
		if err != nil {
			return 0, 0, err
		}
		if err := s.applyPage(ctx, page, t, func() archive.Mark { return archive.Mark{} }); err != nil {
			return 0, 0, err
		}
		listed, unreadable = listed+len(page.listed), unreadable+page.unreadable
		isBounded = isBounded && !slices.ContainsFunc(page.Items, func(raw json.RawMessage) bool {
			return createdAt(raw).Sub(at).Abs() > time.Minute
		})
		if w, err = w.advanced(page.NextCursor); err != nil || w.Pages == maxMomentPages && !w.Done {
			return 0, 0, fmt.Errorf("%w (created at %s)", errUnended, at.Format(time.RFC3339))
		}
	}
	return listed, unreadable, nil
}

// recordAbsence makes status say how many meetings a walk lacked, until the
// next complete walk.
func (s *Syncer) recordAbsence(ctx context.Context, o walkSpec, format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	s.log.Warn().Str("account", o.account.Name).Str("list", describeList(o.list)).Str("reason", reason).Msg("a walk lacks meetings")
	return s.archive.RecordFailure(ctx, archive.Failure{Account: o.account.Name, Class: classAbsence, What: describeList(o.list), Reason: reason})
}
