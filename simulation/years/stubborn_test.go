package years

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// firstStubborn is the first seed in which a service fails at the same call again and again.
const firstStubborn = 92000

// drawStubborn draws the calls at which a seed's service fails for as long as the world is busy, and in
// short histories until the first whole check: each page with content that has a certain meeting, one of
// forty, or, of accounts with a key, each page with content.
func (w *world) drawStubborn() {
	if w.seed < firstStubborn {
		return
	}
	w.stubborn = []string{"", "", "pages of some", "pages"}[newRand(w.seed, "stubborn").IntN(4)]
	if w.stubborn != "" {
		w.journal.note("for long, lists with content are refused: %s", w.stubborn)
	}
}

// isStubborn draws whether something is so about one meeting of so many.
func (w *world) isStubborn(kind string, id int64, count int) bool {
	return w.seed >= firstStubborn && newRand(w.seed, fmt.Sprintf("stubborn %s %d", kind, id)).IntN(count) == 0
}

var listedID = regexp.MustCompile(`"recording_id":(\d+)`)

// failsList returns the answer of a service that fails at a list with content; nil: it does not.
func (w *world) failsList(r *http.Request, path string, resp *http.Response) *http.Response {
	if w.stubborn == "" || path != "/meetings" || !strings.Contains(r.URL.RawQuery, "include_transcript=true") || resp.StatusCode != http.StatusOK || !time.Now().Before(w.relents) {
		return nil
	}
	if w.stubborn == "pages" {
		if r.Header.Get("Authorization") != "" {
			return nil
		}
		return answer(r, http.StatusBadRequest, "application/json", `{"error":"content cannot be included"}`)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), cutReader{}))
		return nil
	}
	for _, found := range listedID.FindAllSubmatch(body, -1) {
		if id, _ := strconv.ParseInt(string(found[1]), 10, 64); w.isStubborn("list", id, 40) {
			w.journal.note("the page with meeting %d fails", id)
			return answer(r, http.StatusInternalServerError, "text/html", "<html><h1>Server error</h1></html>")
		}
	}
	return nil
}

// stuckFor returns how long after its recording a meeting's content or recording cannot be had by a
// call of its own.
func (w *world) stuckFor(kind string, m *meeting) time.Duration {
	if m == nil || !w.isStubborn(kind, m.id, 20) || !m.created.Before(firstDay.Add(time.Duration(w.busy*24)*time.Hour)) {
		return 0
	}
	return time.Duration(newRand(w.seed, fmt.Sprint("stuck ", m.id)).IntN(15*24)) * time.Hour
}

// lately is how long after a call that failed for days the next one may come.
const lately = 10 * 24 * time.Hour

// isStuck reports whether the service fails at each call for a meeting's content or recording, or did so
// until a while ago.
func (w *world) isStuck(kind string, m *meeting, while time.Duration) bool {
	stuck := w.stuckFor(kind, m)
	return stuck > 0 && time.Since(m.created) < stuck+while
}
