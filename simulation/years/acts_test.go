package years

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"minutebook/service"
)

// putAll stores every meeting at the service.
func (w *world) putAll() {
	ctx := context.Background()
	w.must(w.upstream.put(ctx, w.org.meetings...), "put the meetings")
	w.must(w.upstream.putDirectory(ctx), "put the directory")
	w.noteViewers()
}

// change stores meetings that have changed, and the directory.
func (w *world) change(list ...*meeting) {
	ctx := context.Background()
	w.must(w.upstream.put(ctx, list...), "put a meeting")
	w.must(w.upstream.putDirectory(ctx), "put the directory")
	w.noteViewers()
}

// anyMeeting draws a meeting, the newer ones more often; nil when none is there.
func (w *world) anyMeeting(g *rand.Rand, deleted bool) *meeting {
	for range 20 {
		n := len(w.org.meetings)
		m := w.org.meetings[max(g.IntN(n), g.IntN(n))]
		if m.deleted == deleted {
			return m
		}
	}
	return nil
}

// record has a person record a meeting.
func (w *world) record(g *rand.Rand) { w.recordOne(g, time.Now()) }

func (w *world) recordOne(g *rand.Rand, created time.Time) {
	w.nextID++
	m := drawMeeting(g, w.org, wideID(w.seed, w.nextID), created)
	delay := []time.Duration{0, time.Minute, 10 * time.Minute, 2 * time.Hour, 30 * time.Hour}[g.IntN(5)]
	m.ready = time.Now().Add(delay)
	w.vary(m)
	w.harden(m)
	w.org.meetings = append(w.org.meetings, m)
	w.journal.note("%s records %d, %s, ready after %s", m.recorder.name, m.id, m.sharing, delay)
	w.change(m)
	w.later(delay+m.wholeAfter()+time.Second, fmt.Sprintf("webhooks of %d", m.id), func() { w.announce(m) })
}

// burst records many meetings at once.
func (w *world) burst(g *rand.Rand) {
	for i := range 10 + g.IntN(25) {
		w.recordOne(g, time.Now().Add(-time.Duration(i)*time.Second))
	}
}

func (w *world) edit(g *rand.Rand) {
	m := w.anyMeeting(g, false)
	if m == nil {
		return
	}
	switch g.IntN(3) {
	case 0:
		m.words++
	case 1:
		m.notes++
	default:
		m.items++
	}
	w.journal.note("%d is edited: transcript %d, summary %d, action items %d", m.id, m.words, m.notes, m.items)
	w.change(m)
}

func (w *world) retitle(g *rand.Rand) {
	if m := w.anyMeeting(g, false); m != nil {
		m.title = fmt.Sprintf("%s title %d", token(m.id), g.IntN(1000))
		w.journal.note("%d is now called %q", m.id, m.title)
		w.change(m)
	}
}

func (w *world) share(g *rand.Rand) {
	m := w.anyMeeting(g, false)
	if m == nil {
		return
	}
	switch g.IntN(3) {
	case 0:
		m.sharing = "all_teams"
	case 1:
		m.sharing = "single_team"
	default:
		m.users = append(m.users, w.org.people[g.IntN(len(w.org.people))].email)
	}
	w.journal.note("%d is shared: %s, %v", m.id, m.sharing, m.users)
	m.sharedAt = time.Now()
	w.oracle.dropped(m.id)
	w.change(m)
}

// hide makes a meeting private.
func (w *world) hide(g *rand.Rand) {
	if m := w.anyMeeting(g, false); m != nil {
		w.makePrivate(m)
	}
}

func (w *world) makePrivate(m *meeting) {
	m.sharing, m.users, m.levels = "no_teams", nil, nil
	w.journal.note("%d is made private", m.id)
	m.sharedAt = time.Now()
	w.oracle.dropped(m.id)
	w.change(m)
}

func (w *world) remove(g *rand.Rand) {
	if m := w.anyMeeting(g, false); m != nil {
		w.delete(m)
	}
}

func (w *world) delete(m *meeting) {
	m.deleted, m.wasDeleted = true, true
	w.journal.note("%d is deleted at the service", m.id)
	m.sharedAt = time.Now()
	w.oracle.dropped(m.id)
	w.change(m)
}

func (w *world) bringBack(g *rand.Rand) {
	if m := w.anyMeeting(g, true); m != nil {
		m.deleted = false
		w.journal.note("%d is back at the service", m.id)
		w.change(m)
	}
}

// changeUser deactivates, activates, promotes or moves somebody.
func (w *world) changeUser(g *rand.Rand) {
	p := w.org.people[g.IntN(len(w.org.people))]
	switch {
	case w.seed >= firstStrict && p.status == "active" && g.IntN(2) == 0:
		w.changeViews(g, p)
		return
	case p.status == "invited":
		p.status, p.wasInvited = "active", true
	case p.status == "deactivated":
		p.status = "active"
	case g.IntN(3) == 0 && p != w.org.people[0]:
		p.status, p.wasDeactivated = "deactivated", true
	case g.IntN(2) == 0:
		p.team = w.org.teams[g.IntN(len(w.org.teams))]
	default:
		p.admin, p.wasAdmin = !p.admin, p.wasAdmin || p.admin
	}
	w.journal.note("%s is %s, of %s, admin %v", p.name, p.status, p.team, p.admin)
	w.putPeople()
	if p.isActive() {
		w.newKeyOnce(p)
	}
}

// putPeople puts the people at the service as they are now: each may see other meetings.
func (w *world) putPeople() {
	w.oracle.hideAll()
	w.userChanged = time.Now()
	w.disturbRelay()
	w.putAll()
}

// renameUser gives somebody another name. What was said before keeps the former one.
func (w *world) renameUser(g *rand.Rand) {
	i := g.IntN(len(w.org.people))
	p := w.org.people[i]
	former := p.name
	w.keys++
	p.name = fmt.Sprintf("%s%d", []string{"mia", "noa", "oli", "pia", "rob"}[i%5], w.keys)
	w.journal.note("%s is called %s now", former, p.name)
	w.putPeople()
}

// changeTeam renames a team, or dissolves it: then its members have none, and another team
// is founded. Accounts that list the team's meetings go on asking for the former name for
// some days.
func (w *world) changeTeam(g *rand.Rand) {
	i := g.IntN(len(w.org.teams))
	w.keys++
	name := fmt.Sprintf("Team %d", w.keys)
	w.renameTeam(g, i, name, g.IntN(2) == 0)
}

// renameTeam gives a team another name, or has another in the place of one that is dissolved.
func (w *world) renameTeam(g *rand.Rand, i int, name string, dissolved bool) {
	former := w.org.teams[i]
	w.org.teams[i] = name
	for _, p := range w.org.people {
		switch {
		case p.team == former && dissolved:
			p.team = ""
		case p.team == former:
			p.team = name
		}
		p.renameView(former, name, dissolved)
	}
	for _, m := range w.org.meetings {
		if at := slices.Index(m.teams, former); at >= 0 && dissolved {
			m.teams = slices.Delete(slices.Clone(m.teams), at, at+1)
		} else if at >= 0 {
			m.teams[at] = name
		}
	}
	w.journal.note("the team %s is now %s; dissolved %v", former, name, dissolved)
	w.putPeople()
	for _, a := range w.config.accounts {
		if slices.Contains(a.teams, former) {
			w.oracle.move(a.email)
			w.later(time.Duration(1+g.IntN(100))*time.Hour, "the new name of a team", w.correctTeams)
		}
	}
}

// correctTeams has the configuration name teams that exist.
func (w *world) correctTeams() {
	changed := false
	for i := range w.config.accounts {
		a := &w.config.accounts[i]
		if len(a.teams) > 0 && !slices.Contains(w.org.teams, a.teams[0]) {
			a.teams, changed = []string{w.org.teams[0]}, true
			w.journal.note("account %s lists the teams %v", a.name, a.teams)
		}
	}
	if changed {
		w.reconfigured()
	}
}

// storms begins a time of faults.
func (w *world) storms(g *rand.Rand) {
	s := storm{rates: map[string]float64{}, end: time.Now().Add(time.Duration(g.IntN(40*60)+1) * time.Minute)}
	force := g.Float64()
	for _, name := range w.faultNames() {
		if g.IntN(3) == 0 {
			s.rates[name] = max(faults[name], strangeFaults[name], bucketFaults[name]) * g.Float64() * force * 2
		}
	}
	w.journal.note("a storm until %s: %v", stamp(s.end), s.rates)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.storm = s
}

func (w *world) usualLimits() service.Limits { return service.Limits{Window: w.window()} }

func (w *world) window() service.Window {
	if w.traits.sliding {
		return service.WindowSliding
	}
	return service.WindowFixed
}

// lowerLimits lowers the limits of the service for some time.
func (w *world) lowerLimits(g *rand.Rand) {
	l := w.usualLimits()
	switch g.IntN(3) {
	case 0:
		l.Elevated = true
	case 1:
		l.DownloadLimit = 3 + g.IntN(10)
	default:
		l.Global, l.Heavy = 20, 10
	}
	w.journal.note("limits are lowered: %+v", l)
	w.mu.Lock()
	w.lowered = true
	w.mu.Unlock()
	w.setLimits(l)
	w.later(time.Duration(1+g.IntN(30))*time.Hour, "raise limits", func() {
		w.setLimits(w.usualLimits())
		w.later(2*time.Hour, "limits are usual", w.limitsAreUsual)
	})
}

// limitsAreUsual notes that the service has no reason any more to refuse a call.
func (w *world) limitsAreUsual() {
	l := w.upstream.service.Limits()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lowered = l.Elevated || l.DownloadLimit < 30 || l.Global < 60
}
