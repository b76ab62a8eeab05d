package control

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"minutebook/internal/notify"
	"minutebook/internal/phrase"
	syncer "minutebook/sync"
)

// The limits beyond which a person is notified.
const (
	silentAfter = 24 * time.Hour
	fullWithin  = 7 * 24 * time.Hour
	awayAfter   = time.Hour // a folder of another machine goes and comes
)

// Conditions returns everything that needs a person at present. since is the start of
// the daemon, before which nothing could succeed. A condition of which this process knows
// nothing yet fades, so that one that an earlier process has reported is not over.
func (s *StatusResult) Conditions(now, since time.Time) (list []notify.Condition) {
	add := func(key, title, text string, values ...any) {
		list = append(list, notify.Condition{Key: key, Title: title, Text: fmt.Sprintf(text, values...)})
	}
	fade := func(key string) { list = append(list, notify.Condition{Key: key, Fading: true}) }
	for _, a := range s.Accounts {
		if a.Suspended != "" {
			fade("silent/" + a.Name)
			add("account/"+a.Name, "account "+a.Name+" needs someone", "The service refuses account %s since %s: %s",
				a.Name, formatUTC(a.SuspendedSince), a.Suspended)
			continue
		}
		last := latest(now, time.Time{}, slices.Collect(maps.Values(a.LastSuccess))...)
		switch could := latest(now, since, last, a.UsableSince); {
		case now.Sub(last) <= silentAfter:
		case now.Sub(could) <= silentAfter:
			fade("silent/" + a.Name)
		default:
			add("silent/"+a.Name, "account "+a.Name+" has read nothing for a day", "No job of account %s has succeeded since %s: see minutebook status.",
				a.Name, formatUTC(could))
		}
	}
	if skew := s.ClockSkew(); skew > skewError {
		add("clock", "the clock of this machine is wrong", "It was %s away from the service's at %s. Set it (systemd-timesyncd, chrony): deliveries are refused beyond five minutes.",
			skew, formatUTC(s.Clock.At))
	} else if skew > skewError/4*3 || s.Clock == nil && len(s.Accounts) > 0 {
		fade("clock")
	}
	switch at, least := s.Disk.FullAt, s.Disk.leastFree(); {
	case s.Disk.Free < least:
		add("disk", "the disk is nearly full", "%d MB are free. Without room nothing is received and fetched.", s.Disk.Free>>20)
	case !at.IsZero() && at.Sub(now) < fullWithin:
		add("disk", "the disk is full in less than a week", "%d MB are free. If the disk goes on filling as in the last days, it is full at %s.",
			s.Disk.Free>>20, formatUTC(at))
	case s.Disk.Free < least/4*5, !at.IsZero() && at.Sub(now) < fullWithin+24*time.Hour:
		fade("disk")
	}
	for job, title := range map[string]string{UpkeepBackup: "the backup failed", UpkeepProve: "the proof of the backup failed", UpkeepVerify: "the check of the archive failed"} {
		switch u := s.Upkeep[job]; {
		case u.isAbandoned():
		case u.Error != "":
			add("upkeep/"+job, title, "At %s: %s", formatUTC(u.Began), u.Error)
		case len(u.Warnings) > 0:
			add("upkeep-warning/"+job, "the backup needs a look", "%s", strings.Join(u.Warnings, "\n"))
		}
	}
	if n := s.Upkeep[UpkeepVerify].Damaged(); n > 0 {
		add("damage", "the archive is damaged", "%s found. minutebook verify lists the damage, and verify --repair repairs it.", phrase.Count(n, "damage was", "damages were"))
	}
	if m := s.Moved; m != nil {
		add("retention", "recordings are deleted soon", "The service has changed the team, type or start of %s, so that a retention rule deletes their recordings from %s on: see minutebook retention --dry-run.",
			phrase.Meetings(m.Meetings), formatUTC(m.From))
	} else if s.MovedUnknown {
		fade("retention")
	}
	if n := s.Inbox.Quarantined; n > 0 {
		add("quarantine", "deliveries are in quarantine", "%s could not be read: see minutebook status.", phrase.Count(n, "delivery", "deliveries"))
	}
	if f := s.awayFolder(); f != nil && now.Sub(f.First) > awayAfter {
		add("import", "the watched folder cannot be read", "%s since %s: %s. Nothing is imported until then.", f.What, formatUTC(f.First), f.Reason)
	}
	if n := s.Downloads.Lapsed; n > 0 {
		add("lapsed", "recordings were not fetched in time", "The links to %s expired before the download; they are asked for again.", phrase.Recordings(n))
	}
	slices.SortFunc(list, func(a, b notify.Condition) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// leastFree returns the number of free bytes below which the disk is nearly full.
func (d Disk) leastFree() int64 { return min(512<<20, d.Size/20) }

// latest returns the latest of last and some times. One of these that is ahead of the clock was
// set by a wrong one.
func latest(now, last time.Time, times ...time.Time) time.Time {
	for _, at := range times {
		if at.After(last) && !at.After(now) {
			last = at
		}
	}
	return last
}

// FullSuccess returns the time since which the catch-up of every account has succeeded;
// zero while an account is suspended or has never succeeded.
func (s *StatusResult) FullSuccess() (at time.Time) {
	for _, a := range s.Accounts {
		last := a.LastSuccess[syncer.JobCatchUp]
		if a.Suspended != "" || last.IsZero() {
			return time.Time{}
		}
		if at.IsZero() || last.Before(at) {
			at = last
		}
	}
	return at
}
