package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"minutebook/archive"
)

// meeting is a recorded meeting, as the service has it now and as it was last
// read.
type meeting struct {
	id               int64
	truth, read      details
	shownTeams       map[string]string // of each recorder: the last that was not null
	passes           map[pass]bool
	seen             map[pass]showing
	shares           map[string]archive.ShareLevel
	crm              map[owned]bool // who was shown matches
	video, delivered bool
	forgotten        bool
}

// details are the changing members of a meeting that decide who sees it.
type details struct{ recorder, team, shared string }

// pass is a list query of an account; showing says to which holder it showed a
// meeting and when, and when a later complete walk lacked it by the archive's clock.
type (
	pass    struct{ account, query string }
	showing struct {
		holder int
		at     time.Time
		lacked time.Time // zero: none did
	}
	owned struct {
		account string
		holder  int
	}
)

// word is a word that only one meeting has, far from that of any other.
func word(kind string, id int64) string {
	var b strings.Builder
	b.WriteString(kind)
	for _, digit := range fmt.Sprintf("%02d", id) {
		b.WriteString(strings.Repeat(string('b'+digit-'0'), 5))
	}
	return b.String()
}

// misspell returns a word with a letter that no word has.
func misspell(w string) string { return w[:6] + "w" + w[7:] }

func crmWord(id int64, o owned) string {
	return word(fmt.Sprintf("crm%s%c", o.account, 'a'+o.holder), id)
}

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func (m *meeting) start() time.Time { return start.AddDate(0, int(m.id)%4, int(m.id)) }

func (m *meeting) kind() string { return fmt.Sprint("Kind ", m.id%5) }

// drawMeeting draws a meeting and who is shown it. Outsiders' recordings are in
// no plain list (4.1).
func (w *world) drawMeeting(t *rapid.T, id int64) {
	m := &meeting{id: id, passes: map[pass]bool{}, seen: map[pass]showing{}, shares: map[string]archive.ShareLevel{}, crm: map[owned]bool{}, shownTeams: map[string]string{}}
	m.truth = drawDetails(t)
	m.video = rapid.Bool().Draw(t, "video")
	outside := slices.Contains(outsiders, m.truth.recorder)
	for _, name := range accounts {
		for _, query := range []string{"", "teams:x", "recorded_by:y"} {
			m.passes[pass{name, query}] = !(outside && query == "") && rapid.IntRange(0, 2).Draw(t, "shown") == 0
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "shares") == 0 {
		m.share(t)
	}
	w.meetings[id] = m
	m.delivered = rapid.IntRange(0, 3).Draw(t, "delivered") == 0
}

func drawDetails(t *rapid.T) details {
	d := details{recorder: rapid.SampledFrom(append(append([]string{""}, people...), outsiders...)).Draw(t, "recorder")}
	d.team = rapid.SampledFrom([]string{"Sales", "Support", "Legal", "Renamed", ""}).Draw(t, "team")
	if d.recorder == "" {
		d.team = "" // it is the recorder's
	}
	d.shared = rapid.SampledFrom([]string{"no_teams", "single_team", "multiple_teams", "all_teams", "odd", ""}).Draw(t, "shared")
	return d
}

// share draws with whom a meeting is explicitly shared. A limited share with many
// is only drawn where shared_with gives them nothing.
func (m *meeting) share(t *rapid.T) {
	m.shares = map[string]archive.ShareLevel{}
	for _, grantee := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"user:ann@a.example", "user:gus@a.example", "user:yan@b.example", "team:Sales", "everyone"}), 0, 2, rapid.ID).Draw(t, "with") {
		m.shares[grantee] = archive.ShareStandard
		if strings.HasPrefix(grantee, "user:") || m.truth.shared == "no_teams" && m.read.shared == m.truth.shared {
			m.shares[grantee] = rapid.SampledFrom([]archive.ShareLevel{archive.ShareLimited, archive.ShareStandard, archive.ShareAdmin}).Draw(t, "level")
		}
	}
}

// raw is the meeting as a read shows it to an account; a light one has no content.
func (m *meeting) raw(o owned, light bool) []byte {
	fields := map[string]any{
		"recording_id": m.id, "title": "Talk " + word("tit", m.id), "meeting_type": m.kind(), "transcript_language": "en",
		"recording_start_time": m.start().Format(time.RFC3339), "recording_end_time": m.start().Add(time.Hour).Format(time.RFC3339),
		"created_at": m.start().Add(time.Hour).Format(time.RFC3339), "shared_with": m.truth.shared,
	}
	if m.truth.shared == "" {
		fields["shared_with"] = nil
	}
	if m.truth.recorder != "" {
		recorder := map[string]any{"name": "Rec " + strings.ToUpper(m.truth.recorder[:3]), "email": m.truth.recorder, "team": nil}
		if m.truth.team != "" {
			recorder["team"] = m.truth.team
		}
		fields["recorded_by"] = recorder
	}
	if m.crm[o] {
		fields["crm_matches"] = map[string]any{"deals": []any{map[string]any{"name": "Deal " + crmWord(m.id, o)}}}
	}
	if !light {
		fields["transcript"] = []any{map[string]any{"speaker": map[string]any{"display_name": "Voice " + word("voi", m.id)}, "text": "We said " + word("tra", m.id), "timestamp": "00:00:05"}}
		fields["default_summary"] = map[string]any{"template_name": "General", "markdown_formatted": "It was " + word("sum", m.id)}
		fields["action_items"] = []any{map[string]any{"description": "Do " + word("act", m.id), "recording_timestamp": "00:00:05", "assignee": map[string]any{"name": "Doer " + word("doe", m.id)}}}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return raw
}

// noteRead keeps the outcome of a read: the newest team of that recorder, none
// included, is the one it is shared with.
func (m *meeting) noteRead() {
	if m.truth.team != "" && m.truth.recorder != "" {
		m.shownTeams[m.truth.recorder] = m.truth.team
	}
	m.read = m.truth
}

// walk reads all lists of an account, to their ends.
func (w *world) walk(t *rapid.T, name string) {
	for _, query := range w.accounts[name].queries {
		p, o := pass{name, query}, owned{name, w.holders[name]}
		walk, err := w.house.archive.BeginWalk(w.ctx, name, query)
		w.must(err)
		var batch []archive.Observation
		for _, m := range w.sorted() {
			if !m.passes[p] || m.forgotten {
				continue
			}
			if query == "" && rapid.IntRange(0, 2).Draw(t, "crm") == 0 {
				m.crm[o] = true
			}
			batch = append(batch, w.observe(m, p, archive.SourceList, walk.Number, len(m.seen) > 0 && rapid.Bool().Draw(t, "light")))
			m.seen[p] = showing{holder: w.holders[name], at: w.lastRead()}
			w.hasPlainList = w.hasPlainList || query == ""
		}
		_, err = w.house.archive.Apply(w.ctx, batch)
		w.must(err)
		walk.Listed = 1000 // so that whatever lacks is believed
		_, err = w.house.archive.CompleteWalk(w.ctx, walk)
		w.must(err)
		for _, m := range w.meetings {
			if !m.passes[p] {
				w.endPasses(m, p)
			}
		}
	}
}

// endPasses notes that a whole walk lacked a meeting. With the walk's own list those end that
// are not read any more, since none of their walks would ever lack the meeting. Where the walk
// before lacked it too, they end if no other list is left and they showed it earlier.
func (w *world) endPasses(m *meeting, p pass) {
	own, ok := m.seen[p]
	if !ok || !w.isRead(p, own) {
		return
	}
	now, again := time.Now(), !own.lacked.IsZero()
	if !again {
		own.lacked = now
		m.seen[p] = own
	}
	for q, s := range m.seen {
		if again && s.lacked.IsZero() && (w.isRead(q, s) || s.at.After(own.lacked)) {
			return
		}
	}
	for q, s := range m.seen {
		if s.lacked.IsZero() && !w.isRead(q, s) {
			s.lacked = now
			m.seen[q] = s
		}
	}
}

// isRead reports whether a list is still read for the holder to whom it showed a meeting.
func (w *world) isRead(p pass, s showing) bool {
	a, configured := w.accounts[p.account]
	return configured && slices.Contains(a.queries, p.query) && s.holder == w.holders[p.account]
}

// lastRead is when the last observation was made.
func (w *world) lastRead() time.Time { return start.Add(time.Duration(w.clock) * time.Hour * 24) }

func (w *world) observe(m *meeting, p pass, source archive.Source, walk int64, light bool) archive.Observation {
	w.clock++
	o, err := archive.FromMeeting(p.account, source, w.lastRead(), m.raw(owned{p.account, w.holders[p.account]}, light))
	w.must(err)
	o.Query, o.Walk = p.query, walk
	m.noteRead()
	return o
}

// sorted returns the meetings by their numbers.
func (w *world) sorted() (list []*meeting) {
	for _, id := range slices.Sorted(maps.Keys(w.meetings)) {
		list = append(list, w.meetings[id])
	}
	return list
}
