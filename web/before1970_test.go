package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestPagesGoOnBefore1970 follows next through meetings and action items of 1904: each comes
// once.
func TestPagesGoOnBefore1970(t *testing.T) {
	testrun.SkipUnderRace(t)
	const items = `"action_items":[{"description":"Feed"},{"description":"Count"}]`
	s := newSite(t, meeting(5, "One", "1904-01-01T00:00:00Z", items), meeting(6, "Two", "1904-01-01T00:00:00Z", items), meeting(7, "Three", "1904-03-01T09:00:00Z", items))
	follow := func(address, list string) (seen []string) {
		next := ""
		for range 10 {
			var page map[string]any
			s.answer(200, address+"?limit=1&cursor="+url.QueryEscape(next), &page)
			all, _ := page[list].([]any)
			for _, item := range all {
				item := item.(map[string]any)
				seen = append(seen, strings.TrimSuffix(fmt.Sprint(item["recording_id"], item["description"]), "<nil>"))
			}
			if next, _ = page["next"].(string); next == "" {
				break
			}
		}
		return seen
	}
	if got, want := follow("/api/v1/meetings", "meetings"), []string{"7 ", "6 ", "5 "}; !slices.Equal(got, want) {
		t.Errorf("the meetings are %q, want %q", got, want)
	}
	if got, want := follow("/api/v1/action-items", "action_items"), []string{"7Feed", "7Count", "6Feed", "6Count", "5Feed", "5Count"}; !slices.Equal(got, want) {
		t.Errorf("the action items are %q, want %q", got, want)
	}
	var wrong map[string]any
	for _, cursor := range []string{"-", "5", "-5", "5-", "--5", "1-x", "x-1", "1-2-3-4x"} {
		s.answer(400, "/api/v1/meetings?cursor="+cursor, &wrong)
		s.answer(400, "/api/v1/action-items?cursor="+cursor, &wrong)
	}
}
