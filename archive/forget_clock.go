package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// clockSlack is how far the clock may be ahead of the confirmed time without a doubt.
const clockSlack = time.Hour

// confirmedClock is a time by which records are old enough to be deleted, so that a clock
// that is set ahead ages none. A clock that is ahead is believed when the service's answers
// agree with it, when a person applies the rules, or when it has run so for
// retentionNotice while no answer counts, see serviceTime; the same holds after a time in which
// no process ran.
type confirmedClock struct {
	At     time.Time     `json:"at"`               // the confirmed time
	Ahead  time.Duration `json:"ahead,omitempty"`  // of the clock, as long as there is a doubt
	Waited time.Duration `json:"waited,omitempty"` // since the doubt began; only time counts in which a process ran
	Stated bool          `json:"stated,omitempty"` // a person has confirmed the clock, whatever the service's answers say
	Lead   time.Duration `json:"lead,omitempty"`   // of the clock that a person has confirmed over the service's, which is wrong by that
	Ran    time.Duration `json:"ran,omitempty"`    // for which processes have run with the archive, all together
}

// update notes the clock's time, for how long the process ran since the last update,
// and the service's time, zero when it is unknown.
func (c *confirmedClock) update(now time.Time, ran time.Duration, service time.Time) {
	if c.At.IsZero() {
		c.At = now
	}
	c.At, c.Ran = c.At.Add(ran), c.Ran+ran
	ahead := now.Sub(c.At)
	if !service.IsZero() {
		switch lead := now.Sub(service); {
		case ahead <= clockSlack && c.Stated:
			c.Lead = max(lead, 0)
		case lead < c.Lead-clockSlack: // the service's clock was set
			c.Lead = 0
		}
		service = service.Add(c.Lead)
	}
	switch {
	case !service.IsZero() && now.Sub(service) > clockSlack: // also where the clock was never right
		c.At, c.Ahead, c.Waited = service, now.Sub(service), 0
		return
	case !service.IsZero() || ahead <= clockSlack:
		c.At, c.Ahead, c.Waited = now, 0, 0
		return
	case c.Ahead == 0 || (ahead-c.Ahead).Abs() > 24*time.Hour: // another doubt, and no machine that slept
		c.Waited = 0
	default:
		c.Waited += ran
	}
	c.Ahead = ahead
	if c.Waited >= retentionNotice { // nobody has stated this one
		*c = confirmedClock{At: now, Lead: c.Lead, Ran: c.Ran}
	}
}

// clockKey is the mark with the confirmed clock.
const clockKey = "confirmed-clock"

// ConfirmedTime returns the time by which records are old enough to be deleted, at most a
// minute old: that of the clock, unless there is a doubt, see confirmedClock.
func (a *Archive) ConfirmedTime(ctx context.Context) (time.Time, error) {
	if err := a.retention.Acquire(ctx, 1); err != nil {
		return time.Time{}, fmt.Errorf("read the confirmed clock: %w", err)
	}
	defer a.retention.Release(1)
	c, err := a.readClock(ctx)
	return c.At, err
}

// readClock returns the confirmed clock. Within a minute it is not updated again, so that
// it is seldom written. The caller holds retention.
func (a *Archive) readClock(ctx context.Context) (c confirmedClock, err error) {
	stored, err := a.Mark(ctx, clockKey)
	if err != nil {
		return c, err
	}
	if stored != nil {
		if err := json.Unmarshal(stored, &c); err != nil {
			return c, fmt.Errorf("read the confirmed clock: %w", err)
		}
	}
	running, ran := a.running(), time.Duration(0)
	if a.clockRead >= 0 {
		ran = max(running-a.clockRead, 0)
		if running >= a.clockRead && ran < time.Minute && stored != nil {
			return c, nil
		}
	}
	now := a.now().UTC()
	c.update(now, ran, a.serviceTime(now))
	if err := a.storeClock(ctx, c); err != nil {
		return c, err
	}
	a.clockRead = running
	return c, nil
}

func (a *Archive) storeClock(ctx context.Context, c confirmedClock) error {
	value, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return a.SetMarks(ctx, Mark{Key: clockKey, Value: value})
}

// confirmClock confirms the clock as it is, for a person.
func (a *Archive) confirmClock(ctx context.Context) error {
	if err := a.retention.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("confirm the clock: %w", err)
	}
	defer a.retention.Release(1)
	c, err := a.readClock(ctx)
	if err != nil {
		return err
	}
	now := a.now().UTC()
	c = confirmedClock{At: now, Stated: true, Ran: c.Ran}
	c.update(now, 0, a.serviceTime(now))
	return a.storeClock(ctx, c)
}

// clockInterval is how often KeepClock notes that the process runs: a crash takes back the
// notices of the rules by that at most.
const clockInterval = 10 * time.Minute

// KeepClock notes for how long this process runs, now, every clockInterval and when ctx ends, so
// that notices and doubts end also where no process runs for long.
func (a *Archive) KeepClock(ctx context.Context) {
	tick := time.NewTicker(clockInterval)
	defer tick.Stop()
	for {
		if _, err := a.ConfirmedTime(ctx); err != nil && ctx.Err() == nil {
			a.log.Error().Err(err).Msg("note for how long the process has run; trying again in ten minutes")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			_, _ = a.ConfirmedTime(last) // where it fails, no more is lost than by a crash
			return
		}
	}
}

// answerTime is the running time for which an answer of the service counts against a clock that
// has leapt since: the clock was set, or the machine slept.
const answerTime = 7 * day

// serviceAnswer is the time by the service's clock in its last answer.
type serviceAnswer struct {
	start time.Time     // by the service's clock, when running was 0
	ran   time.Duration // running, at the answer
	ahead time.Duration // the clock's lead, at the answer
}

// NoteServiceTime notes the time by the service's clock, at this moment. A clock here
// that is far ahead of it deletes nothing early.
func (a *Archive) NoteServiceTime(service time.Time) {
	ran := a.running()
	a.answer.Store(&serviceAnswer{service.Add(-ran), ran, a.now().Sub(service)})
}

// serviceTime returns the time by the service's clock, zero when it is unknown. An answer
// counts for good while the clock goes on as it did then, and for answerTime otherwise.
func (a *Archive) serviceTime(now time.Time) time.Time {
	s, ran := a.answer.Load(), a.running()
	if s == nil {
		return time.Time{}
	}
	service := s.start.Add(ran)
	if leap := now.Sub(service) - s.ahead; leap.Abs() > clockSlack && ran-s.ran > answerTime {
		return time.Time{}
	}
	return service
}
