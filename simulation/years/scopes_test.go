package years

import (
	"fmt"
	"maps"
	"slices"
)

// The scopes of a webhook (docs/service.md; the specification names the first alone).
const (
	mine           = "my_recordings"
	mineShared     = "my_shared_with_team_recordings"
	sharedTeam     = "shared_team_recordings"
	sharedExternal = "shared_external_recordings"
)

// drawScopes draws the scopes of the webhook n, and the members of a meeting that it is sent.
func (w *world) drawScopes(n int) (scopes, includes []string) {
	if w.seed < firstStrict {
		return []string{mine, sharedTeam}, []string{"default_summary", "crm_matches"}
	}
	g := newRand(w.seed, fmt.Sprint("scopes ", n))
	draw := func(list []string) (drawn []string) {
		for len(drawn) == 0 {
			drawn = slices.DeleteFunc(slices.Clone(list), func(string) bool { return g.IntN(2) == 0 })
		}
		return drawn
	}
	scopes = draw([]string{mine, mineShared, sharedTeam, sharedExternal})
	includes = draw([]string{"transcript", "default_summary", "action_items", "crm_matches"}) // one at least (specification 4.10)
	if g.IntN(2) == 0 {
		includes = append(includes, "highlights")
	}
	w.journal.note("webhook %d is for %v, with %v", n, scopes, includes)
	return scopes, includes
}

// noteScopes notes the scopes in which a meeting is now for a person who sees it. A private one is
// the recorder's alone (specification 6.1).
func (m *meeting) noteScopes(p *person) {
	if m.scopes == nil {
		m.scopes = map[string]bool{}
	}
	isShared := m.sharing != "no_teams"
	for scope, isIn := range map[string]bool{
		mine:           m.recorder == p,
		mineShared:     m.recorder == p && isShared,
		sharedTeam:     m.recorder != p && !m.recorder.isOutside && isShared,
		sharedExternal: m.recorder.isOutside,
	} {
		if isIn {
			m.scopes[p.email+" "+scope] = true
		}
	}
}

// noteMistyped notes that a list shows a meeting with a member of another type, perhaps the one that
// decides a scope.
func (w *world) noteMistyped(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.org.meeting(id); m != nil {
		m.isMistyped = true
	}
}

// mayFire reports whether a meeting ever was in a scope of a webhook.
func (h *hook) mayFire(m *meeting) bool {
	return slices.ContainsFunc(h.scopes, func(scope string) bool { return m.scopes[h.owner+" "+scope] })
}

// unasked names a part of a delivery that the webhook was not made for; "": there is none.
func (h *hook) unasked(body object) string {
	for _, part := range contentKeys {
		if raw := string(body[part]); raw != "" && raw != "null" && !slices.Contains(h.includes, part) {
			return part
		}
	}
	return ""
}

// mustFire reports whether a webhook has to be sent a meeting with a summary: it is the owner's own,
// or its sharing, which never changed, is in a scope. What is shared with all is sent where lists
// alone have shown the meeting: one that comes by webhook first may wait for a list too long, and one
// that the list of a recorder or a team shows first may be taken for one from outside. Who was not
// always active may still be called so, and who is in no list of users or of a team's members is
// shown nothing that is shared with all.
func (w *world) mustFire(h *hook, m *meeting) bool {
	owner := w.org.person(h.owner)
	isIn := func(scope string) bool { return slices.Contains(h.scopes, scope) }
	isUnchanged := m.sharedAt.IsZero()
	isPlain := !slices.ContainsFunc(w.config.accounts, func(a account) bool { return len(a.recordedBy)+len(a.teams) > 0 })
	switch {
	case m.isMistyped, (owner.wasDeactivated || owner.wasInvited) && !w.areUsersRead(owner):
		return false
	case m.recorder == owner:
		return isIn(mine) || isIn(mineShared) && isUnchanged && m.sharing != "no_teams"
	case m.recorder.isOutside:
		return isIn(sharedExternal) && isUnchanged && w.isShown(owner, m)
	}
	isDelivered := slices.Contains(slices.Collect(maps.Values(w.oracle.acked)), m.id)
	return isIn(sharedTeam) && isUnchanged && m.sharing == "all_teams" && isPlain && !isDelivered && (owner.team != "" || w.areUsersRead(owner)) && w.isShown(owner, m)
}
