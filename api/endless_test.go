package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"minutebook/internal/testrun"
)

// TestListsThatNeverEndAreNoticed reads lists that repeat themselves under new cursors,
// and one that is long and has repeats, but ends.
func TestListsThatNeverEndAreNoticed(t *testing.T) {
	testrun.SkipUnderRace(t)
	synctest.Test(t, func(t *testing.T) {
		page := 0
		c := testClient(t, func(w http.ResponseWriter, r *http.Request) {
			page++
			items, next := `[]`, fmt.Sprintf(`"c%d"`, page)
			switch {
			case strings.HasSuffix(r.URL.Path, "/users"):
				items = `[` + strings.Repeat(`{},`, 50_000) + `{}]`
			case strings.HasSuffix(r.URL.Path, "/meeting_types") && page <= 300:
				items = fmt.Sprintf(`[{"name":"%d"}]`, page)
			case strings.HasSuffix(r.URL.Path, "/meeting_types") && page == 600:
				next = `null`
			}
			fmt.Fprintf(w, `{"limit":10,"next_cursor":%s,"items":%s}`, next, items)
		})
		read := func(list func(yield func(error) bool)) (err error) {
			page = 0
			list(func(e error) bool { err = e; return true })
			return err
		}
		for name, test := range map[string]struct {
			list func(yield func(error) bool)
			want error
		}{
			"teams": {errorsOf(c.Teams(t.Context())), ErrEndless},
			"users": {errorsOf(c.Users(t.Context(), UserQuery{})), ErrEndless},
			"types": {errorsOf(c.MeetingTypes(t.Context())), nil},
		} {
			if err := read(test.list); !errors.Is(err, test.want) {
				t.Errorf("%s, after %d pages: %v, want %v", name, page, err, test.want)
			}
		}
	})
}

// errorsOf yields the errors of a list.
func errorsOf[T any](list func(yield func(T, error) bool)) func(yield func(error) bool) {
	return func(yield func(error) bool) {
		list(func(_ T, err error) bool { return yield(err) })
	}
}

// TestOversizedAnswersAreRefused reads answers that are small when they are compressed
// and would take very much memory.
func TestOversizedAnswersAreRefused(t *testing.T) {
	testrun.SkipUnderRace(t)
	for name, test := range map[string]struct{ body, want string }{
		"items":  {`{"items":[{}` + strings.Repeat(`,{}`, maxItems) + `]}`, "more than 100000 items"},
		"values": {`{"items":[{"transcript":[1` + strings.Repeat(`,1`, maxValues+1) + `]}]}`, "more than 4000000 values"},
		"bytes":  {`{"items":[` + strings.Repeat(` `, maxBody) + `]}`, "longer than 64 MiB"},
	} {
		c := testClient(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, test.body) })
		if _, err := c.MeetingsPage(t.Context(), MeetingQuery{}, ""); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
