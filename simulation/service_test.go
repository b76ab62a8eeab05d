package simulation

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"minutebook/api"
)

// link is a signed link to a recording that somebody was given.
type link struct {
	email string
	m     *meeting
	url   string
}

// call asks the service over HTTP.
func (w *world) call(email, method, path string) (status int, body string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.ctx, method, w.house.site.url+"/external/v1"+path, nil)
	w.must(err)
	req.Header.Set("X-Api-Key", w.house.keys[email])
	return w.do(req)
}

func (w *world) do(req *http.Request) (status int, body string) {
	w.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	w.must(err)
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	w.must(err)
	return resp.StatusCode, string(read)
}

// key gives a person a key, if the person may have one.
func (w *world) key(email string) bool {
	works, unsure := w.isActive(email)
	if w.house.keys[email] == "" {
		key, err := w.house.service.CreateKey(w.ctx, email)
		if (err == nil) != works && !unsure {
			w.t.Fatalf("%q is active %t; a key: %v", email, works, err)
		}
		w.house.keys[email] = key
	}
	return works && w.house.keys[email] != ""
}

// download gets links to all recordings that everybody may download.
func (w *world) download() {
	for _, email := range people {
		if !w.key(email) {
			continue
		}
		for _, m := range w.sorted() {
			want := 404
			switch {
			case w.sees(email, m) && !w.mayDownload(email, m):
				want = 403
			case w.sees(email, m) && !m.video:
				want = 422
			case w.sees(email, m):
				want = 202
			}
			status, body := w.call(email, http.MethodPost, fmt.Sprintf("/recordings/%d/download", m.id))
			w.wantSame(status, want, "%q asks for the recording of %d", email, m.id)
			if status != 202 {
				continue
			}
			var d api.Download
			w.must(json.Unmarshal([]byte(body), &d))
			status, body = w.call(email, http.MethodGet, fmt.Sprintf("/recordings/%d/downloads/%s", m.id, d.DownloadID))
			w.wantSame(status, 200, "%q reads the download of %d", email, m.id)
			w.must(json.Unmarshal([]byte(body), &d))
			w.links = append(w.links, link{email, m, d.Video.Or(api.DownloadFile{}).URL})
		}
	}
}

// compareLinks follows the links that were given before everything changed.
func (w *world) compareLinks() {
	for _, l := range w.links {
		req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, l.url, nil)
		w.must(err)
		status, body := w.do(req)
		want := 403
		if works, unsure := w.isActive(l.email); unsure {
			continue
		} else if works && w.mayDownload(l.email, l.m) {
			want = 200
		}
		w.wantSame(status, want, "%q follows a link of before to the recording of %d", l.email, l.m.id)
		w.wantSame(body == film, want == 200, "%q gets the recording of %d", l.email, l.m.id)
	}
}

// compareService asks the lists with each filter, and reads single recordings.
func (w *world) compareService(email string) {
	if works, unsure := w.isActive(email); !w.key(email) {
		if w.house.keys[email] != "" && !works && !unsure {
			status, _ := w.call(email, http.MethodGet, "/meetings")
			w.wantSame(status, 401, "%q, who is not active, lists meetings", email)
		}
		return
	}
	visible := w.visible(email)
	w.compareList(email, "", func(m *meeting) bool { return m.read.recorder == email || !w.outside(m) })
	recorders := url.Values{}
	for _, who := range slices.Concat(people, outsiders) {
		recorders.Add("recorded_by[]", who)
	}
	w.compareList(email, recorders.Encode(), func(m *meeting) bool { return m.read.recorder != "" })
	w.compareList(email, "teams[]=Sales&include_crm_matches=true&include_transcript=true", func(m *meeting) bool { return m.shownTeams[m.read.recorder] == "Sales" })
	for _, part := range []string{"transcript", "summary"} {
		_, absent := w.call(email, http.MethodGet, "/recordings/99999/"+part)
		for _, m := range w.sorted() {
			status, body := w.call(email, http.MethodGet, fmt.Sprintf("/recordings/%d/%s", m.id, part))
			if slices.Contains(visible, m.id) {
				w.wantSame(status, 200, "%q reads %s of %d", email, part, m.id)
			} else {
				w.wantSame(fmt.Sprint(status, body), fmt.Sprint(404, absent), "%q reads %s of %d, which is hidden", email, part, m.id)
			}
		}
	}
}

// compareList walks a list to its end.
func (w *world) compareList(email, query string, matches func(*meeting) bool) {
	var want, got []int64
	for _, id := range w.visible(email) {
		if matches(w.meetings[id]) {
			want = append(want, id)
		}
	}
	for cursor := ""; ; {
		status, body := w.call(email, http.MethodGet, "/meetings?"+strings.TrimPrefix(query+cursor, "&"))
		w.wantSame(status, 200, "%q lists meetings by %s: %s", email, query, body)
		w.hides(email, query, body)
		var page answer
		w.must(json.Unmarshal([]byte(body), &page))
		for _, item := range page.Items {
			var id int64
			w.must(json.Unmarshal(item["recording_id"], &id))
			got = append(got, id)
			if strings.Contains(query, "include_crm") {
				w.sameCRM(email, w.meetings[id], string(item["crm_matches"]))
			}
		}
		next := page.Next.Or("")
		if next == "" {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
	slices.Sort(got)
	w.wantSame(got, want, "%q lists by %q", email, query)
}
