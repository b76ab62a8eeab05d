package years

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"minutebook/archive"
)

// rush is how many meetings are recorded at once.
const rush = 150

// haste is work that has to be done as fast as the limits allow.
type haste struct {
	account account
	left    []*meeting // that are not whole yet
	count   int
	began   time.Time
	before  map[string]int // calls until then, by class
	wait    time.Duration  // for which the program may pause meanwhile
}

// checkHaste has a person whose account is read record many meetings at once, when nothing
// else is to do and nothing disturbs. From the first of them in the archive until all are
// whole it takes no more than a tenth longer than the limits allow for the calls that were
// made, and two minutes for the service to prepare the last recordings. No more calls are made
// than a link for each recording and a few again, the content of each meeting by itself, two
// looks at each recording that is being prepared, and some pages.
func (w *world) checkHaste() {
	if h := w.beginHaste(rush, "rush"); h != nil {
		w.judgeHaste(h)
	}
	if w.seed >= firstHarsh {
		w.checkRecovery()
	}
}

// beginHaste has a person record meetings at once, and waits until the archive has the first. Its
// result is nil where no account can show them all.
func (w *world) beginHaste(count int, purpose string) *haste {
	i := slices.IndexFunc(w.config.accounts, func(a account) bool { return w.works(a) && len(a.teams) == 0 && !w.lacksForGood(a.email) })
	if i < 0 || !w.config.downloads || w.house == nil {
		return nil
	}
	h := &haste{account: w.config.accounts[i], count: count}
	h.left = w.recordRush(w.org.person(h.account.email), count, purpose)
	newest := h.left[0]
	for deadline := time.Now().Add(24 * time.Hour); h.began.IsZero(); time.Sleep(5 * time.Second) {
		if time.Now().After(deadline) {
			w.fail("of %d meetings that were recorded at once none is here after a day", count)
		}
		if _, err := w.house.archive.Row(context.Background(), newest.id); !errors.Is(err, archive.ErrNotFound) {
			w.beginCount(h)
		}
	}
	return h
}

// beginCount has the time and the calls be counted from now on.
func (w *world) beginCount(h *haste) {
	h.began, h.before = time.Now(), w.upstream.count.byClass(w.credentialOf(h.account))
}

// judgeHaste waits until all meetings are whole, and judges the time and the calls.
func (w *world) judgeHaste(h *haste) {
	for deadline := time.Now().Add(24 * time.Hour); ; time.Sleep(5 * time.Second) {
		if h.left = slices.DeleteFunc(h.left, w.isWhole); len(h.left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			w.fail("of %d meetings that were recorded at once %d are not whole after a day: %s", h.count, len(h.left), w.describeLack(h.left[0]))
		}
	}
	took, least := time.Since(h.began), time.Duration(0)
	enough := map[string]int{"download": h.count + h.count/10, "heavy": 2 * h.count, "global": 5*h.count + h.count/2, "token": 1}
	calls := w.upstream.count.byClass(w.credentialOf(h.account))
	for _, class := range slices.Sorted(maps.Keys(calls)) { // in the same order in every run, for the journal
		n := calls[class]
		windows := max(0, n-h.before[class]-1) / nominal[class]
		least = max(least, time.Duration(windows)*time.Minute)
		w.journal.note("%d %s calls", n-h.before[class], class)
		if n-h.before[class] > enough[class] {
			w.fail("for %d meetings that were recorded at once %d %s calls were made, and %d are enough", h.count, n-h.before[class], class, enough[class])
		}
	}
	w.journal.note("%d meetings were whole after %s, by the limits at least %s", h.count, took.Round(time.Second), least)
	if took > least+least/10+2*time.Minute+h.wait {
		w.fail("%d meetings that were recorded at once were whole after %s, and by the limits of their calls %s are enough, with pauses of %s", h.count, took.Round(time.Second), least, h.wait)
	}
}

// recordRush has a person record many meetings, which are ready at once.
func (w *world) recordRush(p *person, count int, purpose string) (list []*meeting) {
	g := newRand(w.seed, purpose)
	for n := range count {
		w.nextID++
		m := drawMeeting(g, w.org, wideID(w.seed, w.nextID), time.Now().Add(-time.Duration(n)*time.Minute))
		m.recorder, m.speaker, m.ready, m.isMute, m.media, m.sharing, m.users = p, p.name, time.Now(), false, "video", "no_teams", nil
		list = append(list, m)
	}
	w.org.meetings = append(w.org.meetings, list...)
	w.journal.note("%s records %d meetings at once", p.name, count)
	w.change(list...)
	return list
}

// isWhole reports whether a meeting is archived with its content and its recording.
func (w *world) isWhole(m *meeting) bool {
	ctx, ar := context.Background(), w.house.archive
	row, err := ar.Row(ctx, m.id)
	if err != nil || !row.HasTranscript || !row.HasSummary {
		return false
	}
	list, err := ar.MediaOf(ctx, m.id)
	return err == nil && len(list) > 0
}

// describeLack names the parts that the archive has of a meeting that is not whole.
func (w *world) describeLack(m *meeting) string {
	ctx, ar := context.Background(), w.house.archive
	row, err := ar.Row(ctx, m.id)
	if err != nil {
		return fmt.Sprintf("%d, %v", m.id, err)
	}
	d, err := ar.DownloadOf(ctx, m.id)
	return fmt.Sprintf("%d, transcript %v, summary %v, recording %+v, %v", m.id, row.HasTranscript, row.HasSummary, d, err)
}
