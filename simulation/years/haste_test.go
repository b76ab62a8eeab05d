package years

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"minutebook/archive"
)

// rush is how many meetings are recorded at once.
const rush = 150

// checkHaste has a person whose account is read record many meetings at once, when nothing
// else is to do and nothing disturbs. From the first of them in the archive until all are
// whole it takes no more than a tenth longer than the limits allow for the calls that were
// made, and two minutes for the service to prepare the last recordings. No more calls are made
// than a link for each recording and a few again, the content of each meeting by itself, two
// looks at each recording that is being prepared, and some pages.
func (w *world) checkHaste() {
	i := slices.IndexFunc(w.config.accounts, func(a account) bool { return w.works(a) && len(a.teams) == 0 && !w.lacksForGood(a.email) })
	if i < 0 || !w.config.downloads || w.house == nil {
		return
	}
	a := w.config.accounts[i]
	left := w.recordRush(w.org.person(a.email))
	newest, began, key := left[0], time.Time{}, w.credentialOf(a)
	var before map[string]int
	for deadline := time.Now().Add(24 * time.Hour); len(left) > 0; time.Sleep(5 * time.Second) {
		if time.Now().After(deadline) {
			w.fail("of %d meetings that were recorded at once %d are not whole after a day", rush, len(left))
		}
		if began.IsZero() {
			if _, err := w.house.archive.Row(context.Background(), newest.id); errors.Is(err, archive.ErrNotFound) {
				continue
			}
			began, before = time.Now(), w.upstream.count.byClass(key)
		}
		left = slices.DeleteFunc(left, w.isWhole)
	}
	took, least := time.Since(began), time.Duration(0)
	enough := map[string]int{"download": rush + rush/10, "heavy": 2 * rush, "global": 5*rush + rush/2, "token": 1}
	calls := w.upstream.count.byClass(key)
	for _, class := range slices.Sorted(maps.Keys(calls)) { // in the same order in every run, for the journal
		n := calls[class]
		windows := max(0, n-before[class]-1) / nominal[class]
		least = max(least, time.Duration(windows)*time.Minute)
		w.journal.note("%d %s calls", n-before[class], class)
		if n-before[class] > enough[class] {
			w.fail("for %d meetings that were recorded at once %d %s calls were made, and %d are enough", rush, n-before[class], class, enough[class])
		}
	}
	w.journal.note("%d meetings were whole after %s, by the limits at least %s", rush, took.Round(time.Second), least)
	if took > least+least/10+2*time.Minute {
		w.fail("%d meetings that were recorded at once were whole after %s, and by the limits of their calls %s are enough", rush, took.Round(time.Second), least)
	}
}

// recordRush has a person record many meetings, which are ready at once.
func (w *world) recordRush(p *person) (list []*meeting) {
	g := newRand(w.seed, "rush")
	for n := range rush {
		w.nextID++
		m := drawMeeting(g, w.org, wideID(w.seed, w.nextID), time.Now().Add(-time.Duration(n)*time.Minute))
		m.recorder, m.speaker, m.ready, m.isMute, m.media, m.sharing, m.users = p, p.name, time.Now(), false, "video", "no_teams", nil
		list = append(list, m)
	}
	w.org.meetings = append(w.org.meetings, list...)
	w.journal.note("%s records %d meetings at once", p.name, rush)
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
