package years

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	syncer "minutebook/sync"
)

// act is something that can happen, and how often in a year.
type act struct {
	name string
	rate int
	mid  bool // also in the middle of a walk
	do   func(w *world, g *rand.Rand)
}

// acts returns everything that can happen. Its order is part of every history.
func acts() []act {
	return []act{
		{"record", 60, false, (*world).record},
		{"edit", 40, true, (*world).edit},
		{"retitle", 20, true, (*world).retitle},
		{"share", 20, true, (*world).share},
		{"hide", 14, true, (*world).hide},
		{"delete", 8, true, (*world).remove},
		{"bring back", 6, false, (*world).bringBack},
		{"change user", 8, true, (*world).changeUser},
		{"storm", 25, false, (*world).storms},
		{"stop", 8, true, (*world).stopProgram},
		{"kill", 14, true, (*world).killProgram},
		{"kill at commit", 10, false, (*world).killAtCommit},
		{"sick disk", 5, true, (*world).sickDisk},
		{"step clock", 10, true, (*world).stepClock},
		{"configure", 10, true, (*world).configure},
		{"forget", 5, true, (*world).forget},
		{"back up", 9, true, (*world).backUp},
		{"restore", 2, false, (*world).restore},
		{"repair", 3, true, (*world).repair},
		{"rebuild", 2, true, (*world).rebuild},
		{"replay", 5, true, (*world).replay},
		{"lower limits", 5, true, (*world).lowerLimits},
		{"burst", 1, false, (*world).burst},
		{"import", 6, true, (*world).importForeign},
		{"export", 4, true, (*world).export},
		{"relay", 1, false, (*world).relay},
		{"lose tokens", 5, false, (*world).loseTokens},
		{"revoke", 3, true, (*world).revoke},
		{"share key", 4, false, (*world).shareKey},
		{"lock database", 4, true, (*world).lockDatabase},
		{"fail once", 6, true, (*world).failOnce},
		{"rename user", 3, true, (*world).renameUser},
		{"change team", 3, true, (*world).changeTeam},
		{"note", 20, true, (*world).writeNote},
		{"read now", 6, true, (*world).syncNow},
		{"rules", 6, true, (*world).changeRules},
		{"prove", 3, true, (*world).prove},
		{"upgrade", 3, true, (*world).upgrade},
		{"lose bucket", 4, true, (*world).loseBucket},
		{"edit row", 25, true, (*world).editRow},
		{"share widely", 12, true, (*world).shareWidely},
		{"join", 3, false, (*world).join},
		{"change lists", 4, true, (*world).changeLists},
		{"rename account", 3, true, (*world).renameAccount},
		{"record outside", 8, false, (*world).recordOutside},
		{"relay more", 6, false, (*world).relay},
		{"slow disk", 8, true, (*world).slowDown},
		{"pair", 12, true, (*world).pair},
		{"lack members", 16, true, (*world).lackMembers},
		{"change address", 5, true, (*world).changeAddress},
		{"slip", 24, true, (*world).slip},
	}
}

// firstWide is the first seed with everything that came later: more acts, faults and habits.
// The histories of the seeds before it, some of which once failed, stay as they were.
const firstWide = 4900

// firstNoted is the first seed with the acts after those.
const firstNoted = 6000

// firstUpgraded is the first seed with the upgrade of an archive with meetings.
const firstUpgraded = 8000

// firstStrict is the first seed of the world in which a story names the content that was not shown,
// webhooks have drawn scopes, people may view other teams, pages shift and backups are encrypted in
// some seeds.
const firstStrict = 40000

// firstHarsh is the first seed of the newest world: docs/proof.md lists its faults.
const firstHarsh = 45000

// firstSlipping is the first seed where a meeting leaves the list of a walk on purpose.
const firstSlipping = 50000

// countActs returns how many acts a seed has.
func countActs(seed uint64) int {
	switch {
	case seed < firstWide:
		return 26
	case seed < firstNoted:
		return 33
	case seed < firstUpgraded:
		return 37
	case seed < firstBucketed:
		return 38
	case seed < firstVaried:
		return 39
	case seed < firstStrict:
		return 45
	case seed < firstHarsh:
		return 46
	case seed < firstSlipping:
		return 50
	}
	return len(acts())
}

// quietDays are the days of a year on which the world is still: nothing happens before
// each of the checks for so many days.
var quietDays = []struct{ from, check int }{{90, 99}, {180, 189}, {260, 269}}

const lastQuiet = 38 // days before the end

// makePlan draws the history of a seed, which ends with a quiet time and its checks.
func (w *world) makePlan(days int) {
	day := func(n float64) time.Time { return firstDay.Add(time.Duration(n * 24 * float64(time.Hour))) }
	busy := float64(days - lastQuiet)
	w.busy = busy
	if w.relents = day(busy); days < 300 {
		w.relents = day(busy + stageDays[settled] + 0.01)
	}
	for _, a := range acts()[:countActs(w.seed)] {
		r := newRand(w.seed, "plan "+a.name)
		// some seeds have much of it, and some none
		density := 1.0
		if days < 300 && a.name != "record" { // short histories are eventful
			density = 4
		}
		n := int(density * float64(a.rate) * busy / 365 * []float64{0, 0.5, 1, 1, 1.5, 2}[r.IntN(6)])
		if a.name == "record" {
			n = max(n, int(float64(a.rate)*busy/365/2))
		}
		for i := range n {
			at := r.Float64() * busy
			mid := a.mid && r.IntN(3) == 0
			calm := busy
			if i := slices.IndexFunc(quietDays, func(q struct{ from, check int }) bool { return at < float64(q.check)+0.1 }); i >= 0 && days > 300 {
				calm = float64(quietDays[i].from)
			}
			if at < calm {
				w.planEvent(day(at), day(calm), fmt.Sprintf("%s %d", a.name, i), a, mid)
			}
		}
	}
	if w.seed >= firstHarsh { // else webhooks would hardly be judged in many seeds
		w.planEvent(day(1), day(busy), "relay at first", act{"relay at first", 1, false, (*world).relay}, false)
	}
	for at := 0.3; at < float64(days); at += 0.25 { // so that the driver looks
		w.planAt(day(at), "look", func() {
			w.connectAgain()
			w.lookAtRelay()
			w.lookForGone()
		})
	}
	for n := 20; n < days; n += 23 {
		w.planAt(day(float64(n)), "check", w.checkKept)
	}
	if days > 300 {
		for _, q := range quietDays {
			w.planAt(day(float64(q.from)), "calm", w.calm)
			w.planAt(day(float64(q.check)), "check quiet", func() {
				w.checkWhole(settled)
				w.keepCopy()
			})
		}
	}
	w.planAt(day(busy), "calm", func() {
		w.config.schedule = nightly()
		w.calm()
		w.house.reload()
	})
	w.planAt(day(busy+stageDays[soon]), "check soon", w.checkSoon)
	w.planAt(day(busy+stageDays[settled]), "check settled", func() { w.checkWhole(settled) })
	if w.seed >= firstHarsh {
		// members are lacking for up to twenty days, and their return disturbs webhooks
		w.planAt(day(busy+20), "relay in the calm", w.relayInCalm)
		w.planAt(day(busy+20.2).Add(relayRest), "record for the relay", func() {
			w.checkWaste() // nothing has changed since the last check
			w.recordForRelay()
		})
	}
	w.planAt(day(busy+stageDays[whole]).Add(-time.Minute), "last check", func() { w.checkWhole(whole) })
	if days > 300 {
		w.planAt(day(busy+stageDays[whole]).Add(-time.Second), "haste", w.checkHaste)
	}
}

func (w *world) planAt(at time.Time, name string, do func()) {
	w.keys++
	heap.Push(&w.todo, planned{at, w.keys, name, do})
}

// planEvent plans an event with random numbers of its own, which waits for the middle of a
// walk at most until the world is calm.
func (w *world) planEvent(at, calm time.Time, name string, a act, mid bool) {
	if w.disabled["event:"+name] {
		return
	}
	w.events = append(w.events, "event:"+name)
	w.planAt(at, name, func() {
		g := newRand(w.seed, "act "+name)
		if mid && w.house != nil {
			w.acting.Store(false)
			select {
			case <-w.arm():
				w.journal.note("in the middle of a walk:")
			case <-time.After(min(25*time.Hour, time.Until(calm))):
			}
		}
		w.acting.Store(true)
		w.journal.note("%s", name)
		a.do(w, g)
		if w.after != nil {
			w.after(w, name)
		}
	})
}

// isCalm reports whether nothing may happen now, before a check.
func (w *world) isCalm() bool {
	day := time.Since(firstDay).Hours() / 24
	return day >= w.busy || w.busy > 300-lastQuiet && slices.ContainsFunc(quietDays, func(q struct{ from, check int }) bool {
		return day >= float64(q.from) && day <= float64(q.check)
	})
}

// calm ends everything unusual.
func (w *world) calm() {
	w.journal.note("the world is calm")
	w.mu.Lock()
	w.storm, w.shared = storm{}, time.Now()
	w.mu.Unlock()
	w.skew.Store(0)
	w.bucket.calm()
	w.disk.span.Store(nil)
	w.endLacks()
	w.setLimits(w.usualLimits())
	w.later(2*time.Hour, "limits are usual", w.limitsAreUsual)
	if w.house == nil {
		w.start(w.dataDir)
	} else {
		w.house.sick.Store(0)
		w.house.unlock()
		w.house.failing.Store(false)
	}
	w.mend()
}

// drawOrg draws the organisation with which a seed begins.
func drawOrg(seed uint64) *org {
	r := newRand(seed, "org")
	o := &org{teams: []string{"Sales", "Support"}}
	names := []string{"ann", "bob", "cleo", "dan", "eva"}
	for i, n := range names[:3+r.IntN(3)] {
		p := &person{name: n, first: n, email: n + "@example.com", status: "active", team: o.teams[r.IntN(2)], admin: i == 0 && r.IntN(2) == 0}
		if i > 2 && r.IntN(3) == 0 {
			p.status = "invited"
		}
		o.people = append(o.people, p)
	}
	o.founders = len(o.people)
	o.newAddresses(seed)
	for _, p := range o.people[1:] {
		if r := newRand(seed, "views of "+p.name); seed >= firstHarsh && r.IntN(2) == 0 {
			p.views, p.viewed = slices.DeleteFunc(slices.Clone(o.teams), func(team string) bool { return team == p.team }), true
		}
	}
	for i := range 3 + r.IntN(20) {
		created := firstDay.Add(-time.Duration(r.IntN(400*24)) * time.Hour)
		m := drawMeeting(r, o, wideID(seed, int64(i+1)), created)
		m.ready = created
		o.meetings = append(o.meetings, m)
	}
	return o
}

func drawMeeting(r *rand.Rand, o *org, id int64, created time.Time) *meeting {
	active := slices.DeleteFunc(slices.Clone(o.people), func(p *person) bool { return !p.isActive() })
	m := &meeting{id: id, created: created.Truncate(time.Second), length: 30 * time.Minute, edges: usualEdges(), kind: "Weekly", words: 1, notes: 1, items: 1,
		sharing: []string{"no_teams", "single_team", "all_teams"}[r.IntN(3)], media: []string{"video", "video", "audio", "none"}[r.IntN(4)]}
	m.title = fmt.Sprintf("%s first title", token(id))
	m.recorder = active[r.IntN(len(active))]
	m.speaker = m.recorder.name
	if r.IntN(3) == 0 {
		m.users = []string{active[r.IntN(len(active))].email}
	}
	m.isMute = r.IntN(8) == 0
	return m
}

// drawSettings draws the configuration with which a seed begins.
func (w *world) drawSettings() settings {
	r := newRand(w.seed, "settings")
	s := settings{secrets: map[string]string{}, downloads: r.IntN(4) != 0,
		schedule: nightly()}
	s.schedule.CatchUp = []string{"17 5,17 * * *", "17 5,17 * * *", "17 */6 * * *"}[r.IntN(3)]
	if r.IntN(6) > 0 { // fewer walks are simulated faster
		s.schedule.Walk, s.schedule.Refresh, s.schedule.Directory = "0 2 */3 * *", "0 3 */3 * *", "30 0 */3 * *"
	}
	if r.IntN(4) == 0 {
		s.keeps.media = time.Duration(30+r.IntN(100)) * 24 * time.Hour
	}
	for _, p := range w.org.people[:max(1, r.IntN(len(w.org.people)))] {
		if !p.isActive() {
			continue
		}
		w.newKeyOnce(p)
		s.accounts = append(s.accounts, account{name: p.name, email: p.email, address: p.at(), key: p.key})
		s.secrets[p.name] = w.newSecret(p.name)
	}
	if r := newRand(w.seed, "app"); w.seed >= firstWide && r.IntN(3) == 0 {
		a := &s.accounts[r.IntN(len(s.accounts))]
		a.oauth, a.key = true, ""
	}
	return s
}

func nightly() syncer.Schedule {
	return syncer.Schedule{CatchUp: "17 5,17 * * *", Backfill: "0 1 * * *", Walk: "0 2 * * *", Refresh: "0 3 * * *", Directory: "30 0 * * *"}
}

func (w *world) newKeyOnce(p *person) {
	if p.key == "" {
		w.newKey(p)
	}
}
