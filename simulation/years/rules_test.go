package years

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
)

// keeping says how long recordings are kept.
type keeping struct {
	media time.Duration // 0: for good
	team  string        // whose recordings are kept for good, whatever media says; "": no team's
	since time.Time     // configured since then; zero: for long
}

func (k keeping) String() string {
	return fmt.Sprintf("%s, for good of the team %q", k.media, k.team)
}

// noticeOfRules is how long new rules wait, and noticeOfMoves the recordings of a meeting that
// the service moves to another team.
const (
	noticeOfRules = 24 * time.Hour
	noticeOfMoves = 7 * 24 * time.Hour
)

// rules are the rules of the configuration.
func (w *world) rules() []archive.RetentionRule {
	k := w.config.keeps
	switch {
	case k.media == 0:
		return nil
	case k.team != "":
		return []archive.RetentionRule{{Teams: []string{k.team}}, {MediaAfter: k.media}}
	}
	return []archive.RetentionRule{{MediaAfter: k.media}}
}

// setRules changes the rules. The ones that were configured for long enough stay in force
// until the new ones are.
func (w *world) setRules(k keeping) {
	o := w.oracle
	if h := w.house; h != nil && h.expiring.Load() > 0 { // those that delete now
		o.mayExpire()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	former := w.config.keeps
	if former != o.known { // the archive never took those: they were in nobody's force
		former = o.known
	}
	if time.Since(former.since) >= noticeOfRules {
		o.before = former
	}
	k.since = time.Now()
	if k.team == former.team && former.media > 0 && k.media >= former.media {
		k.since = former.since // they delete no more than those did, and continue their wait
	}
	w.config.keeps = k
	w.journal.note("recordings are kept for %s", k)
}

// changeRules changes the rules. Of a team that they name the name changes some days later, and
// perhaps back.
func (w *world) changeRules(g *rand.Rand) {
	k := keeping{media: time.Duration(10+g.IntN(200)) * 24 * time.Hour}
	if i := g.IntN(3); i < 2 {
		k.team = w.org.teams[i]
		wait := time.Duration(24+g.IntN(300)) * time.Hour
		for _, name := range []string{k.team + " 2", k.team}[:1+g.IntN(2)] {
			w.later(wait, "the team's name", func() {
				if !w.isCalm() {
					w.renameTeam(g, i, name, false)
				}
			})
			wait += time.Duration(g.IntN(400)) * time.Hour
		}
	}
	w.setRules(k)
	w.reconfigured()
}

// teamsShown are the teams with which the service showed a meeting.
type teamsShown struct {
	raw     string // the newest
	current string
	changes []teamChange
	sent    teamChange // the newest webhook with another team than the current
	asked   time.Time  // when the latest call was sent that was shown the current team
	shown   time.Time  // when it was shown last
	former  time.Time  // when the team before it was
	// isMoved: the recorder has another address since, and is shown without a team with it. As far as an
	// archive can know that is another person.
	isMoved bool
}

// isCrossed reports whether the current team was shown only to calls that were sent before the team
// before it was shown: reads are numbered as they are sent, see docs/merging.md.
func (s teamsShown) isCrossed() bool { return !s.asked.After(s.former) }

// had reports whether a meeting was shown with a team, and is not any more.
func (s teamsShown) had(team string) bool {
	return slices.ContainsFunc(s.changes, func(c teamChange) bool { return strings.EqualFold(c.former, team) })
}

// teamChange is that a meeting was shown with another team than before.
type teamChange struct {
	former, team string
	at           time.Time
}

func (c teamChange) String() string {
	return fmt.Sprintf("%s to %s at %s", c.former, c.team, stamp(c.at))
}

// showTeam notes who recorded a meeting, as it is shown now to a call. No team, which some
// accounts are shown, changes nothing.
func (o *oracle) showTeam(id int64, recorder []byte, sent time.Time) {
	if recorder == nil {
		return
	}
	s := o.teams[id]
	team, address := readRecorder(recorder)
	if team == "" {
		_, former := readRecorder([]byte(s.raw))
		s.isMoved = s.isMoved || s.raw != "" && address != "" && !strings.EqualFold(address, former)
		o.teams[id] = s
		return
	}
	if s.current != "" && s.current != team {
		c := teamChange{s.current, team, time.Now()}
		if s.sent.team == team {
			c.at = s.sent.at
		}
		s.changes = append(s.changes, c)
		s.former, s.asked = s.shown, sent
	}
	if sent.After(s.asked) {
		s.asked = sent
	}
	s.shown, s.isMoved = time.Now(), s.isMoved && string(recorder) == s.raw
	s.raw, s.current = string(recorder), team
	o.teams[id] = s
}

// sendTeam notes the team in an acknowledged webhook, which may be older than the newest list.
func (o *oracle) sendTeam(id int64, body []byte) {
	var m struct {
		Recorder json.RawMessage `json:"recorded_by"`
	}
	s := o.teams[id]
	if json.Unmarshal(body, &m) != nil {
		return
	}
	if team, _ := readRecorder(m.Recorder); team != s.current {
		s.sent = teamChange{s.current, team, time.Now()}
		o.teams[id] = s
	}
}

// readRecorder returns the team and the address of a recorder; "": none.
func readRecorder(recorder []byte) (team, address string) {
	var r struct{ Team, Email string }
	_ = json.Unmarshal(recorder, &r) // one that cannot be read has none
	return r.Team, r.Email
}

// isKept reports whether the recordings of a meeting are kept for good for its team.
func (o *oracle) isKept(id int64, k keeping) bool {
	return k.team != "" && strings.EqualFold(o.teams[id].current, k.team)
}

// deletes reports whether rules delete a meeting's recording.
func (o *oracle) deletes(k keeping, m *meeting) bool {
	return k.media > 0 && !o.isKept(m.id, k) && !o.w.believedTime().Before(m.start().Add(k.media))
}

// rule notes that the archive has been given rules.
func (o *oracle) rule(k keeping) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known = k
	if o.ruled.IsZero() && k.media > 0 {
		o.ruled = time.Now()
	}
}

// noteExpired tells the oracle of a meeting whose recordings a rule deleted.
func (h *house) noteExpired(event json.RawMessage) {
	var e archive.Expired
	h.w.must(json.Unmarshal(event, &e), "read an event of retention")
	if m := h.w.named(e.RecordingID, e.Title); m != nil {
		h.w.oracle.expired(m)
	}
}

// expired notes that the program deleted a meeting's recording by a rule, and judges that.
func (o *oracle) expired(m *meeting) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lapsed[m.id] = true
	shown, k := o.teams[m.id], o.w.config.keeps
	switch {
	case shown.isMoved:
	case !o.deletes(k, m):
		o.w.report("retention deletes the recording of %d, which is of %s and the team %q, with the rules %s", m.id, stamp(m.created), shown.current, k)
	case time.Since(k.since) < noticeOfRules && !o.deletes(o.before, m):
		o.w.report("retention deletes the recording of %d without notice, with the rules %s, %s before", m.id, k, o.before)
	case slices.ContainsFunc(shown.changes, func(c teamChange) bool {
		return strings.EqualFold(c.former, k.team) && c.at.After(o.ruled) && time.Since(c.at) < noticeOfMoves-grace
	}):
		o.w.report("retention deletes the recording of %d without notice, since its team has changed: %v, with the rules %s", m.id, shown.changes, k)
	}
}

// isExpired reports whether the rules may delete a meeting's recording: new ones not for a day,
// during which those before them may.
func (w *world) isExpired(m *meeting) bool {
	k := w.config.keeps
	if time.Since(k.since) < noticeOfRules {
		k = w.oracle.before
	}
	return w.oracle.deletes(k, m)
}

// isExpiring reports whether the rules may be deleting a meeting's recording at this moment,
// before the program says so.
func (w *world) isExpiring(m *meeting) bool {
	return (w.bucket.isTroubled() || w.house.expiring.Load() > 0) && w.isExpired(m)
}

// checkExpired looks for recordings that the rules should have deleted, a month after the last
// change.
func (w *world) checkExpired() {
	const month = 30 * 24 * time.Hour
	for _, m := range w.org.meetings {
		list, err := w.house.archive.MediaOf(w.house.life, m.id)
		k, shown := w.config.keeps, w.oracle.teams[m.id]
		if shown.current == "" && strings.EqualFold(shown.sent.team, k.team) {
			continue // no list that is read names a team, and a webhook did
		}
		if (w.isRefusedAnywhere(m) || shown.isCrossed()) && shown.had(k.team) {
			continue // the row keeps the name between where a former one comes back, see docs/merging.md
		}
		if k.media += month; err == nil && len(list) > 0 && w.config.keeps.media > 0 && time.Since(k.since) > month && w.oracle.deletes(k, m) {
			w.fail("the recording of %d, which is of %s and the team %q, is here, with the rules %s", m.id, stamp(m.created), w.oracle.teams[m.id].current, w.config.keeps)
		}
	}
}

// mayExpire notes that a rule may have deleted recordings without a word: the commits after
// the deletion fail, or the program ends.
func (o *oracle) mayExpire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := slices.Clone(o.w.org.meetings)
	for n := range foreignMeetings {
		list = append(list, o.w.foreignMeeting(n))
	}
	for _, m := range list {
		if o.w.isExpired(m) {
			o.lapsed[m.id] = true
		}
	}
}

// believedTime is the latest time by which rules may delete: the clock's, where it is ahead
// by no more than an hour, or was ahead for a day and the service never said the time, since
// it sends no Date or no account works, and the true time otherwise.
func (w *world) believedTime() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	ahead := time.Duration(w.skew.Load())
	isUnknown := w.traits.lacksDate || !slices.ContainsFunc(w.org.people, w.isRead)
	if ahead > 0 && (ahead <= time.Hour || isUnknown && time.Since(w.skewedAt) >= 24*time.Hour) {
		return time.Now().Add(ahead)
	}
	return time.Now()
}
