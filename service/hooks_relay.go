package service

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// relay decides which webhooks the changes of an archive fire. One goroutine owns it.
type relay struct {
	*Service
	seen          time.Time        // the clock's time at the last step, or at the start
	upAt          time.Duration    // the machine's uptime then
	ran           time.Duration    // the machine's uptime when the relay last ran
	mayHavePaused bool             // it was off for more than longPause, perhaps
	resumed       time.Duration    // the machine's uptime when it ran again after that
	latest        int64            // the latest time at which it ran, by whichever clock
	times         map[string]int64 // since when meetings were new at the last step, see followTimes
	decided       time.Time        // when it last looked for meetings that have waited long enough
}

func newRelay(s *Service) *relay {
	up := s.uptime()
	return &relay{Service: s, seen: s.now().Round(0), upAt: up, ran: up, mayHavePaused: true, resumed: up}
}

// noteRun notes that the relay runs, or tries to: where its disk fails for long, it was not off. The
// machine's uptime decides, which a clock that is set right does not change; 0 is unknown. After a
// long pause its file keeps the time of before until the relay has gone on from now.
func (r *relay) noteRun(ctx context.Context) {
	up := r.uptime()
	if up == 0 || up-r.ran > longPause {
		r.mayHavePaused, r.resumed = true, up
	}
	r.ran = up
	if r.mayHavePaused {
		if last, err := r.lastRun(ctx); err != nil || r.resumedAt().Sub(last) > longPause {
			return
		}
	}
	r.writeRan(r.now())
}

// resumedAt returns when the relay ran again, by the clock of now.
func (r *relay) resumedAt() time.Time { return r.now().Add(r.resumed - r.ran) }

// followClock corrects times that were written while the clock told another time. Where it has
// leapt ahead of the machine's uptime, undecided meetings wait for the rest of their hour.
func (r *relay) followClock(ctx context.Context) (err error) {
	now, up := r.now().Round(0), r.uptime()
	isKnown := up != 0 && r.upAt != 0
	leap := now.Sub(r.seen) - (up - r.upAt)
	leapt := isKnown && leap > time.Minute
	switch {
	case now.Before(r.seen): // the clock was set back
		err = r.clampTimes(ctx)
	case leapt:
		_, err = r.store.db.ExecContext(ctx, `UPDATE undecided SET until = until + ?`, leap.Milliseconds())
	}
	if err == nil {
		err = r.followTimes(ctx, leapt || !isKnown)
	}
	if err == nil {
		r.seen, r.upAt = now, up
	}
	return err
}

// step decides the webhooks of the next changes and moves the position, in one
// commit. The head is read first: where the log up to it has no rows any more, the
// position moves to it, and not past rows that come meanwhile.
func (r *relay) step(ctx context.Context, from archive.Position) error {
	r.noteRun(ctx)
	head, err := r.archive.Head(ctx)
	if err != nil {
		return err
	}
	changes, err := r.archive.Changes(ctx, from, 500)
	if errors.Is(err, archive.ErrForeignEpoch) {
		return r.resumeAfterRestore(ctx, head, err)
	}
	if err != nil {
		return err
	}
	if r.mayHavePaused {
		skipped, err := r.skipLongPause(ctx, head, changes, r.resumedAt())
		if err != nil {
			return err
		}
		if r.mayHavePaused = false; skipped {
			return nil
		}
	}
	if err := r.followClock(ctx); err != nil {
		return err
	}
	to := head
	if len(changes) > 0 {
		to.Seq = changes[len(changes)-1].Seq
	}
	if err := r.mirror.Refresh(ctx); err != nil {
		return err
	}
	now := r.now()
	err = r.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		if err := r.decide(ctx, tx, changes, now); err != nil {
			return err
		}
		return r.setPosition(ctx, tx, to)
	})
	if err == nil {
		r.decided = now
	}
	r.wakeSender()
	return err
}

// decide queues the webhooks of meetings with a new summary, and of undecided
// meetings that changed, or whose time is over.
func (r *relay) decide(ctx context.Context, tx *sql.Tx, changes []archive.Change, now time.Time) error {
	hooks, err := readWebhooks(ctx, tx, "")
	if err != nil {
		return err
	}
	if len(hooks) == 0 {
		_, err := tx.ExecContext(ctx, `DELETE FROM undecided`)
		return err
	}
	waiting, err := readUndecided(ctx, tx)
	if err != nil {
		return err
	}
	for _, id := range r.selectMeetings(waiting, changes, now) {
		until, waits := waiting[id]
		if !waits {
			until = r.now().Add(undecidedFor)
		}
		open, err := r.decideMeeting(ctx, tx, id, until)
		if err == nil {
			err = noteUndecided(ctx, tx, id, until, open)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// selectMeetings returns the meetings to decide, each once: the undecided ones that have waited long
// enough, for the lists or at all, since the last decision, each minute those that wait for the lists,
// or all of them where the directory changed, and those of changes. A new version of any part may
// make an undecided meeting readable again.
func (r *relay) selectMeetings(waiting map[int64]time.Time, changes []archive.Change, now time.Time) []int64 {
	var ids []int64
	inDirectory := slices.ContainsFunc(changes, func(c archive.Change) bool { return c.Kind == archive.ChangeDirectory })
	hasCome := func(at time.Time) bool { return at.After(r.decided) && !now.Before(at) }
	isLook := hasCome(now.Truncate(lookEvery))
	for id, until := range waiting {
		if inDirectory || isLook && now.Before(until) || hasCome(until) || hasCome(lastUntil(until)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	selected := map[int64]bool{}
	for _, c := range changes {
		_, waits := waiting[c.RecordingID]
		if c.Kind == archive.ChangePart && (waits || c.Part == api.PartSummary) || waits && c.Kind == archive.ChangeVisibility {
			ids = append(ids, c.RecordingID)
		}
	}
	return slices.DeleteFunc(ids, func(id int64) bool {
		repeated := selected[id]
		selected[id] = true
		return repeated
	})
}

// decideMeeting decides for every webhook whether it fires for a meeting, which waits for the
// lists until a time. waiting tells that some are still undecided, see newOpenTest.
func (r *relay) decideMeeting(ctx context.Context, tx *sql.Tx, id int64, until time.Time) (waiting bool, err error) {
	row, err := r.archive.Row(ctx, id)
	if errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrForgotten) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	isNew, err := r.isNew(ctx, row)
	if err != nil {
		return false, err
	}
	ev := event{recordingID: id, isNewFor: func(hook webhook) bool { return isNew && finished(row).After(hook.createdAt) }}
	if isNew {
		if ev.isOpen, err = r.newOpenTest(ctx, id, until); err != nil {
			return false, err
		}
	}
	return r.decideEvent(ctx, tx, ev)
}

// isNew reports whether a meeting is new and not history: its recording was finished
// after the relay last went on from now, and after the first read of any list that shows it,
// where an account was shown its summary; or it was delivered.
func (r *relay) isNew(ctx context.Context, row *archive.Row) (bool, error) {
	if row.Gone {
		return false, nil
	}
	since, err := r.store.timeSetting(ctx, restoredKey)
	if err != nil || !finished(row).After(since) {
		return false, err
	}
	since, ok, err := r.archive.ShownSince(ctx, row.RecordingID, api.PartSummary)
	return ok && finished(row).After(since), err
}

// finished returns when a recording was finished, by the service's stamp where it is known, and
// not before it began: the end of a recording makes a webhook fire (6.1), and its beginning may
// lie a day before.
func finished(row *archive.Row) time.Time {
	at := cmp.Or(row.CreatedAt, row.End)
	if at.Before(row.Start) {
		return row.Start
	}
	return at
}
