package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/internal/testrun"
)

func TestFaultsOfForms(t *testing.T) {
	testrun.SkipUnderRace(t)
	fetch := func(s *sandbox, path string) (page map[string]json.RawMessage, items []map[string]json.RawMessage, body string) {
		t.Helper()
		_, raw, err := s.fetch(path)
		if err == nil {
			err = json.Unmarshal(raw, &page)
		}
		if err == nil {
			err = json.Unmarshal(page["items"], &items)
		}
		if err != nil {
			t.Fatalf("%s: %s, %v", path, raw, err)
		}
		return page, items, string(raw)
	}
	s := faultySandbox(t, "absent=1,share=1,keys=1,limit=1")
	page, items, body := fetch(s, "/meetings?include_crm_matches=true")
	if len(items) != 10 || strings.Contains(strings.Replace(body, `"limit":null`, "", 1), `:null,"meeting`) || items[0]["meeting_url"] != nil || items[0]["share_url"] != nil {
		t.Errorf("absent, share: %s", body)
	}
	if string(page["limit"]) != "null" || page["total_count"] == nil {
		t.Errorf("limit, keys: %s", body)
	}
	if page, _, _ := fetch(s, "/teams"); string(page["limit"]) != "10" {
		t.Errorf("the limit of another list is %s", page["limit"])
	}
	seen := map[string]bool{}
	for seed := range 8 {
		page, _, _ = fetch(faultySandbox(t, fmt.Sprintf("end=1,seed=%d", seed)), "/teams")
		value, ok := page["next_cursor"]
		seen[fmt.Sprint(ok, string(value))] = true
	}
	if len(seen) != 2 || !seen[`true""`] || !seen["false"] {
		t.Errorf("end: %v", seen)
	}
	_, items, _ = fetch(faultySandbox(t, "twice=1,team=1"), "/meetings")
	if len(items) != 11 || string(items[10]["recording_id"]) != string(items[5]["recording_id"]) ||
		!strings.Contains(string(items[0]["recorded_by"]), `"team":null`) {
		t.Errorf("twice, team: %d items, %s", len(items), items[0]["recorded_by"])
	}
}

func TestFaultsOfCalls(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := faultySandbox(t, "429=1,date=1")
	resp, _, err := s.fetch("/teams")
	if err != nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != s.clock.Now().Add(time.Second).Format(http.TimeFormat) {
		t.Errorf("date: %v, %v", resp, err)
	}
	s = faultySandbox(t, "ready=1,flags=1,bare=1")
	var d api.Download
	for _, want := range []string{"processing", "completed"} {
		if s.call(http.MethodPost, "/recordings/1/download", s.admin, "").decode(t, &d); d.Status != want {
			t.Errorf("ready: %+v, want %s", d, want)
		}
		s.clock.add(time.Minute)
	}
	if a := s.call(http.MethodPost, "/webhooks", s.admin, `{"destination_url": "https://hooks.example/", "triggered_for": ["my_recordings"], `+allFlags+`}`); a.status != 400 {
		t.Errorf("flags: %d", a.status)
	}
	s.get("/recordings/1/summary?destination_url=https://hooks.example/", s.admin, 200)
	body, _, err := s.store.readBody(t.Context(), 1)
	if err != nil || strings.Contains(string(body), "recording_id") || !strings.Contains(string(body), "summary") {
		t.Errorf("bare: %s, %v", body, err)
	}
}
