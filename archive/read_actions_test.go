package archive

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/rs/zerolog"
)

func TestActionItemsAcrossMeetings(t *testing.T) {
	ctx := context.Background()
	a, err := Open(ctx, Options{Dir: t.TempDir(), Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	const meeting = `{"title":%q,"recording_id":%d,"recording_start_time":"2026-03-0%dT10:00:00Z","meeting_type":%q,
		"recorded_by":{"name":"Ana","email":"ana@x.example","team":"Ops"},"transcript":[
		{"speaker":{"display_name":"Bo"},"text":"hello there","timestamp":"00:00:01"}],"action_items":[
		{"description":"send notes","completed":%v,"recording_timestamp":"00:10:05","assignee":{"name":"Bo","email":"bo@x.example"}},
		{"description":"book a room","completed":false,"recording_timestamp":"","assignee":null}]}`
	var batch []Observation
	for i, m := range []string{fmt.Sprintf(meeting, "First", 1, 1, "Sync", true), fmt.Sprintf(meeting, "Second", 2, 2, "", false)} {
		o, err := FromMeeting("acme", SourceList, time.Unix(int64(i), 0), []byte(m))
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, o)
	}
	if _, err := a.Apply(ctx, batch); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query ActionQuery
		want  string
	}{
		{ActionQuery{}, "Second:send notes@10m5s Second:book a room@-1ns First:send notes@10m5s First:book a room@-1ns "},
		{ActionQuery{RecordingID: 1}, "First:send notes@10m5s First:book a room@-1ns "},
		{ActionQuery{RecordingID: 9}, ""},
	} {
		c.query.Viewer = Viewer{All: true}
		items, err := a.ActionItems(ctx, c.query)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, i := range items {
			got += fmt.Sprintf("%s:%s@%v ", i.Title, i.Description, i.Offset)
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.query, got, c.want)
		}
	}
	if items, err := a.ActionItems(ctx, ActionQuery{Viewer: ViewerWith("stranger@y.example")}); err != nil || len(items) != 0 {
		t.Errorf("a stranger sees %d action items, %v", len(items), err)
	}
}

// FuzzKeys: a place in a list that is accepted is written and read again as the same.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{"1772265600000-7-2", "-2082844800000-1-0", "5--7", "-", "", "9223372036854775807-9223372036854775807-9223372036854775807", "-9223372036854775808-0-0", "+1-+2-+3", "1-2\n-3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if k, err := ParseKey(s); err == nil {
			if again, err := ParseKey(k.String()); err != nil || again != k || k.RecordingID < 0 {
				t.Errorf("%q is %+v, then %+v, %v", s, k, again, err)
			}
		} else if strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%q", err)
		}
		if k, err := ParseActionKey(s); err == nil {
			if again, err := ParseActionKey(k.String()); err != nil || again != k || k.Position < 0 {
				t.Errorf("%q is %+v, then %+v, %v", s, k, again, err)
			}
		}
	})
}
