package syncer

import (
	"context"
	"fmt"

	"minutebook/archive"
)

// classAbsence is the class of failures for walks that lacked many meetings, or
// whose absences do not count.
const classAbsence = "absence"

// walkWithAbsences makes a walk that shows everything and then counts the
// meetings that it lacked. If it lacked too many to be believed, a second walk
// without content follows at once.
func (s *Syncer) walkWithAbsences(ctx context.Context, o walkSpec, t *runStats) error {
	for range 2 {
		c, err := s.walk(ctx, o, t)
		if err != nil {
			return err
		}
		uncertain, err := s.countAbsences(ctx, o, c)
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
func (s *Syncer) countAbsences(ctx context.Context, o walkSpec, c walkState) (uncertain bool, err error) {
	name := o.account.Name
	if c.Unreadable > 0 {
		return false, s.recordAbsence(ctx, o, "%d items of the list could not be read: meetings that the list lacks do not count as removed upstream", c.Unreadable)
	}
	if err := s.archive.ResolveFailure(ctx, name, classList, unreadableKey(o)); err != nil {
		return false, err
	}
	absence, err := s.archive.CompleteWalk(ctx, archive.Walk{Account: name, Query: o.list.Name,
		Number: c.Walk, Listed: c.Listed, Bounded: c.Bounded, ByKey: o.account.Client.InlineContent()})
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

// recordAbsence makes status say how many meetings a walk lacked, until the
// next complete walk.
func (s *Syncer) recordAbsence(ctx context.Context, o walkSpec, format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	s.log.Warn().Str("account", o.account.Name).Str("list", describeList(o.list)).Str("reason", reason).Msg("a walk lacks meetings")
	return s.archive.RecordFailure(ctx, archive.Failure{Account: o.account.Name, Class: classAbsence, What: describeList(o.list), Reason: reason})
}
