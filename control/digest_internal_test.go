package control

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/roster"
)

// TestADigestNamesNothingThatIsHiddenMeanwhile drafts a digest, then has a meeting recorded by another person
// and another one forgotten: neither is named, nor counted.
func TestADigestNamesNothingThatIsHiddenMeanwhile(t *testing.T) {
	a := archivetest.New(t)
	show := func(id int, recorder string, read time.Time) {
		t.Helper()
		o, err := archive.FromMeeting("main", archive.SourceList, read, fmt.Appendf(nil, `{"recording_id":%d,"title":"Walrus %d","shared_with":"no_teams","calendar_invitees":[],
			"recorded_by":{"name":"R","email":%q},"action_items":[{"description":"Feed %d","assignee":{"name":"Ann","email":"ann@x.example"}}]}`, id, id, recorder, id))
		if err == nil {
			_, err = a.Apply(t.Context(), []archive.Observation{o})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for id := range 3 {
		show(id+1, "ann@x.example", archivetest.Epoch)
	}
	d := Digests{Deps: Deps{Archive: a, Location: time.UTC}, Roster: roster.New(a)}
	ann := DigestReader{Viewer: archive.ViewerWith("ann@x.example"), Person: "ann@x.example"}
	news, err := d.draft(t.Context(), ann, digested{})
	if err != nil || len(news.arrived) != 3 || len(news.items) != 3 {
		t.Fatalf("%+v, %v", news, err)
	}
	show(1, "bob@x.example", archivetest.Epoch.Add(time.Hour))
	if _, err := a.Forget(t.Context(), 2, "asked to"); err != nil {
		t.Fatal(err)
	}
	if err := d.keepSeen(t.Context(), ann, &news); err != nil {
		t.Fatal(err)
	}
	text := d.compose(ann, time.Time{}, news)
	if len(news.arrived) != 1 || len(news.items) != 1 || strings.Contains(text, "Walrus 1") || strings.Contains(text, "Feed 2") || !strings.Contains(text, "Feed 3") || strings.Contains(text, "more") {
		t.Errorf("%+v\n%s", news, text)
	}
}
