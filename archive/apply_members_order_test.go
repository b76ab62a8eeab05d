package archive

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/archive/merge"
	"minutebook/internal/rawjson"
	"minutebook/internal/testrun"
)

// drawPeople makes reads of few people that collide in every way: with and
// without members, all or not all with an address, one name twice, one name with two addresses, other types.
func drawPeople(t *rapid.T, addressed bool) Observation {
	draw := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	addresses := []string{`"ann@x"`, `"ANN@x"`, `"ann@y"`, `"bob@x"`}
	if !addressed {
		addresses = append(addresses, "absent", "null")
	}
	person := func(label string) string {
		members := map[string]string{
			"name":                         draw(label+" name", "absent", "null", `""`, `"Ann"`, `"Ann"`, `"Bob"`, "5"),
			"email":                        draw(label+" email", addresses...),
			"team":                         draw(label+" team", "absent", "null", `""`, `"Sales"`, `"Ops"`),
			"matched_speaker_display_name": draw(label+" speaker", "absent", "null", `"A"`, `"B"`),
		}
		raw := ""
		for _, key := range slices.Sorted(maps.Keys(members)) {
			if members[key] != "absent" {
				raw += fmt.Sprintf(",%q:%s", key, members[key])
			}
		}
		return "{" + raw[min(1, len(raw)):] + "}"
	}
	invited := "["
	for i := range rapid.IntRange(0, 3).Draw(t, "invitees") {
		if i > 0 {
			invited += ","
		}
		invited += person("invitee")
	}
	o := shownAt(rapid.IntRange(0, 6).Draw(t, "hour"), `"title":`+draw("title", "null", `"T"`, `"U"`, "7", `[]`)+
		draw("shares", "", `,"shared_with":null`, `,"shared_with":"no_teams"`, `,"shared_with":"single_team"`, `,"shared_with":"all_teams"`)+
		`,"calendar_invitees":`+draw("list", "null", "7", invited+"]", invited+"]", invited+"]")+
		`,"recorded_by":`+draw("recorder", "null", `"x"`, person("recorder"), person("recorder"), person("recorder")))
	o.Account = draw("account", "a", "b")
	o.Source = Source(draw("source", string(SourceList), string(SourceList), string(SourceWebhook)))
	return o
}

// TestMembersEndTheSameInAnyOrder: however reads arrive, the parts, the rows and
// who sees the meeting equal a fold of all versions; content of a recorder or an
// invitee is only ever replaced by content; and a repeated read logs nothing.
func TestMembersEndTheSameInAnyOrder(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := drawArchive(t)
	rapid.Check(t, func(rt *rapid.T) {
		addressed := rapid.Bool().Draw(rt, "addressed")
		people := rapid.Custom(func(t *rapid.T) Observation { return drawPeople(t, addressed) })
		batch := rapid.SliceOfN(people, 1, 7).Draw(rt, "batch")
		shuffled := rapid.Permutation(batch).Draw(rt, "shuffled")
		var ends []string
		for _, order := range [][]Observation{batch, shuffled} {
			clearArchive(rt, a)
			if _, err := a.Apply(t.Context(), order); err != nil {
				rt.Fatal(err)
			}
			before := dumpDatabase(rt, a.db)
			if err := a.Rebuild(t.Context(), nil); err != nil {
				rt.Fatal(err)
			}
			if after := dumpDatabase(rt, a.db); !maps.EqualFunc(before, after, slices.Equal[[]string]) {
				rt.Fatalf("a rebuild ends otherwise:\n%v\n%v", before["parts"], after["parts"])
			}
			applied, err := a.Apply(t.Context(), batch)
			if err != nil || len(applied.Changed)+applied.Revisions != 0 {
				rt.Fatalf("shown again: %+v, %v; want nothing", applied, err)
			}
			ends = append(ends, foldedEnd(rt, a))
			checkBlanked(rt, a, batch)
		}
		if ends[0] != ends[1] {
			rt.Fatalf("another order ends otherwise:\n%s\n%s", ends[0], ends[1])
		}
	})
}

// foldedEnd returns the final state of meeting 1. It fails unless the rows and a merge
// of all versions agree.
func foldedEnd(rt *rapid.T, a *Archive) string {
	parts, err := a.PartsOf(rt.Context(), 1)
	if err != nil {
		rt.Fatal(err)
	}
	row, err := columnOf(a.db, `SELECT json_array(title, recorded_by_name, recorded_by_email, recorded_by_team, shared_with, sharing_team,
		(SELECT json_group_array(json_array(name, email, matched_speaker_display_name)) FROM invitees)) FROM meetings`)
	if err != nil {
		rt.Fatal(err)
	}
	rows, err := a.db.R.Query(`SELECT r.id, r.hash, r.empty, r.read_at, r.counts_at, r.sharing_rank, r.told_at, b.encoding, b.body
		FROM revisions r JOIN bodies b ON b.revision_id = r.id WHERE r.part = 'meeting'`)
	if err != nil {
		rt.Fatal(err)
	}
	var all []merge.Input
	for rows.Next() {
		e, err := a.scanVersion(rows)
		if err != nil {
			rt.Fatal(err)
		}
		all = append(all, e)
	}
	rows.Close()
	if f := merge.Meeting(all); string(f.Raw) != string(parts[api.PartMeeting]) {
		rt.Fatalf("current is\n%s, and the merge of all versions\n%s", parts[api.PartMeeting], f.Raw)
	}
	return string(parts[api.PartMeeting]) + row[0]
}

// checkBlanked holds the outcome against the promise without the merge's own
// code: whoever has an address in the current lists has every member that any
// version with this address had.
func checkBlanked(rt *rapid.T, a *Archive, batch []Observation) {
	type people struct {
		RecordedBy json.RawMessage   `json:"recorded_by"`
		Invitees   []json.RawMessage `json:"calendar_invitees"`
	}
	read := func(raw []byte) (recorder, invited []map[string]any) {
		var p people
		_ = json.Unmarshal(raw, &p)
		for _, raw := range p.Invitees {
			var m map[string]any
			if json.Unmarshal(raw, &m) == nil && m != nil {
				invited = append(invited, m)
			}
		}
		var m map[string]any
		if json.Unmarshal(p.RecordedBy, &m) == nil && m != nil {
			recorder = append(recorder, m)
		}
		return recorder, invited
	}
	parts, err := a.PartsOf(rt.Context(), 1)
	if err != nil {
		rt.Fatal(err)
	}
	recorder, invited := read(parts[api.PartMeeting])
	text := func(p map[string]any, key string) string { s, _ := p[key].(string); return s }
	occurrences := func(people []map[string]any, address string) (n int) {
		for _, p := range people {
			if api.FoldEmail(text(p, "email")) == address {
				n++
			}
		}
		return n
	}
	check := func(now, earlier []map[string]any) {
		for _, p := range now {
			address := api.FoldEmail(text(p, "email"))
			if address == "" || occurrences(now, address) > 1 && occurrences(earlier, address) > 1 {
				continue // one list may have somebody twice, with other members
			}
			for _, q := range earlier {
				for key := range q {
					if api.FoldEmail(text(q, "email")) == address && text(q, key) != "" && text(p, key) == "" {
						rt.Fatalf("%s of %s was blanked: had %v, now %v", key, address, q, p)
					}
				}
			}
		}
	}
	var unaddressed bool // an address may then be one that was added by a name
	for _, o := range batch {
		r, i := read(o.Parts[api.PartMeeting])
		unaddressed = unaddressed || occurrences(r, "")+occurrences(i, "") > 0
	}
	if unaddressed {
		return
	}
	for _, o := range batch {
		r, i := read(o.Parts[api.PartMeeting])
		check(recorder, r)
		check(invited, i)
	}
}

// TestNeededVersionsAreEnough: a merge of the versions that the merge before
// called needed, and of those that arrived since, is the merge of all.
func TestNeededVersionsAreEnough(t *testing.T) {
	testrun.SkipUnderRace(t)
	rapid.Check(t, func(rt *rapid.T) {
		versions := map[[32]byte]merge.Input{}
		var kept []merge.Input
		for range rapid.IntRange(1, 12).Draw(rt, "arrivals") {
			o := drawPeople(rt, false)
			raw := o.Parts[api.PartMeeting]
			hash, _ := rawjson.Hash(raw)
			e, ok := versions[hash]
			if !ok {
				e = merge.Input{Version: &merge.Version{ID: int64(len(versions) + 1), Hash: hash}, Raw: raw}
			}
			v := *e.Version
			if at := o.At.UnixMilli(); o.Source.read() {
				v.ReadAt = max(v.ReadAt, at)
			} else {
				v.ReportedAt = max(v.ReportedAt, at)
			}
			e.Version = &v
			versions[hash] = e
			kept = append(slices.DeleteFunc(kept, func(k merge.Input) bool { return k.ID == e.ID }), e)
			partial, all := merge.Meeting(slices.Clone(kept)), merge.Meeting(slices.Collect(maps.Values(versions)))
			if diff := cmp.Diff(all, partial); diff != "" {
				rt.Fatalf("the needed versions make another part:\n%s", diff)
			}
			kept = slices.DeleteFunc(kept, func(k merge.Input) bool { return !slices.Contains(partial.Needed, k.ID) })
		}
	})
}
