package simulation

import (
	"context"
	"flag"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// world is an organisation, its meetings and the house that has read them.
type world struct {
	t            *rapid.T
	ctx          context.Context
	house        *house
	clock        int
	hasPlainList bool // some plain list was read

	users    map[string]user
	members  map[string][]string
	listings map[string]*listing
	accounts map[string]account // as configured
	last     map[string]account // as last configured
	holders  map[string]int
	meetings map[int64]*meeting
	links    []link
	signedIn []person
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestNobodySeesMore draws organisations, reads them into an archive as the sync
// does, changes them, and compares for every person the answers of all rooms with
// the rights that the specification gives that person. MINUTEBOOK_CHECKS says how many.
func TestNobodySeesMore(t *testing.T) {
	testrun.SkipUnderRace(t)
	checks := os.Getenv("MINUTEBOOK_CHECKS")
	if checks == "" {
		checks = "4"
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		t.Fatal(err)
	}
	site := newSite(t)
	template := newTemplate(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, t.Context(), site, template)
		defer w.house.close(rt)
		for range rapid.IntRange(0, 12).Draw(rt, "changes") {
			w.change(rt)
		}
		w.withdraw(rt, rapid.SampledFrom(accounts).Draw(rt, "withdraws"))
		w.compareEarly()
		w.followed()
		w.compare(rt)
	})
}

func newWorld(t *rapid.T, ctx context.Context, site *site, template string) *world {
	w := &world{t: t, ctx: ctx, house: openHouse(t, ctx, site, template), listings: map[string]*listing{}, accounts: map[string]account{},
		last: map[string]account{}, holders: map[string]int{}, meetings: map[int64]*meeting{}}
	w.admit(t)
	for _, name := range accounts {
		w.holders[name] = 1
		if rapid.IntRange(0, 4).Draw(t, "configured") > 0 {
			w.configure(t, name)
		}
	}
	w.setAccounts()
	w.hire(t)
	for id := range int64(rapid.IntRange(4, 14).Draw(t, "meetings")) {
		w.drawMeeting(t, id+1)
	}
	for _, m := range w.sorted() {
		if m.delivered {
			w.deliver(m)
		}
	}
	readers := rapid.SliceOfNDistinct(rapid.SampledFrom(accounts), 0, 3, rapid.ID).Draw(t, "readers")
	for _, name := range readers {
		if _, ok := w.accounts[name]; ok {
			w.list(name)
		}
	}
	quiet := rapid.IntRange(0, 7).Draw(t, "quiet") == 0 // no list was read yet
	for _, name := range accounts {
		if !quiet && rapid.IntRange(0, 4).Draw(t, "walks") > 0 {
			w.walk(t, name)
		}
	}
	for _, m := range w.sorted() {
		if m.isKnown() {
			w.must(w.house.archive.SetShares(w.ctx, m.id, m.shares))
			if m.video {
				w.must(w.house.archive.AttachMedia(w.ctx, m.id, archive.MediaVideo, w.house.video))
			}
		} else {
			m.shares, m.video = nil, false
		}
	}
	w.download()
	return w
}

func (w *world) setAccounts() {
	var settings []archive.AccountSetting
	for name, s := range w.accounts {
		settings = append(settings, archive.AccountSetting{Name: name, Email: s.email, Credential: s.credential, Queries: s.queries})
	}
	w.must(w.house.archive.SetAccounts(w.ctx, settings))
}

// deliver is a webhook's delivery: known to the archive, and shown to nobody.
func (w *world) deliver(m *meeting) {
	o := w.observe(m, pass{"one", ""}, archive.SourceWebhook, 0, false)
	_, err := w.house.archive.Apply(w.ctx, []archive.Observation{o})
	w.must(err)
}

// change lets something happen.
func (w *world) change(t *rapid.T) {
	name := rapid.SampledFrom(accounts).Draw(t, "account")
	list := w.sorted()
	m := list[rapid.IntRange(0, len(list)-1).Draw(t, "meeting")]
	switch rapid.IntRange(0, 7).Draw(t, "change") {
	case 0, 1:
		w.configure(t, name)
		w.setAccounts()
	case 2, 3:
		w.reorganise(t)
		if _, ok := w.accounts[name]; ok {
			w.list(name)
		}
	case 4, 5:
		w.edit(t, m)
		w.walk(t, name)
	case 6:
		if m.isKnown() {
			m.share(t)
			w.must(w.house.archive.SetShares(w.ctx, m.id, m.shares))
		}
	case 7:
		if m.isKnown() && rapid.Bool().Draw(t, "forget") {
			_, err := w.house.archive.Forget(w.ctx, m.id, "test")
			w.must(err)
			m.forgotten = true
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "followed") == 0 {
		w.followed()
	}
}

// edit changes a meeting upstream: who recorded it, in which team, with whom it
// is shared, and which lists show it.
func (w *world) edit(t *rapid.T, m *meeting) {
	previous := m.truth
	m.truth = drawDetails(t)
	if slices.Contains(outsiders, previous.recorder) || slices.Contains(outsiders, m.truth.recorder) || m.truth.recorder == "" || rapid.Bool().Draw(t, "recorder") {
		m.truth.recorder = previous.recorder
	}
	if m.truth.recorder == "" {
		m.truth.team = ""
	}
	if m.truth.shared == "" { // null replaces nothing
		m.truth.shared = previous.shared
	}
	for _, level := range m.shares {
		if level == archive.ShareLimited {
			m.truth.shared = previous.shared
		}
	}
	for _, name := range accounts {
		p := pass{name, rapid.SampledFrom([]string{"", "teams:x", "recorded_by:y"}).Draw(t, "of")}
		if p.query != "" || !slices.Contains(outsiders, m.truth.recorder) {
			m.passes[p] = !m.passes[p]
		}
	}
}

// withdraw lets all lists of an account leave out half of the meetings, whatever else
// shows them. Edits rarely take away the last list by which a person sees a meeting.
func (w *world) withdraw(t *rapid.T, name string) {
	if _, ok := w.accounts[name]; !ok {
		return
	}
	for _, m := range w.sorted() {
		if rapid.Bool().Draw(t, "withdrawn") {
			for _, query := range w.accounts[name].queries {
				m.passes[pass{name, query}] = false
			}
		}
	}
	w.walk(t, name)
}

// followed brings the index to the end of the change log.
func (w *world) followed() { w.must(w.house.index.CatchUp(w.ctx)) }
