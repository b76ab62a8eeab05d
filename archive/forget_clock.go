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
// retentionNotice; the same holds after a time in which no process ran.
type confirmedClock struct {
	At     time.Time     `json:"at"`               // the confirmed time
	Ahead  time.Duration `json:"ahead,omitempty"`  // of the clock, as long as there is a doubt
	Waited time.Duration `json:"waited,omitempty"` // since the doubt began; only time counts in which a process ran
	Stated bool          `json:"stated,omitempty"` // a person has confirmed the clock, whatever the service's answers say
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
	switch {
	case ahead <= clockSlack && c.Stated:
		*c = confirmedClock{At: now, Stated: true, Ran: c.Ran}
		return
	case !service.IsZero() && now.Sub(service) > clockSlack: // also where the clock was never right
		*c = confirmedClock{At: service, Ahead: now.Sub(service), Ran: c.Ran}
		return
	case !service.IsZero() || ahead <= clockSlack:
		*c = confirmedClock{At: now, Ran: c.Ran}
		return
	case c.Ahead == 0 || (ahead-c.Ahead).Abs() > 24*time.Hour: // another doubt, and no machine that slept
		c.Waited = 0
	default:
		c.Waited += ran
	}
	c.Ahead = ahead
	if c.Waited >= retentionNotice {
		*c = confirmedClock{At: now, Ran: c.Ran}
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
	c.update(a.now().UTC(), ran, a.serviceTime())
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
	return a.storeClock(ctx, confirmedClock{At: a.now().UTC(), Stated: true, Ran: c.Ran})
}

// NoteServiceTime notes the time by the service's clock, at this moment. A clock here
// that is far ahead of it deletes nothing early.
func (a *Archive) NoteServiceTime(service time.Time) {
	start := service.Add(-a.running())
	a.serviceStart.Store(&start)
}

// serviceTime returns the time by the service's clock, zero when it is unknown.
func (a *Archive) serviceTime() time.Time {
	start := a.serviceStart.Load()
	if start == nil {
		return time.Time{}
	}
	return start.Add(a.running())
}
