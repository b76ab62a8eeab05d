package main

import (
	"os"
	"strings"
	"testing"

	"minutebook/control"
	"minutebook/internal/testrun"
)

// The life of a webhook by its commands, beside a daemon and a service that are
// programs of their own.
func TestWebhookCommands(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	service := start(t, "service", "--data", t.TempDir())
	key := strings.TrimPrefix(<-service.lines, "api_key ")
	s := newServed(t, strings.TrimPrefix(<-service.lines, "base_url "), key)
	s.start()
	c := func(args ...string) []string { return append(append([]string{"webhook"}, args...), "-c", s.config) }
	created := runJSON[control.WebhookInfo](t, c("create", "anna", "--trigger", "my_recordings", "--include", "summary,transcript")...)
	if created.Asked == nil || !created.Asked.IncludeSummary || created.Asked.IncludeCRMMatches || len(created.Asked.TriggeredFor) != 1 {
		t.Errorf("created %+v", created)
	}
	tested := runJSON[control.WebhookTested](t, c("test", "anna")...)
	if tested.WebhookID == "" {
		t.Errorf("tested %+v", tested)
	}
	rotated := runJSON[control.WebhookInfo](t, c("rotate", "anna")...)
	list := runJSON[[]control.WebhookInfo](t, c("list")...)
	if len(list) != 1 || list[0].ID != rotated.ID || rotated.ID == created.ID || rotated.Asked.IncludeCRMMatches {
		t.Errorf("after rotating: %+v", list)
	}
	if text := run(t, c("deliveries")...); strings.Count(text, "applied") != 2 {
		t.Errorf("deliveries: %s", text)
	}
	run(t, c("delete", rotated.ID)...)
	if text := run(t, c("list")...); text != "" {
		t.Errorf("after deleting: %s", text)
	}
	s.stop(os.Interrupt)
}
