package syncer

import (
	"context"
	"fmt"

	"minutebook/archive"
)

// classAbsence is the ledger's class of walks whose absences were not believed,
// or were many.
const classAbsence = "absence"

// judgedWalk makes a walk that shows everything and counts absences after it. A
// walk that lacks too much to be believed is followed by another one at once,
// without content.
func (s *Syncer) walkWithAbsences(ctx context.Context, o walkSpec, t *runStats) error {
	for range 2 {
		c, err := s.walk(ctx, o, t)
		if err != nil {
			return err
		}
		doubted, err := s.countAbsences(ctx, o, c)
		if err != nil || !doubted {
			return err
		}
		o.content, o.reread, o.survey = false, false, false
	}
	return nil
}

// completed counts absences after a complete walk. One with an item that could
// not be read is not without error: that may be any of what it lacks.
func (s *Syncer) countAbsences(ctx context.Context, o walkSpec, c walkState) (doubted bool, err error) {
	name := o.account.Name
	if c.Unreadable > 0 {
		return false, s.recordAbsence(ctx, o, "%d items of the list could not be read: what the list lacks is not counted as gone", c.Unreadable)
	}
	if err := s.archive.ResolveFailure(ctx, name, classList, unreadableKey(o)); err != nil {
		return false, err
	}
	absence, err := s.archive.CompleteWalk(ctx, archive.Walk{Account: name, Query: o.list.Name,
		Number: c.Walk, Listed: c.Listed, Bounded: c.Bounded})
	if err != nil {
		return false, err
	}
	if absence.Hidden > 0 {
		s.log.Info().Str("account", name).Int("hidden", absence.Hidden).Int("gone", len(absence.Gone)).
			Msg("meetings are not listed any more")
	}
	switch {
	case absence.Doubted:
		return true, s.recordAbsence(ctx, o, "a complete walk lacked %d of the %d meetings that were listed before: what the next one lacks too is marked gone", absence.Lacked, absence.Listed)
	case absence.Confirmed:
		return false, s.recordAbsence(ctx, o, "two complete walks lacked %d of the %d meetings that were listed before: they are marked gone, and kept", absence.Hidden, absence.Listed)
	}
	return false, s.archive.ResolveFailure(ctx, name, classAbsence, describeList(o.list))
}

// noteAbsence has status say what a walk lacked, until the next complete one.
func (s *Syncer) recordAbsence(ctx context.Context, o walkSpec, format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	s.log.Warn().Str("account", o.account.Name).Str("list", describeList(o.list)).Msg(reason)
	return s.archive.RecordFailure(ctx, archive.Failure{Account: o.account.Name, Class: classAbsence, What: describeList(o.list), Reason: reason})
}
