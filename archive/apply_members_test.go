package archive

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/internal/rawjson"
	"minutebook/internal/testrun"
)

// shownAt is a read of the part "meeting" at an hour.
func shownAt(hour int, keys string) Observation {
	return Observation{Account: "a", Source: SourceList, At: epoch0.Add(time.Duration(hour) * time.Hour), RecordingID: 1,
		Parts: map[api.Part]json.RawMessage{api.PartMeeting: json.RawMessage(`{"recording_id":1,` + keys + `}`)}}
}

// TestMembersAreMergedByTheTable goes through the second table of merge.go: the
// first of the values is the older one.
func TestMembersAreMergedByTheTable(t *testing.T) {
	testrun.SkipUnderRace(t)
	for name, c := range map[string]struct{ older, newer, want string }{
		"null keeps": {`"calendar_invitees":[{"name":"Ann","email":"ann@x","matched_speaker_display_name":"Ann L"}]`,
			`"calendar_invitees":[{"name":null,"email":"Ann@X ","matched_speaker_display_name":null}]`,
			`"calendar_invitees":[{"name":"Ann","email":"Ann@X ","matched_speaker_display_name":"Ann L"}]`},
		"absent keeps": {`"recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`,
			`"recorded_by":{"email":"bob@x"}`, `"recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`},
		"empty keeps": {`"recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`,
			`"recorded_by":{"name":" ","email":"bob@x","team":""}`, `"recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`},
		"another type keeps": {`"title":"T","created_at":"2026-01-01T00:00:00Z","recorded_by":{"name":"Bob","email":"bob@x"},"calendar_invitees":[{"email":"ann@x"}]`,
			`"title":5,"created_at":"soon","recorded_by":{"name":["x"],"email":"bob@x"},"calendar_invitees":{"email":"ann@x"}`,
			`"title":"T","created_at":"2026-01-01T00:00:00Z","recorded_by":{"name":"Bob","email":"bob@x"},"calendar_invitees":[{"email":"ann@x"}]`},
		"content replaces": {`"recorded_by":{"name":"Bob","email":"bob@x"}`,
			`"recorded_by":{"name":"Robert","email":"bob@x"}`, `"recorded_by":{"name":"Robert","email":"bob@x"}`},
		"another recorder": {`"recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`,
			`"recorded_by":{"name":"Bob","email":"bob@y","team":null}`, `"recorded_by":{"name":"Bob","email":"bob@y","team":null}`},
		"recorder of another name at the address": {`"recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`,
			`"recorded_by":{"name":"Robert","email":"Bob@X","team":null}`, `"recorded_by":{"name":"Robert","email":"Bob@X","team":"Sales"}`},
		"recorder without address": {`"recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`,
			`"recorded_by":{"name":"Bob","email":null,"team":null}`, `"recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`},
		"recorder of another name": {`"recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`,
			`"recorded_by":{"name":"Cy","email":null,"team":null}`, `"recorded_by":{"name":"Cy","email":null,"team":null}`},
		"empty list": {`"calendar_invitees":[{"name":"Ann"}]`, `"calendar_invitees":[{"name":""}]`, `"calendar_invitees":[{"name":"Ann"}]`},
		"a list of nobody": {`"calendar_invitees":[{"name":"Ann","email":"ann@x","is_external":false}]`,
			`"calendar_invitees":[{"name":null,"email_domain":"x","is_external":true},{"email":5}]`, `"calendar_invitees":[{"name":"Ann","email":"ann@x","is_external":false}]`},
		"the newest decides who": {`"calendar_invitees":[{"name":"Ann","email":"ann@x"},{"name":"Bob","email":"bob@x"}]`,
			`"calendar_invitees":[{"name":null,"email":"bob@x"},{"name":"Cy","email":"cy@x"}]`,
			`"calendar_invitees":[{"name":"Bob","email":"bob@x"},{"name":"Cy","email":"cy@x"}]`},
		"never by place": {`"calendar_invitees":[{"name":"Ann","email":"ann@x","matched_speaker_display_name":"A"}]`,
			`"calendar_invitees":[{"name":"Bob","email":null}]`, `"calendar_invitees":[{"name":"Bob","email":null}]`},
		"by a unique name": {`"calendar_invitees":[{"name":"Ann","email":"ann@x"},{"name":"Bob"}]`,
			`"calendar_invitees":[{"name":"Bob"},{"name":"Ann","email":null}]`, `"calendar_invitees":[{"name":"Bob"},{"name":"Ann","email":"ann@x"}]`},
		"a name twice in the older": {`"calendar_invitees":[{"name":"Ann","email":"ann@x"},{"name":"Ann","email":"ann@y"}]`,
			`"calendar_invitees":[{"name":"Ann"}]`, `"calendar_invitees":[{"name":"Ann"}]`},
		"a name twice in the newer": {`"calendar_invitees":[{"name":"Ann","email":"ann@x"}]`,
			`"calendar_invitees":[{"name":"Ann"},{"name":"Ann"}]`, `"calendar_invitees":[{"name":"Ann"},{"name":"Ann"}]`},
		"an address contradicts": {`"calendar_invitees":[{"name":"Ann","email":"ann@x","matched_speaker_display_name":"A"}]`,
			`"calendar_invitees":[{"name":"Ann","email":"ann@y"}]`, `"calendar_invitees":[{"name":"Ann","email":"ann@y"}]`},
		"another's address": {`"calendar_invitees":[{"name":"Ann","email":"ann@x","matched_speaker_display_name":"A"}]`,
			`"calendar_invitees":[{"name":"Ann Lee","email":"ann@x"},{"name":"Ann"}]`,
			`"calendar_invitees":[{"name":"Ann Lee","email":"ann@x","matched_speaker_display_name":"A"},{"name":"Ann"}]`},
		"what is no object": {`"calendar_invitees":["Ann",7,{"name":"Ann","email":"ann@x"}]`,
			`"calendar_invitees":[null,"Ann",{"name":"Ann"},[]]`, `"calendar_invitees":[null,"Ann",{"name":"Ann","email":"ann@x"},[]]`},
		"an unknown member": {`"calendar_invitees":[{"email":"ann@x","later":{"a":1}}]`,
			`"calendar_invitees":[{"email":"ann@x","later":null}]`, `"calendar_invitees":[{"email":"ann@x","later":{"a":1}}]`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			older, newer := shownAt(1, c.older), shownAt(2, c.newer)
			for _, order := range [][]Observation{{older, newer}, {newer, older}} {
				clearArchive(t, a)
				apply(t, a, order...)
				parts, err := a.PartsOf(t.Context(), 1)
				want := `{"recording_id":1,` + c.want + `}`
				if err != nil || !rawjson.Equal(parts[api.PartMeeting], []byte(want)) {
					t.Fatalf("current is\n%s, %v; want\n%s", parts[api.PartMeeting], err, want)
				}
			}
		})
	}
}

// TestNamesThatWereTakenMatchAgain: a list without the address or the name by which an
// older version was matched takes away none of the members that this one gave.
func TestNamesThatWereTakenMatchAgain(t *testing.T) {
	for name, c := range map[string]struct {
		shown []string // the oldest first
		want  string
	}{
		"recorder, the address": {[]string{`"recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`, `"recorded_by":{"name":"Robert","email":"bob@x"}`,
			`"recorded_by":{"name":"Robert","email":null}`}, `"recorded_by":{"name":"Robert","email":"bob@x","team":"Sales"}`},
		"recorder, the newer one": {[]string{`"recorded_by":{"name":"Robert","email":"bob@x"}`, `"recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`,
			`"recorded_by":{"name":"Robert","email":null}`}, `"recorded_by":{"name":"Robert","email":"bob@x","team":"Sales"}`},
		"invitee, the address": {[]string{`"calendar_invitees":[{"name":"Ann","email":"ann@x","is_external":false}]`, `"calendar_invitees":[{"name":"Anna","email":"ann@x"}]`,
			`"calendar_invitees":[{"name":"Anna","email":null}]`}, `"calendar_invitees":[{"name":"Anna","email":"ann@x","is_external":false}]`},
		"invitee, the name": {[]string{`"calendar_invitees":[{"name":"Ann","matched_speaker_display_name":"A"}]`, `"calendar_invitees":[{"name":"Ann","email":"ann@x"}]`,
			`"calendar_invitees":[{"name":null,"email":"ann@x"}]`}, `"calendar_invitees":[{"name":"Ann","email":"ann@x","matched_speaker_display_name":"A"}]`},
		"recorder, the greatest that matches": {[]string{`"recorded_by":{"name":"Robert","email":"bob@x","team":"Old"}`, `"recorded_by":{"name":"Bob","email":"bob@x","team":"New"}`,
			`"recorded_by":{"name":"Robert","email":null}`}, `"recorded_by":{"name":"Robert","email":"bob@x","team":"New"}`},
		"invitee, a name of two": {[]string{`"calendar_invitees":[{"name":"Ann","matched_speaker_display_name":"A"}]`, `"calendar_invitees":[{"name":"Ann","email":"ann@x"},{"name":"Ann","email":"ann@y"}]`,
			`"calendar_invitees":[{"name":null,"email":"ann@x"},{"name":null,"email":"ann@y"}]`}, `"calendar_invitees":[{"name":"Ann","email":"ann@x"},{"name":"Ann","email":"ann@y"}]`},
		"invitee, another's own name": {[]string{`"calendar_invitees":[{"name":"Ann","matched_speaker_display_name":"A"}]`, `"calendar_invitees":[{"name":"Ann","email":"ann@x"}]`,
			`"calendar_invitees":[{"name":null,"email":"ann@x"},{"name":"Ann","email":"ann@y"}]`},
			`"calendar_invitees":[{"name":"Ann","email":"ann@x"},{"name":"Ann","email":"ann@y","matched_speaker_display_name":"A"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			for i, members := range c.shown {
				apply(t, a, shownAt(i+1, members))
			}
			parts, err := a.PartsOf(t.Context(), 1)
			want := `{"recording_id":1,` + c.want + `}`
			if err != nil || !rawjson.Equal(parts[api.PartMeeting], []byte(want)) {
				t.Fatalf("current is\n%s, %v; want\n%s", parts[api.PartMeeting], err, want)
			}
		})
	}
}

// TestVisibilityFollowsTheNewestReadOfTheRecorder: the team that is displayed
// stays, the rights that it gave do not.
func TestVisibilityFollowsTheNewestReadOfTheRecorder(t *testing.T) {
	a := newArchive(t)
	sales := `"shared_with":"single_team","recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`
	for _, step := range []struct {
		shown  Observation
		teams  []string
		logged []ChangeKind
	}{
		{shownAt(1, sales), []string{"Sales"}, []ChangeKind{ChangePart}},
		{shownAt(2, sales), []string{"Sales"}, nil},
		{shownAt(3, `"shared_with":"single_team","recorded_by":{"name":"Bob","email":"bob@x","team":null}`), nil, []ChangeKind{ChangeVisibility}},
		{shownAt(4, `"shared_with":"single_team","recorded_by":null`), nil, nil},
		{shownAt(1, `"shared_with":"single_team","recorded_by":{"name":"Bob","email":"bob@x","team":"Ops"}`), nil, nil},
		{shownAt(5, sales), []string{"Sales"}, []ChangeKind{ChangeVisibility}},
		{shownAt(6, `"shared_with":"single_team","recorded_by":{"name":"Cy","email":"cy@x","team":"Ops"}`), []string{"Ops"}, []ChangeKind{ChangePart}},
	} {
		before, _ := a.Head(t.Context())
		apply(t, a, step.shown)
		changes, err := a.Changes(t.Context(), before, 10)
		var logged []ChangeKind
		for _, c := range changes {
			logged = append(logged, c.Kind)
		}
		principals, err2 := a.Principals(t.Context(), []int64{1})
		var teams []string
		for _, team := range []string{"Sales", "Ops"} {
			if slices.Contains(principals[1], TeamPrincipal(team)) {
				teams = append(teams, team)
			}
		}
		if err != nil || err2 != nil || !slices.Equal(logged, step.logged) || !slices.Equal(teams, step.teams) {
			t.Errorf("after %s: seen by %v, logged %v (%v, %v); want %v, %v",
				step.shown.Parts[api.PartMeeting], teams, logged, err, err2, step.teams, step.logged)
		}
		row, err := a.Row(t.Context(), 1)
		if err != nil || row.RecordedBy.Team.Or("") == "" {
			t.Errorf("the team shown is blank after %s (%v)", step.shown.Parts[api.PartMeeting], err)
		}
	}
}

// TestLightAndFullListsDoNotTakeTurns is three nights of a light walk and a full
// refresh: names stay, and nothing is logged after the first. One key is
// no UTF-8.
func TestLightAndFullListsDoNotTakeTurns(t *testing.T) {
	a := newArchive(t)
	detailed := "\"\xff\xff\":{\"\xff\xff\":1}," + `"title":"T","meeting_url":"","recorded_by":{"name":"Bob","email":"bob@x","email_domain":"x","team":"Sales"},
		"calendar_invitees":[{"name":"Ann","email":"ann@x","is_external":false,"matched_speaker_display_name":"Ann L"},
			{"name":"Cy","email":null,"matched_speaker_display_name":"Cy"},{"name":"Di","email":"di@x","matched_speaker_display_name":null}]`
	light := "\"\xff\xff\":{\"\xff\xff\":1}," + `"recorded_by":{"name":"Bob","email":"bob@x","email_domain":"x","team":"Sales"},"title":"T","meeting_url":null,
		"calendar_invitees":[{"name":"Ann","email":"ann@x","is_external":false,"matched_speaker_display_name":null},
			{"name":"Cy","email":null},{"name":"Di","email":"di@x","matched_speaker_display_name":""}]`
	apply(t, a, shownAt(1, detailed))
	apply(t, a, shownAt(2, light))
	head, _ := a.Head(t.Context())
	for night := range 3 {
		for hour, keys := range map[int]string{2: light, 3: detailed} {
			if applied := apply(t, a, shownAt(24*(night+1)+hour, keys)); len(applied.Changed)+applied.Revisions != 0 {
				t.Errorf("night %d, hour %d: %+v; want nothing", night, hour, applied)
			}
			names, err := columnOf(a.db, `SELECT matched_speaker_display_name FROM invitees ORDER BY position`)
			if err != nil || !slices.Equal(names, []string{"Ann L", "Cy", ""}) {
				t.Errorf("night %d, hour %d: speakers %q, %v", night, hour, names, err)
			}
		}
	}
	if now, _ := a.Head(t.Context()); now != head {
		t.Errorf("the log went from %v to %v", head, now)
	}
}
