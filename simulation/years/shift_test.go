package years

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/internal/sqlite"
)

// walk is a list as far as an account has read it, for the call for its next page.
type walk struct {
	shown   map[int64]bool // by the pages until now
	visible map[int64]bool // to the account, when the first page was shown
	last    object         // of the page before
	text    string         // of that meeting, as it then was
	left    map[int64]bool // that have left the list since, for each of which a page has skipped one
}

// walkKey names the walk of an account that goes on with a cursor.
func walkKey(who, cursor string) string { return who + " " + cursor }

// mostSkipped is how many meetings a walk may lack without a doubt (docs/sync.md): it asks for each
// of them, so that one that a page skips is not gone. A few of those it lacks are really gone.
const mostSkipped = 1

// shift returns a page of a list as a service shows it whose cursors are numbers of meetings. Where
// one that an earlier page has shown has left the list since, the first meeting of this page is on
// no page; where one has come before this page, the last one of the page before is shown again.
func (w *world) shift(k call, o object, items []object) []object {
	if !w.traits.pageOffsets {
		return items
	}
	cursor := k.r.URL.Query().Get("cursor")
	w.mu.Lock()
	before, isKnown := w.walks[walkKey(k.who, cursor)]
	w.mu.Unlock()
	visible := w.visibleTo(k.who)
	now := walk{shown: map[int64]bool{}, visible: visible, left: map[int64]bool{}}
	if isKnown && cursor != "" {
		now.shown, now.visible = maps.Clone(before.shown), before.visible
		items = w.shiftPage(k, &before, visible, items)
		now.left = before.left
	}
	for _, m := range items {
		now.shown[idOf(m)] = true
	}
	if n := len(items); n > 0 {
		now.last = maps.Clone(items[n-1])
		now.text = w.textOf(idOf(now.last))
	}
	var next string
	if next, _ = strconv.Unquote(string(o["next_cursor"])); next == "" {
		return items
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.walks == nil || len(w.walks) > 100 { // one that is cut off is never read on
		w.walks = map[string]walk{}
	}
	w.walks[walkKey(k.who, next)] = now
	return items
}

// shiftPage shifts a page by the meetings that have left the list or joined it since.
func (w *world) shiftPage(k call, before *walk, visible map[int64]bool, items []object) []object {
	for _, id := range slices.Sorted(maps.Keys(before.shown)) {
		if before.visible[id] && !visible[id] && len(items) > 0 && !before.left[id] {
			w.journal.note("%s is not shown %d, since %d has left the list", k.who, idOf(items[0]), id)
			if w.seed >= firstHarsh { // before, each later page skipped one more
				before.left = maps.Clone(before.left)
				before.left[id] = true
			}
			if w.seed < firstHarsh || len(before.left) > mostSkipped {
				w.oracle.dropped(idOf(items[0]))
			}
			items = items[1:]
		}
	}
	for _, id := range slices.Sorted(maps.Keys(visible)) {
		isBefore := len(items) > 0 && w.org.meeting(id).start().After(w.org.meeting(idOf(items[0])).start())
		if last := idOf(before.last); !before.visible[id] && isBefore && visible[last] && before.text == w.textOf(last) {
			w.journal.note("%s is shown %d again, since %d has come into the list", k.who, last, id)
			return slices.Insert(items, 0, maps.Clone(before.last))
		}
	}
	return items
}

// slip has a meeting leave the list that the pages of a walk have shown until now, so that where
// cursors are numbers the next page skips one.
func (w *world) slip(g *rand.Rand) {
	w.mu.Lock()
	shown, key := slices.Sorted(maps.Keys(w.walks[w.walking].shown)), w.walking
	w.mu.Unlock()
	before, canRead := w.gone()
	if len(shown) == 0 || !canRead {
		return
	}
	switch m := w.org.meeting(shown[g.IntN(len(shown))]); {
	case m == nil || m.deleted:
	case strings.HasPrefix(key, walkKey(m.recorder.email, "")): // the own ones stay in the list
		w.delete(m)
	default:
		w.makePrivate(m)
	}
	w.later(20*time.Minute, "look at what is gone", func() { // before another walk shows the skipped one again
		gone, _ := w.gone()
		for _, id := range gone {
			if m := w.org.meeting(id); w.isWatched(m) && !slices.Contains(before, id) && !w.oracle.isHiddenSince(id, time.Now().Add(-26*time.Hour)) {
				w.fail("meeting %d is marked gone since a page skipped it", id)
			}
		}
	})
}

// visibleTo returns the meetings that a person sees.
func (w *world) visibleTo(email string) map[int64]bool {
	visible, p := map[int64]bool{}, w.org.person(email)
	for _, m := range w.org.meetings {
		if p != nil && w.org.sees(p, m) {
			visible[m.id] = true
		}
	}
	return visible
}

// textOf is a meeting as it is at the service; "": there is none.
func (w *world) textOf(id int64) string {
	if m := w.org.meeting(id); m != nil {
		return string(w.org.addressed(m.object()))
	}
	return ""
}

// idOf is the number of a meeting of a list; 0: none.
func idOf(m object) int64 {
	id, _ := strconv.ParseInt(string(m["recording_id"]), 10, 64)
	return id
}

// lookForGone looks for meetings that are marked gone although the service has never missed them, as
// one that a page skipped: by the next night it may be back.
func (w *world) lookForGone() {
	if w.seed < firstHarsh {
		return
	}
	gone, _ := w.gone()
	for _, id := range gone {
		if m := w.org.meeting(id); w.isWatched(m) && !w.oracle.isHidden(id) {
			w.fail("meeting %d is marked gone, and the service has never missed it", id)
		}
	}
}

// gone returns the meetings that the archive marks gone; ok is false while it cannot be asked.
func (w *world) gone() (ids []int64, ok bool) {
	if w.house == nil || w.house.dead.Load() || w.house.isSick() {
		return nil, false
	}
	i := slices.IndexFunc(w.house.archive.Databases(), func(db *sqlite.DB) bool { return filepath.Base(db.Path) == "archive.db" })
	ids, err := sqlite.Column[int64](w.house.life, w.house.archive.Databases()[i].R, `SELECT recording_id FROM meetings WHERE gone_at IS NOT NULL`)
	w.must(err, "read which meetings are gone")
	return ids, true
}
