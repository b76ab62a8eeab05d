package archive

import "time"

// clockSlack is how far the clock may be ahead of the confirmed time without a doubt.
const clockSlack = time.Hour

// confirmedClock is the time by which the rules in force delete, so that a clock that is
// set ahead ages no meeting. A clock that is ahead is believed when the service's answers
// agree with it, when a person applies the rules, or when it has run so for
// retentionNotice; the same holds after a time in which no process ran.
type confirmedClock struct {
	At     time.Time     `json:"at"`               // the confirmed time
	Ahead  time.Duration `json:"ahead,omitempty"`  // of the clock, as long as there is a doubt
	Waited time.Duration `json:"waited,omitempty"` // since the doubt began; only time counts in which a process ran
}

// update notes the clock's time, for how long the process ran since the last update,
// and the service's time, zero when it is unknown.
func (c *confirmedClock) update(now time.Time, ran time.Duration, service time.Time) {
	if c.At.IsZero() {
		c.At = now
	}
	c.At = c.At.Add(ran)
	ahead := now.Sub(c.At)
	switch {
	case ahead <= clockSlack, !service.IsZero() && now.Sub(service) <= clockSlack:
		*c = confirmedClock{At: now}
		return
	case !service.IsZero():
		*c = confirmedClock{At: service, Ahead: now.Sub(service)}
		return
	case c.Ahead == 0 || (ahead-c.Ahead).Abs() > 24*time.Hour: // another doubt, and no machine that slept
		c.Waited = 0
	default:
		c.Waited += ran
	}
	c.Ahead = ahead
	if c.Waited >= retentionNotice {
		*c = confirmedClock{At: now}
	}
}

// NoteServiceTime notes the time by the service's clock, at this moment. A clock here
// that is far ahead of it deletes nothing early.
func (a *Archive) NoteServiceTime(service time.Time) {
	a.retention.Lock()
	defer a.retention.Unlock()
	a.serviceStart = service.Add(-a.running())
}

// serviceTime returns the time by the service's clock, zero when it is unknown. The
// caller holds the mutex retention.
func (a *Archive) serviceTime() time.Time {
	if a.serviceStart.IsZero() {
		return time.Time{}
	}
	return a.serviceStart.Add(a.running())
}
