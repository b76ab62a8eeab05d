package mirror

import (
	"strings"

	"github.com/bits-and-blooms/bitset"

	"minutebook/api"
	"minutebook/archive"
)

// Shows reports whether a person sees a meeting.
func (m *Mirror) Shows(id int64, email string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, _ := m.visible(id, email)
	return e != nil
}

// MayDownload reports whether a person sees a meeting, and whether the person may
// download its recording (4.5): the recorder, and whoever sees it by more than a
// limited share. An explicit share says its level itself.
func (m *Mirror) MayDownload(id int64, email string) (visible, allowed bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, principals := m.visible(id, email)
	if e == nil {
		return false, false
	}
	if m.symbols.texts[e.recorder] == email {
		return true, true
	}
	for _, p := range m.lists.symbols[e.principals] {
		if principals.Test(uint(p)) && archive.IsUnlimited(m.symbols.texts[p], e.withTeams, m.shares[e.id]) {
			return true, true
		}
	}
	return true, false
}

// Scopes returns the trigger scopes that a meeting falls under for a person (6.1),
// none where the person does not see it. A private call, which is shared with no
// team, falls under my_recordings alone, also where single people see it.
func (m *Mirror) Scopes(id int64, email string) []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, _ := m.visible(id, email)
	switch {
	case e == nil:
		return nil
	case m.symbols.texts[e.recorder] == email && m.isWithTeams(e):
		return []string{api.TriggerMyRecordings, api.TriggerMySharedWithTeam}
	case m.symbols.texts[e.recorder] == email:
		return []string{api.TriggerMyRecordings}
	case e.outside:
		return []string{api.TriggerSharedExternal}
	case m.isWithTeams(e):
		return []string{api.TriggerSharedTeam}
	}
	return nil
}

// isWithTeams reports whether a meeting is shared with a team or with everyone;
// caller holds mu.
func (m *Mirror) isWithTeams(e *meeting) bool {
	if e.namesTeams {
		return true
	}
	for principal := range m.shares[e.id] {
		if principal == archive.PrincipalEveryone || strings.HasPrefix(principal, "team:") {
			return true
		}
	}
	return false
}

// visible returns a meeting and the principals of a person; nil where there is no
// such meeting or the person does not see it. Both cost the same work. Caller
// holds mu as long as the meeting is used.
func (m *Mirror) visible(id int64, email string) (*meeting, *bitset.BitSet) {
	principals := m.principals(email)
	at, ok := m.index(id)
	if !ok || !m.lists.hasAny(m.meetings[at].principals, principals) {
		return nil, principals
	}
	return &m.meetings[at], principals
}

// principals returns the principals of a person; caller holds mu.
func (m *Mirror) principals(email string) *bitset.BitSet {
	if p := m.dir.people[email]; p != nil {
		return m.symbols.set(p.principals)
	}
	return m.symbols.set([]string{archive.UserPrincipal(email)})
}
