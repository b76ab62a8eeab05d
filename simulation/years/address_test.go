package years

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/control"
	"minutebook/web/access"
)

// From firstHarsh on the sandbox and the oracle know people by addresses that they keep, as by
// numbers. Answers have the present addresses in their place, and calls name people by these.

// newAddresses gives the people of a seed their first addresses.
func (o *org) newAddresses(seed uint64) {
	if seed < firstHarsh {
		return
	}
	for _, p := range o.people {
		p.address, p.email = p.email, p.first+"@kept.invalid"
	}
}

// at is the present address of a person.
func (p *person) at() string { return cmp.Or(p.address, p.email) }

// addresses are those of a person: the present one, and former ones that nobody else has.
func (p *person) addresses() []string { return append([]string{p.at()}, p.former...) }

// viewer is the person as a reader here.
func (p *person) viewer() archive.Viewer { return archive.ViewerWith(p.addresses()...) }

// holder returns who has an address; nil: nobody.
func (o *org) holder(address string) *person {
	i := slices.IndexFunc(o.people, func(p *person) bool { return p.at() == address })
	if i < 0 {
		return nil
	}
	return o.people[i]
}

// addressed puts the present addresses of people into the sandbox's answers.
func (o *org) addressed(raw []byte) []byte {
	var pairs []string
	for _, p := range o.people {
		if p.address != "" {
			pairs = append(pairs, quote(p.email), quote(p.address))
		}
	}
	if pairs == nil {
		return raw
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(raw)))
}

// shown is an address that a person keeps as others see it; another one stays.
func (o *org) shown(address string) string {
	if p := o.person(address); p != nil {
		return p.at()
	}
	return address
}

// kept returns a call as the sandbox takes it: with the addresses that recorders keep.
func (o *org) kept(r *http.Request) *http.Request {
	q := r.URL.Query()
	recorders := q["recorded_by[]"]
	if len(recorders) == 0 || o.people[0].address == "" {
		return r
	}
	for i, address := range recorders {
		if p := o.holder(address); p != nil {
			recorders[i] = p.email
		}
	}
	to := *r.URL
	to.RawQuery = q.Encode()
	out := r.WithContext(r.Context())
	out.URL = &to
	return out
}

// changeAddress gives somebody another address at the service. Days later somebody may join with
// the former one.
func (w *world) changeAddress(g *rand.Rand) {
	p := w.org.people[g.IntN(len(w.org.people))]
	w.keys++
	former := p.address
	p.readdressed = time.Now()
	p.address, p.former = fmt.Sprintf("%s%d@example.com", p.first, w.keys), append(slices.Clone(p.former), former)
	w.journal.note("the address of %s is %s now, and was %s", p.name, p.address, former)
	for _, h := range w.hooks {
		h.ended = h.ended || h.owner == p.email
	}
	w.putPeople()
	w.later(time.Duration(1+g.IntN(48))*time.Hour, "the address "+p.address, w.correctAddresses)
	if g.IntN(2) == 0 {
		w.later(time.Duration(72+g.IntN(700))*time.Hour, "who joins as "+former, func() { w.reuse(p, former, g) })
	}
}

// correctAddresses has the owner of the archive write new addresses into the configuration, give
// them to the people here, and end the webhooks that people made for former ones at the archive's own service
// (docs/service.md).
func (w *world) correctAddresses() {
	if w.seed < firstHarsh {
		return
	}
	changed := false
	for i := range w.config.accounts {
		a := &w.config.accounts[i]
		if now := w.org.person(a.email).at(); a.address != now {
			w.journal.note("account %s is of %s, and was of %s", a.name, now, a.address)
			a.address, changed = now, true
		}
		for n, address := range a.recordedBy {
			p := w.formerly(address)
			if p != nil && w.org.holder(address) == nil {
				a.recordedBy = slices.Clone(a.recordedBy)
				a.recordedBy[n], changed = p.at(), true
			}
		}
	}
	if changed {
		w.reconfigured()
	}
	if err := w.correctHere(); err != nil {
		w.journal.note("the addresses are corrected later: %v", err)
		w.later(time.Hour, "addresses", w.correctAddresses)
	}
}

// formerly returns who has had an address; nil: nobody.
func (w *world) formerly(address string) *person {
	i := slices.IndexFunc(w.org.people, func(p *person) bool { return slices.Contains(p.former, address) || slices.Contains(p.given, address) })
	if i < 0 {
		return nil
	}
	return w.org.people[i]
}

var errNotNow = errors.New("the program does not run")

// correctHere corrects the addresses of the people who sign in, and ends keys and webhooks.
func (w *world) correctHere() error {
	h, ctx := w.house, context.Background()
	if h == nil || h.dead.Load() || h.isSick() {
		return errNotNow
	}
	for _, p := range w.org.people {
		for _, address := range slices.Concat(p.former, p.given) {
			here, err := h.access.PersonByAddress(ctx, address)
			if err == nil && here.Name == p.first {
				err = w.correctPerson(p, address, here)
			}
			if err != nil && !errors.Is(err, access.ErrNotFound) {
				return err
			}
			if err := w.endOwn(address, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// correctPerson gives a person here the present address, and takes one that somebody else was given.
func (w *world) correctPerson(p *person, address string, here access.Person) error {
	q := control.UserRequest{Address: address, Alias: p.at()}
	if !slices.Contains(here.Addresses, p.at()) {
		if _, err := command[access.Person](context.Background(), w.house, "user.alias", q, nil); err != nil {
			return err
		}
	}
	if !slices.Contains(p.given, address) {
		return nil
	}
	q.Alias, q.Remove = address, true
	_, err := command[access.Person](context.Background(), w.house, "user.alias", q, nil)
	return err
}

// endOwn ends the keys and webhooks of an address at the archive's own service that were a person's.
func (w *world) endOwn(address string, p *person) error {
	ctx := context.Background()
	own, err := w.house.openIdle(ctx)
	if err != nil {
		return err
	}
	keys, err := own.Keys(ctx, address)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if !k.Revoked {
			err = errors.Join(err, own.RevokeKey(ctx, k.ID))
		}
	}
	hooks, err2 := own.Hooks(ctx)
	err = errors.Join(err, err2)
	for _, known := range hooks {
		if slices.ContainsFunc(w.hooks, func(h *hook) bool { return h.id == known.ID && h.owner == p.email && h.address == address }) {
			err = errors.Join(err, own.DeleteWebhook(ctx, known.ID))
		}
	}
	return err
}

// reuse has somebody join with an address that another person had, once nothing here has it.
func (w *world) reuse(p *person, address string, g *rand.Rand) {
	if w.isCalm() {
		return
	}
	isStale := slices.ContainsFunc(w.config.accounts, func(a account) bool { return a.address == address || slices.Contains(a.recordedBy, address) })
	p.former = slices.DeleteFunc(slices.Clone(p.former), func(a string) bool { return a == address })
	p.given = append(p.given, address)
	if err := w.correctHere(); err != nil || isStale {
		p.former, p.given = append(p.former, address), slices.DeleteFunc(p.given, func(a string) bool { return a == address })
		w.later(7*time.Hour, "who joins as "+address, func() { w.reuse(p, address, g) })
		return
	}
	w.joinAs(g, address)
	if next := w.org.holder(address); next != nil { // by the address alone the last list of users names both
		next.wasDeactivated, next.wasInvited = p.wasDeactivated, p.wasInvited
	}
}

// hasImported reports whether an imported meeting is a person's: it belongs to the address in its
// file, whoever has that one.
func (p *person) hasImported(m *meeting) bool {
	return slices.Contains(p.addresses(), m.recorder.firstAddress())
}

// firstAddress is the address that a person had at the beginning.
func (p *person) firstAddress() string { return p.first + "@example.com" }

// isSteady reports whether an address has been one person's alone, who has no other.
func (o *org) isSteady(address string) bool {
	p := o.holder(address)
	return p != nil && len(p.former)+len(p.given) == 0 && !slices.ContainsFunc(o.people, func(other *person) bool { return slices.Contains(other.given, address) })
}

// contentOfNow is the content of a meeting at the service as accounts are shown it.
func (w *world) contentOfNow(m *meeting) map[string]string {
	content := m.content()
	for member, value := range content {
		content[member] = string(w.org.addressed([]byte(value)))
	}
	return content
}

// announced is a webhook's body about a meeting.
func (w *world) announced(who string, m *meeting) []byte {
	body := w.org.addressed(m.object())
	if w.seed < firstHarsh {
		return body
	}
	var o object
	w.must(json.Unmarshal(body, &o), "read a meeting")
	w.respellTimes(who, "webhook", o)
	w.strip(who, "webhook", o)
	return encode(o)
}
