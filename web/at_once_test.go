package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestManyVisitorsAtOnce has the owner, an admin and two people ask for every page and every
// answer at once, each from another place in the list, and write notes, while meetings arrive
// and are indexed. The race detector sees most pages here alone: their own tests do one step
// after the other.
func TestManyVisitorsAtOnce(t *testing.T) {
	s := newSite(t)
	s.attachVideo(s.ids[0])
	addresses := s.addresses()
	id := itoa(s.ids[0])
	var all errgroup.Group
	for i, header := range [][]string{nil, {"Test-Person", "ana@acme.example", "Test-Admin", "yes"}, {"Test-Person", "aoife.brennan@tidewell.example"}, {"Test-Person", "eve@other.example"}} {
		all.Go(func() error {
			var failed error
			for n := range addresses {
				address := addresses[(n+i*len(addresses)/4)%len(addresses)]
				failed = errors.Join(failed, s.ask(http.MethodGet, address, "", header...))
			}
			for n := range 3 {
				failed = errors.Join(failed, s.ask(http.MethodPost, "/api/v1/meetings/"+id+"/notes", fmt.Sprintf(`{"text":"note %d"}`, n), header...),
					s.ask(http.MethodPost, "/saved", fmt.Sprintf("name=mine+%d&query=budget", n), header...), s.ask(http.MethodPost, "/now/looked", "", header...))
			}
			return failed
		})
	}
	for i := range 5 {
		s.apply(meeting(int64(7000+i), fmt.Sprint("Walrus ", i), "2026-06-10T09:00:00Z", `"transcript":[{"speaker":{"display_name":"Bo"},"text":"The budget of the walrus.","timestamp":"00:02:05"}]`))
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// addresses returns one address for each route that is read and does not go on for ever.
func (s *site) addresses() (addresses []string) {
	fill := strings.NewReplacer("{$}", "", "{id}", itoa(s.ids[0]), "{file}", "minutes.md", "{revision}", "1", "{kind}", "video", "{key...}", "aoife.brennan@tidewell.example",
		"{month}", "2026-06", "{secret}", "x", "{token}", "x", "/api/v1/search", "/api/v1/search?q=budget", "/facet", "/facet?field=person&q=budget", "/trends", "/trends?q=budget",
		"/suggest", "/suggest?q=bud", "/moments", "/moments?q=budget", "/clip", "/clip?t=1&end=2")
	for _, r := range s.server.routes() {
		if pattern, read := strings.CutPrefix(r.pattern, "GET "); read && !strings.HasSuffix(pattern, "/events") {
			addresses = append(addresses, fill.Replace(pattern))
		}
	}
	return append(addresses, "/?q=budget", "/actions?state=all", "/calendar/2026-06")
}

// ask sends a request, reads all of the answer, and fails where the page does.
func (s *site) ask(method, address, body string, header ...string) error {
	req, err := http.NewRequest(method, s.URL+address, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{Transport: s.Client().Transport, CheckRedirect: stay}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented {
		err = errors.Join(err, fmt.Errorf("%s %s: %s: %.200s", method, address, resp.Status, answer))
	}
	return err
}
