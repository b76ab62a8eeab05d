package years

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// firstVaried is the first seed whose meetings become ready part by part, are edited in all that
// they show, are matched to CRMs, are recorded outside too, and are shared with several teams and
// at several levels; where people join later, accounts are renamed, and read lists of recorders.
const firstVaried = 30000

// vary gives a new meeting the properties that only later seeds have.
func (w *world) vary(m *meeting) {
	if w.seed < firstVaried {
		return
	}
	g := newRand(w.seed, fmt.Sprint("variety ", m.id))
	m.late = map[string]time.Duration{}
	for _, part := range contentKeys {
		m.late[part] = []time.Duration{0, 0, 5 * time.Minute, time.Hour, 5 * time.Hour}[g.IntN(5)]
	}
}

// wholeAfter is how long after its first part a meeting has all its content.
func (m *meeting) wholeAfter() (d time.Duration) {
	for _, late := range m.late {
		d = max(d, late)
	}
	return d
}

// editRow edits the highlights of a meeting, its type, its language or who was invited.
func (w *world) editRow(g *rand.Rand) {
	m := w.anyMeeting(g, false)
	if m == nil {
		return
	}
	switch n := len(m.guests); g.IntN(5) {
	case 0:
		m.points++
	case 1:
		m.kind = []string{"Weekly", "Review"}[g.IntN(2)]
	case 2:
		m.language = []string{"en", "de", "pt-BR", "unknown"}[g.IntN(4)]
	case 3:
		if n > 0 {
			m.guests = m.guests[:n-1]
			break
		}
		fallthrough
	default:
		w.keys++
		m.guests = append(slices.Clone(m.guests), fmt.Sprintf("guest%d", w.keys))
	}
	w.journal.note("%d is edited: highlights %d, type %s, language %q, guests %v", m.id, m.points, m.kind, m.language, m.guests)
	w.change(m)
}

// guestAddress is the address of somebody who was invited from outside.
func guestAddress(name string) string { return name + "@outside.example" }

// shareWidely shares a meeting with several teams, or with a person at another level.
func (w *world) shareWidely(g *rand.Rand) {
	m := w.anyMeeting(g, false)
	if m == nil {
		return
	}
	if g.IntN(2) == 0 {
		m.sharing, m.teams = "multiple_teams", slices.Clone(w.org.teams)
	} else {
		email := w.org.people[g.IntN(len(w.org.people))].email
		if m.levels == nil {
			m.levels = map[string]string{}
		}
		m.levels[email] = []string{"limited", "limited", "standard", "admin"}[g.IntN(4)]
		if !slices.Contains(m.users, email) {
			m.users = append(m.users, email)
		}
	}
	w.journal.note("%d is shared: %s, %v, %v %v", m.id, m.sharing, m.teams, m.users, m.levels)
	m.sharedAt = time.Now()
	w.oracle.dropped(m.id)
	w.change(m)
}

// levelOf is the level at which a meeting is shared with a person.
func (m *meeting) levelOf(email string) string {
	if level := m.levels[email]; level != "" {
		return level
	}
	return "standard"
}

// isLimited reports whether a person sees a meeting by a limited share alone, which does not
// extend to its recording (specification 4.5).
func (o *org) isLimited(p *person, m *meeting) bool {
	without := *m
	without.users = nil
	return m.levelOf(p.email) == "limited" && slices.Contains(m.users, p.email) && !o.sees(p, &without)
}

// outsider is somebody of another organisation, where a team has the name of one here.
func (o *org) outsider() *person {
	return &person{name: "olga", first: "olga", email: "olga@outside.example", team: "Sales", status: "active", isOutside: true}
}

// recordOutside has somebody of another organisation record a meeting and share it with people
// here. A list shows it only where it names the recorder, or the recorder's team (specification 4.1).
func (w *world) recordOutside(g *rand.Rand) {
	w.nextID++
	m := drawMeeting(g, w.org, wideID(w.seed, w.nextID), time.Now())
	m.recorder, m.users = w.org.outsider(), []string{w.config.accounts[g.IntN(len(w.config.accounts))].email}
	m.speaker, m.ready = m.recorder.name, time.Now().Add(time.Minute)
	w.vary(m)
	w.harden(m)
	w.org.meetings = append(w.org.meetings, m)
	w.journal.note("%s records %d outside, and shares it with %v", m.recorder.name, m.id, m.users)
	w.change(m)
}

// isListed reports whether the lists of an account that works show a meeting.
func (w *world) isListed(a account, m *meeting) bool {
	return w.works(a) && w.org.sees(w.org.person(a.email), m) && (!m.recorder.isOutside || slices.Contains(a.recordedBy, m.recorder.at()) || slices.Contains(a.teams, m.recorder.team))
}

// isShown reports whether the lists of a person's account show a meeting.
func (w *world) isShown(p *person, m *meeting) bool {
	return slices.ContainsFunc(w.config.accounts, func(a account) bool { return a.email == p.email && w.isListed(a, m) })
}

// isForbidden reports whether the service forbade a person's account the recording of a meeting,
// and still would: the share is limited, and nothing has changed since.
func (w *world) isForbidden(p *person, m *meeting) bool {
	at := w.oracle.forbidden(p, m)
	return w.org.isLimited(p, m) && w.isShown(p, m) && at.After(m.sharedAt) && at.After(w.userChanged) && !w.oracle.hasMoved(p.email, at)
}

// mayStayForbidden reports whether the archive may go on to refuse a person a recording that the
// service forbade: it is allowed now by a right that the archive cannot know, as that of a team is
// where the meeting says that it is shared with several, and not with which (specification 2.2).
// Nobody asks again for a recording that is here or was deleted (docs/access.md).
func (w *world) mayStayForbidden(p *person, m *meeting) bool {
	return !w.oracle.forbidden(p, m).IsZero() && (w.isViewUnknown(p) || w.isAdminUnknown(p) || w.isTeamUnknown(m) || m.sharing == "multiple_teams")
}

// forbidden returns when the service last forbade a person's account the recording of a meeting.
func (o *oracle) forbidden(p *person, m *meeting) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.forbade[fmt.Sprint(p.email, " ", m.id)]
}

// mayBeFetched reports whether an account that works may download a meeting's recording.
func (w *world) mayBeFetched(m *meeting) bool {
	return slices.ContainsFunc(w.config.accounts, func(a account) bool {
		return w.isListed(a, m) && !w.org.isLimited(w.org.person(a.email), m)
	})
}

// join has somebody new join the organisation, at most a few times.
func (w *world) join(g *rand.Rand) { w.joinAs(g, "") }

// joinAs has somebody new join with an address; "": the person's own.
func (w *world) joinAs(g *rand.Rand, address string) {
	n := len(w.org.people)
	if n >= w.org.founders+4 {
		return
	}
	name := []string{"sam", "tia", "ute", "vic"}[n-w.org.founders]
	p := &person{name: name, first: name, email: name + "@example.com", status: []string{"active", "invited"}[g.IntN(2)], team: w.org.teams[g.IntN(len(w.org.teams))]}
	if w.seed >= firstHarsh {
		p.email, p.address, p.joined = name+"@kept.invalid", cmp.Or(address, p.email), time.Now()
	}
	w.org.people = append(w.org.people, p)
	w.journal.note("%s joins as %s: %s, of %s", p.name, p.at(), p.status, p.team)
	w.putPeople()
	if p.isActive() {
		w.newKeyOnce(p)
	}
}

// changeLists has an account read the list of a recorder too, or no more.
func (w *world) changeLists(g *rand.Rand) {
	a := &w.config.accounts[g.IntN(len(w.config.accounts))]
	if a.recordedBy = nil; g.IntN(3) > 0 {
		a.recordedBy = []string{w.org.outsider().email}
		if g.IntN(3) == 0 {
			a.recordedBy = append(a.recordedBy, w.org.people[g.IntN(len(w.org.people))].at())
		}
	}
	w.journal.note("account %s lists what %v recorded", a.name, a.recordedBy)
	w.reconfigured()
}

// renameAccount gives an account another name in the configuration. The service goes on
// delivering to the former one for some time, in vain.
func (w *world) renameAccount(g *rand.Rand) {
	a := &w.config.accounts[g.IntN(len(w.config.accounts))]
	if a.oauth { // its tokens are kept by the name
		return
	}
	w.keys++
	former := a.name
	a.name = fmt.Sprintf("account%d", w.keys)
	w.config.secrets[a.name] = w.config.secrets[former]
	delete(w.config.secrets, former)
	w.journal.note("account %s is called %s", former, a.name)
	w.reconfigured()
}

// keyBudgets keeps the budget of an API key by the key, as the daemon does: accounts are renamed.
type keyBudgets struct {
	h   *house
	key string
}

// LoadBudget reads the budget of the key.
func (b keyBudgets) LoadBudget(ctx context.Context, _ string) ([]byte, error) {
	return b.h.archive.LoadBudget(ctx, "key "+digestOf(b.key))
}

// SaveBudget keeps the budget of the key.
func (b keyBudgets) SaveBudget(ctx context.Context, _ string, state []byte) error {
	err := b.h.archive.SaveBudget(ctx, "key "+digestOf(b.key), state)
	b.h.w.told.keep(b.h, b.key, err)
	return err
}

// budgetsOf returns where the budget of a key is kept.
func (h *house) budgetsOf(key string) api.BudgetStore {
	if h.w.seed < firstVaried {
		return h.archive
	}
	return keyBudgets{h, key}
}

// checkDetails compares the rest of a meeting's row with the service at a quiet time. A value that
// came back may be the one between, where an account that showed the meeting is refused.
func (w *world) checkDetails(m *meeting, row *archive.Row, parts map[api.Part]json.RawMessage) {
	if w.seed < firstVaried || w.isRefusedAnywhere(m) {
		return
	}
	var shown object
	_ = json.Unmarshal(parts[api.PartMeeting], &shown) // null has no members
	var invited []string
	for _, i := range inviteesOf(shown["calendar_invitees"]) {
		invited = append(invited, i.address())
	}
	want := []string{w.org.shown(m.spokenAs())}
	for _, g := range m.guests {
		want = append(want, guestAddress(g))
	}
	slices.Sort(invited)
	slices.Sort(want)
	switch {
	case w.seed >= firstHarsh && !row.Start.Equal(m.start()):
		w.fail("meeting %d begins at %s, at the service at %s", m.id, row.Start, m.start())
	case row.MeetingType != m.kind:
		w.fail("meeting %d has the type %q, at the service %q", m.id, row.MeetingType, m.kind)
	case row.Language != m.spoken():
		w.fail("meeting %d has the language %q, at the service %q", m.id, row.Language, m.spoken())
	case !slices.Equal(invited, want):
		w.fail("%v were invited to meeting %d, at the service %v", invited, m.id, want)
	}
}
