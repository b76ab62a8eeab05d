package archive

import (
	"fmt"
	"testing"
	"time"
)

// TestListsWithoutContentHaveNoRows reads lists whose elements say nothing: they are no
// entries, no action items and no highlights, and were some in archives of older rules.
func TestListsWithoutContentHaveNoRows(t *testing.T) {
	dir := t.TempDir()
	a := openArchive(t, dir)
	lists := []string{`[null]`, `[{}]`, `[{"description":"","text":" ","completed":false}]`, `[7,"x",[]]`, `[{"speaker":{"display_name":"Ann"},"text":""}]`}
	for i, list := range lists {
		o, err := FromMeeting("acme", SourceList, time.Unix(1e9, 0), fmt.Appendf(nil,
			`{"recording_id":%d,"title":"T","transcript":%s,"action_items":%s,"highlights":[null]}`, i+1, list, list))
		if err != nil {
			t.Fatal(err)
		}
		apply(t, a, o)
	}
	check := func(when string) {
		t.Helper()
		for i, list := range lists {
			id := int64(i + 1)
			row, err := a.Row(t.Context(), id)
			if err != nil || row.Entries != 0 || row.HasTranscript || row.HasActionItems || row.HasHighlights {
				t.Errorf("%s, %s: the row is %+v, %v", when, list, row, err)
			}
			items, err := a.ActionItems(t.Context(), ActionQuery{Viewer: Viewer{All: true}, RecordingID: id})
			if err != nil || len(items) != 0 {
				t.Errorf("%s, %s: action items %+v, %v", when, list, items, err)
			}
			entries, err := a.Entries(t.Context(), id, 0, -1)
			if err != nil || len(entries) != 0 {
				t.Errorf("%s, %s: entries %+v, %v", when, list, entries, err)
			}
			m, err := a.Meeting(t.Context(), Viewer{All: true}, id)
			if err != nil || len(m.Transcript.Or(nil))+len(m.ActionItems.Or(nil))+len(m.Highlights.Or(nil)) != 0 {
				t.Errorf("%s, %s: the meeting is %+v, %v", when, list, m, err)
			}
		}
		if _, damages := verify(t, a, VerifyOptions{SkipMedia: true}); len(damages) != 0 {
			t.Errorf("%s: %v", when, damages)
		}
	}
	check("read")
	damageDatabase(t, a.db.Path, `UPDATE info SET value = '7' WHERE name = 'merge_rules'; UPDATE meetings SET entries = 1;
		INSERT INTO action_items VALUES (1, 0, '', 0, 0, NULL, '', '', '', '');
		INSERT INTO highlights VALUES (2, 0, '', '', NULL, NULL, '')`)
	before, err := a.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	a = openArchive(t, dir)
	check("opened by newer rules")
	if changes, err := a.Changes(t.Context(), before, 10); err != nil || len(changes) != len(lists) {
		t.Errorf("the newer rules changed %d meetings, %v; want %d", len(changes), err, len(lists))
	}
}

// TestBlankElementsHaveNoRows reads lists of which some elements say nothing: only the others
// are action items and highlights, with neighbouring positions, and entries keep their numbers.
// Archives of older rules had rows for all.
func TestBlankElementsHaveNoRows(t *testing.T) {
	dir := t.TempDir()
	a := openArchive(t, dir)
	o, err := FromMeeting("acme", SourceList, time.Unix(1e9, 0), []byte(`{"recording_id":1,"title":"T",
		"transcript":[null,{"speaker":{"display_name":"Mute"},"text":"\u2003\n","timestamp":"00:00:01"},{"speaker":{"display_name":"Ann"},"text":"one","timestamp":"00:00:02"},{},{"text":"two"}],
		"action_items":[null,{"description":"do"},{"description":" ","assignee":{"name":"Ghost"}},{},7,{"description":"more"}],
		"highlights":[null,{},{"type":"","summary":" "},{"type":"clip"},{"start_time":3}]}`))
	if err != nil {
		t.Fatal(err)
	}
	apply(t, a, o)
	check := func(when string) {
		t.Helper()
		row, err := a.Row(t.Context(), 1)
		if err != nil || row.Entries != 5 || !row.HasTranscript || !row.HasActionItems || !row.HasHighlights {
			t.Errorf("%s: the row is %+v, %v", when, row, err)
		}
		items, err := a.ActionItems(t.Context(), ActionQuery{Viewer: Viewer{All: true}})
		if err != nil || len(items) != 2 || items[0].Description != "do" || items[1].Description != "more" || items[1].Position != 1 {
			t.Errorf("%s: action items %+v, %v", when, items, err)
		}
		entries, err := a.Entries(t.Context(), 1, 0, -1)
		if err != nil || len(entries) != 5 || entries[2].Text != "one" || entries[4].Text != "two" || entries[4].Offset != 2*time.Second {
			t.Errorf("%s: entries %+v, %v", when, entries, err)
		}
		m, err := a.Meeting(t.Context(), Viewer{All: true}, 1)
		if err != nil || len(m.Transcript.Or(nil)) != 5 || len(m.ActionItems.Or(nil)) != 2 || len(m.Highlights.Or(nil)) != 2 {
			t.Errorf("%s: the meeting is %+v, %v", when, m, err)
		}
		if _, damages := verify(t, a, VerifyOptions{SkipMedia: true}); len(damages) != 0 {
			t.Errorf("%s: %v", when, damages)
		}
	}
	check("read")
	for _, older := range []string{
		`INSERT INTO action_items VALUES (1, 2, char(160), 0, 0, NULL, '', '', '', '')`,
		`INSERT INTO highlights VALUES (1, 2, '', ' ', NULL, NULL, '')`,
	} {
		damageDatabase(t, a.db.Path, `UPDATE info SET value = '8' WHERE name = 'merge_rules'; `+older)
		a.Close()
		a = openArchive(t, dir)
		check(older)
	}
}
