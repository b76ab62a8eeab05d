package years

import (
	"context"
	"slices"
	"time"
)

// owed is a recording that a webhook may have to be sent.
type owed struct {
	since time.Time // when its summary was seen in the archive; zero: it need not be sent
	isDue bool      // it has been judged
}

// owedFor is how long a webhook may take, from the look that sees the summary: the program decides
// within an hour, an endpoint fails for three hours at most, a clock is wrong for two days, and the
// program is off for less than one, since a longer stop has the relay go on from then.
const owedFor = 3 * 24 * time.Hour

// lookAtRelay looks for recordings whose summary has been archived since the last look, and for those
// that a webhook was not sent although it had to. The visibility of the moment decides (specification
// 6.1), so that of later events only one excuses it: the owner is not active any more.
func (w *world) lookAtRelay() {
	if w.seed < firstHarsh || w.house == nil || w.house.dead.Load() || w.house.isSick() {
		return
	}
	for i, h := range w.hooks {
		for _, m := range w.org.meetings {
			o, isKnown := h.owed[m.id]
			switch {
			case h.ended || o.isDue || w.oracle.forgot[m.id] || isKnown && o.since.IsZero():
			case !isKnown:
				w.owe(h, m)
			case !w.org.person(h.owner).isActive():
				h.owed[m.id] = owed{}
			case time.Since(o.since) > owedFor:
				w.judgeOwed(i, h, m)
			}
		}
	}
}

// owe notes whether a webhook has to be sent a meeting, once the summary is archived.
func (w *world) owe(h *hook, m *meeting) {
	if m.isMute || m.deleted || !m.created.After(h.since) {
		return
	}
	row, err := w.house.archive.Row(context.Background(), m.id)
	if err != nil || !row.HasSummary {
		return
	}
	h.owed[m.id] = owed{}
	if !m.wasDeleted && !w.lacksRights() && w.mustFire(h, m) && w.isRead(w.org.person(h.owner)) && !w.oracle.isHidden(m.id) {
		h.owed[m.id] = owed{since: time.Now()}
	}
}

// lacksRights reports whether lists of the directory lack members, and rights may have ended.
func (w *world) lacksRights() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.lacks, func(l lack) bool { return kinds[l.kind] != "Meeting" && time.Now().Before(l.end) })
}

// judgeOwed looks for a delivery that had to come.
func (w *world) judgeOwed(i int, h *hook, m *meeting) {
	h.owed[m.id] = owed{since: h.owed[m.id].since, isDue: true}
	if w.due++; !h.sent[m.id] {
		w.fail("the webhook %d of %s, for %v, was never sent meeting %d, %s of %s", i, h.owner, h.scopes, m.id, m.sharing, m.recorder.name)
	}
}

// relayInCalm has the archive relay webhooks when nothing disturbs them any more: in the busy time
// something hinders nearly every one rightly.
func (w *world) relayInCalm() {
	if w.seed%2 == 0 { // new ones; others go on
		for _, h := range w.hooks {
			h.ended = true
		}
		w.config.relays = false
	}
	w.relay(newRand(w.seed, "relay in the calm"))
}

// recordForRelay has everybody record two meetings that get a summary.
func (w *world) recordForRelay() {
	g := newRand(w.seed, "record for the relay")
	for _, p := range w.org.people {
		for range 2 {
			w.nextID++
			m := drawMeeting(g, w.org, wideID(w.seed, w.nextID), time.Now().Add(-time.Minute))
			m.ready, m.isMute = time.Now(), false
			if p.isActive() {
				m.recorder, m.speaker = p, p.name
			}
			w.org.meetings = append(w.org.meetings, m)
			w.journal.note("%s records %d, %s", m.recorder.name, m.id, m.sharing)
			w.change(m)
		}
	}
}

// checkRelay looks for meetings with a summary that a webhook was not sent, at a quiet time.
func (w *world) checkRelay() {
	if w.seed >= firstHarsh { // each look does
		return
	}
	for i, h := range w.hooks {
		for _, m := range w.org.meetings {
			isJudged := !h.ended && m.created.After(h.since) && !m.isMute && !m.wasDeleted && w.mustFire(h, m)
			if !isJudged || time.Since(m.ready) < 6*24*time.Hour || !w.isRead(w.org.person(h.owner)) || w.oracle.isHidden(m.id) || w.oracle.forgot[m.id] {
				continue
			}
			w.judgeOwed(i, h, m)
		}
	}
}
