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
func (s *Syncer) judgedWalk(ctx context.Context, o order, t *tally) error {
	for range 2 {
		c, err := s.walk(ctx, o, t)
		if err != nil {
			return err
		}
		doubted, err := s.completed(ctx, o, c)
		if err != nil || !doubted {
			return err
		}
		o.content, o.again, o.survey = false, false, false
	}
	return nil
}

// completed counts absences after a complete walk. One with an item that could
// not be read is not without error: that may be any of what it lacks.
func (s *Syncer) completed(ctx context.Context, o order, c course) (doubted bool, err error) {
	name := o.account.Name
	if c.Unreadable > 0 {
		return false, s.noteAbsence(ctx, o, "%d items of the list could not be read: what the list lacks is not counted as gone", c.Unreadable)
	}
	if err := s.archive.ResolveFailure(ctx, name, classList, unreadableItem(o)); err != nil {
		return false, err
	}
	absence, err := s.archive.CompleteWalk(ctx, archive.Walk{Account: name, Query: o.pass.Name,
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
		return true, s.noteAbsence(ctx, o, "a complete walk lacked %d of the %d meetings that were listed before: what the next one lacks too is marked gone", absence.Lacked, absence.Listed)
	case absence.Confirmed:
		return false, s.noteAbsence(ctx, o, "two complete walks lacked %d of the %d meetings that were listed before: they are marked gone, and kept", absence.Hidden, absence.Listed)
	}
	return false, s.archive.ResolveFailure(ctx, name, classAbsence, passName(o.pass))
}

// noteAbsence has status say what a walk lacked, until the next complete one.
func (s *Syncer) noteAbsence(ctx context.Context, o order, format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	s.log.Warn().Str("account", o.account.Name).Str("list", passName(o.pass)).Msg(reason)
	return s.archive.RecordFailure(ctx, archive.Failure{Account: o.account.Name, Class: classAbsence, What: passName(o.pass), Reason: reason})
}
