package service

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
)

func TestRulesOfCreatingWebhooks(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	ok := map[string]string{"destination_url": `"https://hooks.example/x"`, "triggered_for": `["my_recordings"]`, "include_summary": "true"}
	body := func(changes ...string) string {
		fields := map[string]string{}
		for k, v := range ok {
			fields[k] = v
		}
		for i := 0; i < len(changes); i += 2 {
			fields[changes[i]] = changes[i+1]
		}
		var parts []string
		for k, v := range fields {
			if v != "" {
				parts = append(parts, fmt.Sprintf("%q: %s", k, v))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"right":            {body(), 201},
		"highlights too":   {body("include_highlights", "true"), 201},
		"unknown keys":     {body("later", `{"x": 1}`), 201},
		"no address":       {body("destination_url", ""), 400},
		"relative address": {body("destination_url", `"/x"`), 400},
		"another scheme":   {body("destination_url", `"file:///etc/passwd"`), 400},
		"password in it":   {body("destination_url", `"https://a:b@hooks.example/"`), 400},
		"no scope":         {body("triggered_for", ""), 400},
		"empty scopes":     {body("triggered_for", "[]"), 400},
		"unknown scope":    {body("triggered_for", `["my_recordings", "everything"]`), 400},
		"no flag":          {body("include_summary", ""), 400},
		"only highlights":  {body("include_summary", "false", "include_highlights", "true"), 400},
		"flag is a string": {body("include_summary", `"true"`), 400},
		"scope is no list": {body("triggered_for", `"my_recordings"`), 400},
		"flag is null":     {body("include_crm_matches", "null"), 400},
		"other letters":    {body("include_summary", "", "Include_Summary", "true"), 400},
		"another flag":     {body("Include_Summary", "false"), 201},
		"a key twice":      {`{"destination_url": "https://a.example/", ` + body()[1:], 400},
		"null":             {"null", 400},
		"two objects":      {body() + body(), 400},
		"not JSON":         {"x", 400},
		"not an object":    {"[]", 400},
		"nothing":          {"", 400},
	} {
		if a := s.call(http.MethodPost, "/webhooks", s.admin, c.body); a.status != c.want {
			t.Errorf("%s: %d %s, want %d", name, a.status, a.body, c.want)
		}
	}
}

func TestOnlyItsOwnerDeletesAWebhook(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	ann := s.key("ann@acme.example")
	first, second := s.webhook(ann, "https://hooks.example/", `"my_recordings"`), s.webhook(ann, "https://hooks.example/", `"my_recordings"`)
	if first.ID == second.ID || first.Secret == second.Secret {
		t.Error("two webhooks have one id or secret")
	}
	for _, c := range []struct {
		id, key string
		want    int
	}{{first.ID, s.admin, 404}, {"wh_x", ann, 404}, {first.ID, s.key("ann@acme.example"), 204}, {first.ID, ann, 404}, {second.ID, ann, 204}} {
		if a := s.call(http.MethodDelete, "/webhooks/"+c.id, c.key, ""); a.status != c.want || c.want == 204 && len(a.body) > 0 {
			t.Errorf("delete: %d %s, want %d", a.status, a.body, c.want)
		}
	}
}

func TestTriggerScopesAndVisibilityAtFinalisation(t *testing.T) {
	s := newAcme(t, Options{})
	scopes := map[string]map[int64]string{
		"ann@acme.example":  {1: "my_recordings", 3: "my_recordings my_shared_with_team_recordings", 5: "shared_team_recordings", 6: "shared_external_recordings"},
		"bob@acme.example":  {2: "my_recordings", 4: "shared_team_recordings", 5: "my_recordings my_shared_with_team_recordings"},
		"boss@acme.example": {3: "shared_team_recordings", 4: "shared_team_recordings", 5: "shared_team_recordings"},
		"gone@acme.example": {},
	}
	for email, want := range scopes {
		for id := int64(1); id <= 7; id++ {
			for _, scope := range triggerScopes {
				hook := webhook{email: email, triggers: []string{scope}}
				got := s.fires(hook, id)
				if wanted := slices.Contains(strings.Fields(want[id]), scope); got != wanted {
					t.Errorf("%s of %s fires for %d: %v, want %v", scope, email, id, got, wanted)
				}
			}
		}
	}
}

func TestOneEventPerMeetingAndNoneWithoutSummary(t *testing.T) {
	s := newSandbox(t, Options{Hold: 3}, meeting(1), meeting(2, "default_summary", "null"), meeting(3), meeting(4, "transcript", "null"))
	in := newInbox(t, nil)
	ann := s.key("ann@acme.example")
	hook := s.webhook(ann, in.URL, `"my_recordings"`)
	s.run()
	for range 3 {
		if _, ok, err := s.Finish(t.Context()); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	if _, ok, err := s.Finish(t.Context()); ok || err != nil {
		t.Fatalf("a fourth was finished: %v", err)
	}
	c := loadContract(t)
	ids := map[string]bool{}
	for range 2 {
		d := in.next(t)
		c.judgeAs("Meeting", d.body)
		ids[d.header.Get("webhook-id")] = true
		if !strings.Contains(string(d.body), `"highlights":`) || !strings.HasPrefix(d.header.Get("webhook-id"), "msg_") {
			t.Errorf("delivered %s with %v", d.body, d.header)
		}
	}
	// Later changes and loading again do not fire.
	if _, err := s.Load(t.Context(), strings.NewReader(meeting(3, "shared_with", `"all_teams"`)), "again"); err != nil {
		t.Fatal(err)
	}
	list, err := s.Deliveries(t.Context(), "", 10)
	if err != nil || len(list) != 2 || len(ids) != 2 {
		t.Errorf("%d deliveries with %d ids: %v", len(list), len(ids), err)
	}
	if a := s.call(http.MethodDelete, "/webhooks/"+hook.ID, ann, ""); a.status != 204 {
		t.Error(a.status)
	}
}

func TestContentIsSentToADestination(t *testing.T) {
	s := newSandbox(t, Options{Generation: time.Minute}, meeting(1), meeting(2, "default_summary", "null"))
	in := newInbox(t, nil)
	s.run()
	a := s.get("/recordings/1/transcript?destination_url="+in.URL+"/t", s.admin, 200)
	if want := fmt.Sprintf(`{"destination_url":"%s/t"}`, in.URL); string(a.body) != want {
		t.Errorf("answered %s, want %s", a.body, want)
	}
	c := loadContract(t)
	d := in.next(t)
	if c.judgeAs("TranscriptAnswer", d.body); !strings.HasPrefix(string(d.body), `{"recording_id":1,"transcript":[{`) {
		t.Errorf("sent %s", d.body)
	}
	s.get("/recordings/1/summary?destination_url="+in.URL, s.admin, 200)
	d = in.next(t)
	if c.judgeAs("SummaryAnswer", d.body); !strings.HasPrefix(string(d.body), `{"recording_id":1,"summary":{`) {
		t.Errorf("sent %s", d.body)
	}
	s.get("/recordings/2/summary?destination_url="+in.URL, s.admin, 404)
	s.call(http.MethodPost, "/recordings/1/download", s.admin, `{"destination_url": "`+in.URL+`"}`)
	s.clock.add(time.Minute)
	s.wakeSender()
	d = in.next(t)
	if c.judgeAs("Download", d.body); !strings.Contains(string(d.body), `"status":"completed","video":{"url":`) {
		t.Errorf("sent %s", d.body)
	}
}

// TestFinishingIsDoneAgainAfterACrash stops between the archive's commit and
// the queue's.
func TestFinishingIsDoneAgainAfterACrash(t *testing.T) {
	s := newSandbox(t, Options{Hold: 1}, meeting(1))
	s.webhook(s.key("ann@acme.example"), "https://hooks.example/", `"my_recordings"`)
	o, err := archive.FromMeeting(archive.LocalAccount, archive.SourceImport, s.clock.Now(), []byte(meeting(1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.archive.Apply(t.Context(), []archive.Observation{o}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if _, ok, err := s.Finish(t.Context()); err != nil || ok != want {
			t.Fatalf("finished %v, %v, want %v", ok, err, want)
		}
	}
	if due := s.dueNow(); len(due) != 1 {
		t.Errorf("%d are queued, want 1", len(due))
	}
}

// A download that fails is told to its destination_url too, and a destination
// that does not take it is sent it again.
func TestAFailedDownloadIsSentAndRetried(t *testing.T) {
	s := newSandbox(t, Options{Generation: time.Minute}, meeting(1))
	directory := `{"users": [{"email": "ann@acme.example"}], "recordings": [{"recording_id": 1, "media": "video", "failure_reason": "generation_timeout"}]}`
	if err := s.LoadDirectory(t.Context(), strings.NewReader(directory), "test"); err != nil {
		t.Fatal(err)
	}
	in := newInbox(t, func(n int) int { return []int{500, 200}[n-1] })
	a := s.call(http.MethodPost, "/recordings/1/download", s.key("ann@acme.example"), `{"destination_url": "`+in.URL+`"}`)
	if a.status != http.StatusAccepted || !strings.Contains(string(a.body), `"status":"processing"`) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if due := s.dueNow(); len(due) != 0 {
		t.Fatalf("due before its end: %+v", due)
	}
	c := loadContract(t)
	for _, wait := range []time.Duration{time.Minute, 5 * time.Second} {
		s.clock.add(wait)
		due := s.dueNow()
		if len(due) != 1 {
			t.Fatalf("%d are due", len(due))
		}
		if err := s.attempt(t.Context(), &due[0]); err != nil {
			t.Fatal(err)
		}
		d := in.next(t)
		if c.judgeAs("Download", d.body); !strings.Contains(string(d.body), `"status":"failed"`) || !strings.Contains(string(d.body), `"failure_reason":"generation_timeout"`) {
			t.Errorf("sent %s", d.body)
		}
	}
	if due := s.dueNow(); len(due) != 0 {
		t.Errorf("still due: %+v", due)
	}
}
