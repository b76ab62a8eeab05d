package archive

import (
	"context"
	"fmt"
	"testing"
	"time"

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
