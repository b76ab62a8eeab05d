package service

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// pageOf fetches one page of the list.
func (s *sandbox) pageOf(query, cursor, key string, want int) (ids []int64, next string) {
	s.t.Helper()
	var page struct {
		Next  *string `json:"next_cursor"`
		Items []struct {
			ID int64 `json:"recording_id"`
		}
	}
	path := "/meetings?" + query
	if cursor != "" {
		path += "&cursor=" + url.QueryEscape(cursor)
	}
	s.get(path, key, want).decode(s.t, &page)
	for _, item := range page.Items {
		ids = append(ids, item.ID)
	}
	if page.Next != nil {
		next = *page.Next
	}
	return ids, next
}

func TestCursorsAreBoundToCallerAndFilters(t *testing.T) {
	testrun.SkipUnderRace(t)
	var lines []string
	for id := 1; id <= 25; id++ {
		lines = append(lines, meeting(id))
	}
	s := newSandbox(t, Options{}, lines...)
	ann := s.key("ann@acme.example")
	_, cursor := s.pageOf("teams[]=Sales&teams[]=Other", "", ann, 200)
	for name, c := range map[string]struct{ query, cursor, key string }{
		"other filters":      {"teams[]=Sales", cursor, ann},
		"no filters":         {"", cursor, ann},
		"another credential": {"teams[]=Sales&teams[]=Other", cursor, s.key("ann@acme.example")},
		"another user":       {"teams[]=Sales&teams[]=Other", cursor, s.admin},
		"nonsense":           {"", "abc", ann},
		"no signature":       {"", strings.Split(cursor, ".")[0] + ".", ann},
	} {
		if a := s.call(http.MethodGet, "/meetings?"+c.query+"&cursor="+url.QueryEscape(c.cursor), c.key, ""); a.status != 400 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	for i := range cursor {
		other := "A"
		if cursor[i] == 'A' {
			other = "B"
		}
		s.clock.add(2e9)
		s.pageOf("teams[]=Sales&teams[]=Other", cursor[:i]+other+cursor[i+1:], ann, 400)
	}
	// Other parameters than filters may change, the order of values too.
	s.pageOf("teams%5B%5D=Other&teams%5B%5D=Sales&include_highlights=true", cursor, ann, 200)
	for _, list := range []string{"/teams", "/users", "/meeting_types", "/team_members"} {
		s.get(list+"?cursor="+url.QueryEscape(cursor), s.admin, 400)
	}
}

func TestCursorsSurviveInsertsAndRestarts(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := ArchiveDir(t)
	a := openTestArchive(t, dir)
	var lines []string
	for id := 2; id <= 50; id += 2 {
		lines = append(lines, meeting(id))
	}
	s := newSandbox(t, Options{Archive: a, Sandbox: true}, lines...)
	first, cursor := s.pageOf("", "", s.admin, 200)
	admin := s.admin
	if _, err := s.Load(t.Context(), strings.NewReader(meeting(49)+"\n"+meeting(31)+"\n"+meeting(29)), "more"); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	s = newSandbox(t, Options{Archive: openTestArchive(t, dir), Sandbox: true})
	second, cursor := s.pageOf("", cursor, admin, 200)
	third, last := s.pageOf("", cursor, admin, 200)
	got := append(append(first, second...), third...)
	want := []int64{50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 31, 30, 29, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2}
	if !slices.Equal(got, want) || last != "" {
		t.Errorf("walked %v, then %q", got, last)
	}
}
