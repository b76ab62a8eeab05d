package years

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// checkKept compares the content due in the archive at any time: every version that was
// shown, every acknowledged delivery, nothing blanked, nothing twice, no limit exceeded.
func (w *world) checkKept() {
	h := w.house
	if h == nil || h.dead.Load() || h.isSick() {
		return
	}
	w.oracle.settle(time.Now(), false)
	w.noteForgotten()
	if s := w.upstream.count.excess(); s != "" {
		w.fail("over the limit: %s", s)
	}
	w.checkDeliveries()
	byMeeting := map[int64][]string{}
	for key := range w.oracle.must {
		id, _ := strconv.ParseInt(key[:strings.Index(key, "/")], 10, 64)
		byMeeting[id] = append(byMeeting[id], key)
	}
	for _, id := range slices.Sorted(maps.Keys(byMeeting)) {
		w.checkVersions(id, byMeeting[id])
	}
	w.checkMarks()
	w.checkImported()
	w.checkNotes()
	w.checkShown()
}

// noteForgotten notes the meetings whose forgetting was finished after a kill.
func (w *world) noteForgotten() {
	for id, at := range w.forgetting {
		if _, err := w.house.archive.Row(context.Background(), id); errors.Is(err, archive.ErrForgotten) {
			w.oracle.forget(id)
			w.forgotAt[id] = at
		}
		delete(w.forgetting, id)
	}
}

// checkVersions compares the history and the current parts of a meeting.
func (w *world) checkVersions(id int64, keys []string) {
	ctx, ar := context.Background(), w.house.archive
	list, err := ar.Revisions(ctx, id)
	if err != nil {
		w.fail("meeting %d was shown %s, and its history cannot be read: %v", id, keys[0], err)
	}
	have := map[string]bool{}
	current := map[api.Part]bool{}
	for _, r := range list {
		if !slices.Contains(contentKeys, memberOf(r.Part)) {
			continue
		}
		part, raw, err := ar.RevisionJSON(ctx, id, r.ID)
		w.must(err, "read a revision")
		key := fmt.Sprintf("%d/%s/%s", id, memberOf(part), canonical(raw))
		if have[key] {
			w.fail("meeting %d has a version twice: %s", id, key)
		}
		have[key] = true
		current[part] = current[part] || r.Current && (hasContent(raw) || part == api.PartCRM && hasMatches(raw))
	}
	isOfRow := func(key string) bool { return !slices.Contains(contentKeys, strings.Split(key, "/")[1]) }
	w.checkRow(id, list, slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !isOfRow(key) }))
	for _, key := range slices.DeleteFunc(keys, isOfRow) {
		if !have[key] {
			w.fail("meeting %d: the version %s was shown and is not in the history", id, key)
		}
		part := api.Part(partOf(strings.Split(key, "/")[1]))
		if !current[part] {
			w.fail("meeting %d had its %s, and now it is blank", id, part)
		}
	}
	row, err := ar.Row(ctx, id)
	w.must(err, "read a row")
	if m := w.org.meeting(id); row.Gone && w.isWatched(m) && !w.oracle.isHidden(id) {
		w.fail("meeting %d is marked gone, and the service has never missed it", id)
	}
	if row.HasTranscript != current[api.PartTranscript] || row.HasSummary != current[api.PartSummary] {
		w.fail("meeting %d: row says transcript %v, summary %v", id, row.HasTranscript, row.HasSummary)
	}
}

// memberOf is the member of a Meeting object that a part is.
func memberOf(p api.Part) string {
	if p == api.PartSummary {
		return "default_summary"
	}
	return string(p)
}

func partOf(member string) string {
	if member == "default_summary" {
		return string(api.PartSummary)
	}
	return member
}

func (o *oracle) isHidden(id int64) bool { return o.isHiddenSince(id, time.Time{}) }

// isHiddenSince reports whether there has been a reason to miss a meeting since a time.
func (o *oracle) isHiddenSince(id int64, at time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hidden[id].After(at)
}

// isWatched reports whether a list of an account that works shows a meeting.
func (w *world) isWatched(m *meeting) bool {
	return m != nil && slices.ContainsFunc(w.config.accounts, func(a account) bool { return w.isListed(a, m) })
}

// checkMarks compares recordings: one that was here stays unless a rule deletes it.
func (w *world) checkMarks() {
	ctx, o := context.Background(), w.oracle
	for _, m := range w.org.meetings {
		list, err := w.house.archive.MediaOf(ctx, m.id)
		if err != nil && !errors.Is(err, archive.ErrNotFound) && !errors.Is(err, archive.ErrForgotten) {
			w.fail("read the recordings of %d: %v", m.id, err)
		}
		o.mu.Lock()
		had, lapsed, forgot := o.attached[m.id], o.lapsed[m.id], o.forgot[m.id]
		if len(list) > 0 {
			o.attached[m.id] = true
		}
		o.mu.Unlock()
		switch {
		case len(list) > 1:
			w.fail("meeting %d has %d recordings of one", m.id, len(list))
		case had && len(list) == 0 && !lapsed && w.isExpiring(m):
		case had && len(list) == 0 && !lapsed:
			w.fail("the recording of %d was here and is gone", m.id)
		case forgot && len(list) > 0:
			w.fail("meeting %d was forgotten and has a recording", m.id)
		}
		w.checkStored(m, list)
	}
}

// stage is how long the world has been calm, with nightly walks.
type stage int

// After the last fault everything is whole within a time that the program's own pauses
// bound: two nights for the members that a list shows, nine days for content, recordings and
// refused lists, which are tried again after up to a week, five weeks for edits of old
// meetings.
const (
	soon stage = iota
	settled
	whole
)

var stageDays = [...]float64{soon: 2.5, settled: 9, whole: lastQuiet}

// checkSoon compares the meetings with the service after two nights.
func (w *world) checkSoon() {
	w.checkKept()
	if w.house == nil {
		w.fail("the program does not run at a quiet time")
	}
	for _, m := range w.org.meetings {
		if !w.oracle.forgot[m.id] {
			w.checkMeeting(m, soon)
		}
	}
}

// checkWhole compares everything when the world was calm for some time.
func (w *world) checkWhole(s stage) {
	w.checkKept()
	h := w.house
	if h == nil {
		w.fail("the program does not run at a quiet time")
	}
	for _, m := range w.org.meetings {
		if !w.oracle.forgot[m.id] {
			w.checkMeeting(m, s)
		}
	}
	damages := []string{}
	_, err := h.archive.Verify(context.Background(), archive.VerifyOptions{}, func(d archive.Damage) {
		if !w.isLeftover(d) {
			damages = append(damages, d.String())
		}
	})
	w.must(err, "verify")
	if len(damages) > 0 {
		w.fail("verify finds %s", strings.Join(damages, "; "))
	}
	w.checkApplied()
	w.checkAllForgotten()
	w.checkFiles()
	w.checkFollower()
	w.checkMemory()
	if s == whole {
		w.checkExpired()
		if w.seed < firstHarsh {
			w.checkWaste()
		}
	}
	if s >= settled {
		w.noteCalls()
		w.checkViewers()
		w.checkRelay()
	}
}

// checkViewers compares the meetings that each person sees with section 1.7. Of meetings
// that no account is shown any more the archive knows no better. It does not know of a
// share with a single person, unless that person's account is read, nor who was
// deactivated or is no admin any more, unless an administrator's account is read.
func (w *world) checkViewers() {
	for _, p := range w.org.people {
		if !p.isActive() {
			w.checkOutcast(p)
			continue
		}
		rows, err := w.house.archive.List(context.Background(), archive.ListQuery{Viewer: p.viewer()})
		w.must(err, "list meetings")
		seen := map[int64]bool{}
		for _, r := range rows {
			m := w.meetingOf(r)
			seen[m.id] = true
			switch isImported := isForeign(r.RecordingID); {
			case isImported && !p.hasImported(m):
				w.fail("%s sees the imported meeting %d of %s", p.name, m.id, m.recorder.name)
			case !isImported && w.isWatched(m) && !w.org.sees(p, m) && !w.isViewUnknown(p) && (w.isRead(p) || !w.isTeamUnknown(m) && !w.isAdminUnknown(p)):
				w.fail("%s sees meeting %d, and not at the service", p.name, m.id)
			}
		}
		for i, m := range w.org.meetings {
			if i%5 == int(w.seed%5) {
				visible, plays, err := w.house.archive.MayPlay(context.Background(), p.viewer(), m.id)
				w.must(err, "read who may play a recording")
				if row := seen[m.id]; visible != plays && !w.org.isLimited(p, m) && !w.mayStayForbidden(p, m) || row && !visible {
					w.fail("%s is listed meeting %d: %v, sees it: %v, and may play its recording: %v", p.name, m.id, row, visible, plays)
				}
			}
			if w.isForbidden(p, m) {
				_, plays, err := w.house.archive.MayPlay(context.Background(), p.viewer(), m.id)
				w.must(err, "read who may play a recording")
				if plays {
					w.fail("%s may play the recording of %d, which the service forbids", p.name, m.id)
				}
			}
			if (w.isShown(p, m) || w.isKnownToSee(p, m)) && !seen[m.id] && !w.oracle.forgot[m.id] {
				w.fail("%s, of %q, does not see meeting %d, %s, but at the service", p.name, p.team, m.id, m.sharing)
			}
		}
		for n := range w.oracle.imported {
			// Who was deactivated once may still be called so by the last list that was read, and
			// by a former address, under which the meeting was recorded, though the key is read. So may
			// somebody whose address changed and whose key was replaced before the new address was read with
			// it: the list of users lacks the former one.
			if m := w.foreignMeeting(n); p.hasImported(m) && !seen[m.id] && (w.isRead(p) && len(p.former) == 0 || !p.wasDeactivated && !p.rekeyed.After(p.readdressed)) {
				w.fail("%s does not see the own imported meeting %d", p.name, m.id)
			}
		}
	}
}

// isAdminUnknown reports whether the archive cannot know that somebody is no admin any more:
// only admins read the list of users, and none of them is read.
func (w *world) isAdminUnknown(p *person) bool {
	return p.wasAdmin && !w.isAdminRead(p)
}

// isTeamUnknown reports whether a meeting is shared with a team that the archive cannot know,
// since no list names the team any more.
func (w *world) isTeamUnknown(m *meeting) bool {
	if m.sharing != "single_team" {
		return false
	}
	return !slices.ContainsFunc(w.org.people, func(p *person) bool {
		return w.isRead(p) && w.org.sees(p, m) && !w.traits.lacksTeam[p.email]
	})
}

// isRead reports whether a person's account is configured and works.
func (w *world) isRead(p *person) bool {
	return slices.ContainsFunc(w.config.accounts, func(a account) bool { return a.email == p.email && w.works(a) })
}

// checkMeeting compares a meeting with the service at a quiet time.
func (w *world) checkMeeting(m *meeting, s stage) {
	ctx, ar := context.Background(), w.house.archive
	row, err := ar.Row(ctx, m.id)
	if !w.isWatched(m) {
		if err == nil && s >= settled && w.isReadByAll(m) && !row.Gone {
			w.fail("meeting %d is shown by no list any more, and not marked gone", m.id)
		}
		return
	}
	if err != nil {
		w.fail("meeting %d (%s) is visible and not archived: %v", m.id, stamp(m.created), err)
	}
	switch {
	case row.Gone:
		w.fail("meeting %d is visible and marked gone", m.id)
	case row.Title != m.title:
		w.fail("meeting %d has the title %q, the service %q", m.id, row.Title, m.title)
	case row.SharedWith != m.sharing && !w.isNarrowed(m, row.SharedWith):
		w.fail("meeting %d is shared with %q, at the service %q", m.id, row.SharedWith, m.sharing)
	}
	parts, err := ar.PartsOf(ctx, m.id)
	w.must(err, "read the parts")
	w.checkDetails(m, row, parts)
	for member, want := range w.contentOfNow(m) {
		got := parts[api.Part(partOf(member))]
		switch {
		case s < settled || !w.isReady(m.id, member) || !hasContent(got) && w.isStuck("content", m, lately):
		case s < whole && !hasContent(got) && w.lackedLong():
		case !hasContent(got):
			w.fail("meeting %d (%s): its %s is not here: %.60s", m.id, stamp(m.created), member, got)
		case s == whole && canonical(got) != canonical([]byte(want)) && !w.isReturned(m, member, got, []byte(want)):
			w.fail("meeting %d: its %s is %.500s, at the service %.500s", m.id, member, got, want)
		}
	}
	if s >= settled && m.id%5 == int64(w.seed%5) {
		list, err := ar.MediaOf(ctx, m.id)
		w.must(err, "read the recordings")
		w.checkRecording(m, list)
		if w.seed >= firstVaried {
			w.checkMatches(m)
		}
	}
	if s >= settled && w.mayBeFetched(m) && w.config.downloads && m.media != "none" && !w.isExpired(m) && !w.isStuck("download", m, lately) && !w.oracle.lapsed[m.id] && !w.oracle.attached[m.id] {
		d, err := ar.DownloadOf(ctx, m.id)
		w.fail("meeting %d: its recording is not here: %+v, %v", m.id, d, err)
	}
	if s >= settled {
		w.oracle.judged(m.id)
	}
}
