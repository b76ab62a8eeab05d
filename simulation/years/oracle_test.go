package years

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// oracle keeps the versions shown by the service and the acknowledged deliveries. It knows the
// specification and the promises, and no code of the rooms.
type oracle struct {
	w  *world
	mu sync.Mutex // guards the fields below

	must     map[string]bool              // versions that have to be in the archive: "17/transcript/HASH"
	pending  []showing                    // versions that were shown a moment ago
	first    map[string]time.Time         // when a version was first shown
	last     map[string]time.Time         // and when it was last shown
	acked    map[string]int64             // acknowledged deliveries "ACCOUNT ID" by the meeting they are about
	content  map[string][]string          // the versions in them
	listed   map[int64]map[string]listing // the newest list that has shown a meeting, by address
	hidden   map[int64]time.Time          // when a walk last had a reason to miss a meeting
	empties  map[string][]time.Time       // empty lists, by address
	forbade  map[string]time.Time         // when an account was last refused a recording with 403: "ADDRESS 17"
	forgot   map[int64]bool
	imported map[int]bool   // numbers of the meetings that were imported
	heard    map[int]bool   // numbers of those that were imported with a recording
	attached map[int64]bool // meetings whose recording was here
	lapsed   map[int64]bool // meetings whose recording a retention rule deleted
	raw      map[string]string
	rows     map[string][]string  // the versions in a row of a list, by the row or its hash
	moved    map[string]time.Time // when an address's account was last read otherwise than before
	teams    map[int64]teamsShown
	before   keeping              // the rules that were in force before the configured ones
	known    keeping              // the rules that the archive was last given
	ruled    time.Time            // when the archive was first given rules: changes of teams before have no notice of their own
	notes    map[int]personalNote // by their numbers
	noted    int                  // the newest number
}

// showing is that an answer had a version.
type showing struct {
	key      string
	instance int
	at       time.Time
}

// listing is that a list showed a meeting to an account.
type listing struct {
	credential  string
	sent, shown time.Time // the oldest list since kept
	kept        time.Time // when a list was asked for that the archive has to have
}

// settle makes a list that was shown long enough before a time due. With broken, the archive may
// never get one that was shown later.
func (l listing) settle(at time.Time, broken bool) listing {
	switch {
	case l.shown.Before(at.Add(-grace)):
		l.kept = l.sent
	case broken:
		l.sent = l.kept
	}
	return l
}

// grace is how long after its answer a version may be on its way to the disk.
const grace = 20 * time.Minute

func newOracle(w *world) *oracle {
	return &oracle{w: w, must: map[string]bool{}, first: map[string]time.Time{}, last: map[string]time.Time{}, acked: map[string]int64{}, content: map[string][]string{}, listed: map[int64]map[string]listing{}, hidden: map[int64]time.Time{},
		empties: map[string][]time.Time{}, forbade: map[string]time.Time{}, forgot: map[int64]bool{}, imported: map[int]bool{}, heard: map[int]bool{}, attached: map[int64]bool{}, lapsed: map[int64]bool{}, raw: map[string]string{}, rows: map[string][]string{}, moved: map[string]time.Time{}, teams: map[int64]teamsShown{}, notes: map[int]personalNote{}}
}

// canonical returns a digest of a JSON value that spelling does not change.
func canonical(raw []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return "not JSON"
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(out)
	return hex.EncodeToString(sum[:12])
}

// hasContent tells content from its absence. All content of the simulated service has
// the meeting's token in it.
func hasContent(raw []byte) bool { return bytes.Contains(raw, []byte("zq")) }

// show notes an answer to an account with a meeting, or some of its content.
func (o *oracle) show(who, credential string, instance int, sent time.Time, m object) {
	id, err := strconv.ParseInt(string(m["recording_id"]), 10, 64)
	if err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.showTeam(id, m["recorded_by"], sent)
	if _, ok := m["title"]; ok {
		if o.listed[id] == nil {
			o.listed[id] = map[string]listing{}
		}
		if l := o.listed[id][who]; l.credential != credential {
			o.listed[id][who] = listing{credential, sent, time.Now(), time.Time{}}
		} else if !l.sent.After(l.kept) {
			o.listed[id][who] = listing{credential, sent, time.Now(), l.kept}
		}
	}
	if o.forgot[id] {
		return
	}
	o.showRow(id, instance, m)
	for _, part := range contentKeys {
		if !hasContent(m[part]) {
			continue
		}
		name := fmt.Sprintf("%d/%s/", id, part)
		hash, ok := o.raw[string(m[part])]
		if !ok {
			hash = canonical(m[part])
			o.raw[string(m[part])] = hash
		}
		if _, ok := o.first[name+hash]; !ok {
			o.first[name+hash] = time.Now()
		}
		o.last[name+hash] = time.Now()
		o.expect(name+hash, instance)
	}
}

// expect notes a version that was shown and has to be in the archive soon.
func (o *oracle) expect(key string, instance int) {
	if !o.must[key] {
		o.pending = append(o.pending, showing{key, instance, time.Now()})
	}
}

// settle makes the versions that were shown long enough before a time due. With
// broken, those shown later may never have reached the disk.
func (o *oracle) settle(at time.Time, broken bool) {
	if since, isSick := o.w.sickSince(); isSick && since.Before(at) {
		at = since // nothing has been kept from then on
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := o.pending[:0]
	for _, s := range o.pending {
		switch {
		case s.at.Before(at.Add(-grace)):
			o.must[s.key] = true
		case !broken:
			rest = append(rest, s)
		}
	}
	o.pending = rest
	for _, byAddress := range o.listed {
		for who, l := range byAddress {
			byAddress[who] = l.settle(at, broken)
		}
	}
}

// acknowledge notes a delivery that was answered 2xx.
func (o *oracle) acknowledge(d *delivery, _ int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := d.account + " " + d.id
	o.acked[name], o.content[name] = d.about, nil
	var body object
	if err := json.Unmarshal(d.body, &body); err != nil {
		panic(err)
	}
	for _, part := range contentKeys {
		if hasContent(body[part]) {
			o.content[name] = append(o.content[name], fmt.Sprintf("%d/%s/%s", d.about, part, canonical(body[part])))
		}
	}
	o.sendTeam(d.about, d.body)
}

// dropped notes a list that left a meeting out.
func (o *oracle) dropped(id int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hidden[id] = time.Now()
}

// emptied notes a list that was empty. A second one within a day and a half can hide
// everything that the account was shown, with reason.
func (o *oracle) emptied(who string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := append(o.empties[who], time.Now())
	o.empties[who] = list
	if n := len(list); n > 1 && list[n-1].Sub(list[n-2]) < 36*time.Hour {
		o.hide(who)
	}
}

// judged notes that a meeting was found to be whole at a quiet time. From now on it may be missed
// for new reasons alone.
func (o *oracle) judged(id int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.hidden, id)
}

// hideAll notes that something happened after which any meeting may be missed.
func (o *oracle) hideAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id := range o.listed {
		o.hidden[id] = time.Now()
	}
}

// forget drops the content that was due of a forgotten meeting.
func (o *oracle) forget(id int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forgot[id] = true
	prefix := strconv.FormatInt(id, 10) + "/"
	maps.DeleteFunc(o.must, func(key string, _ bool) bool { return strings.HasPrefix(key, prefix) })
	o.pending = slices.DeleteFunc(o.pending, func(s showing) bool { return strings.HasPrefix(s.key, prefix) })
	maps.DeleteFunc(o.acked, func(_ string, about int64) bool { return about == id })
	maps.DeleteFunc(o.notes, func(_ int, n personalNote) bool { return n.meeting == id })
	delete(o.attached, id)
}

// memory is the content that a backup must have.
type memory struct {
	must     map[string]bool
	acked    map[string]int64
	attached map[int64]bool
	imported map[int]bool
	heard    map[int]bool
	tokens   map[string]string // refresh tokens, by account
	notes    map[int]personalNote
	teams    map[int64]teamsShown
	ruled    time.Time
	listed   map[int64]map[string]listing
	forbade  map[string]time.Time
}

// remember returns the content that a backup made now must have.
func (o *oracle) remember() memory {
	o.settle(time.Now(), false)
	o.mu.Lock()
	defer o.mu.Unlock()
	listed := map[int64]map[string]listing{}
	for id, byAddress := range o.listed {
		listed[id] = maps.Clone(byAddress)
	}
	return memory{maps.Clone(o.must), maps.Clone(o.acked), maps.Clone(o.attached), maps.Clone(o.imported), maps.Clone(o.heard), o.w.app.keptTokens(), maps.Clone(o.notes), maps.Clone(o.teams), o.ruled, listed, maps.Clone(o.forbade)}
}

// goBack notes that an archive was restored from a backup with this content.
func (o *oracle) goBack(m memory) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.must, o.acked, o.attached, o.pending = maps.Clone(m.must), maps.Clone(m.acked), maps.Clone(m.attached), nil
	o.imported, o.heard, o.notes = maps.Clone(m.imported), maps.Clone(m.heard), maps.Clone(m.notes)
	o.teams, o.before, o.ruled = maps.Clone(m.teams), keeping{}, m.ruled
	o.known, o.forbade = keeping{}, maps.Clone(m.forbade)
	o.w.app.keepTokens(m.tokens)
	for id := range o.forgot {
		prefix := strconv.FormatInt(id, 10) + "/"
		maps.DeleteFunc(o.must, func(key string, _ bool) bool { return strings.HasPrefix(key, prefix) })
		maps.DeleteFunc(o.acked, func(_ string, about int64) bool { return about == id })
		maps.DeleteFunc(o.notes, func(_ int, n personalNote) bool { return n.meeting == id })
		delete(o.attached, id)
	}
	for id, byAddress := range o.listed {
		o.hidden[id] = time.Now()
		for who, l := range byAddress { // the archive does not know of the lists since then
			if before := m.listed[id][who]; before.credential == l.credential {
				byAddress[who] = before
			} else {
				byAddress[who] = listing{credential: l.credential}
			}
		}
	}
}

// move notes that an account reads other lists, or with another key, or that the key is refused.
func (o *oracle) move(who string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.moved[who] = time.Now()
	o.hide(who)
}

// hide notes that the meetings that an account was shown may be missed.
func (o *oracle) hide(who string) {
	for id, byAddress := range o.listed {
		if _, ok := byAddress[who]; ok {
			o.hidden[id] = time.Now()
		}
	}
}

// hasMoved reports whether an account was read otherwise at a time than it is now.
func (o *oracle) hasMoved(who string, at time.Time) bool {
	return at.Before(o.moved[who])
}
