package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"

	"minutebook/api"
	"minutebook/control"
	"minutebook/internal/testrun"
	syncer "minutebook/sync"
)

// pastes runs auth login, has the connection allowed with a key and pastes the
// address that the browser was sent to, edited by change.
func pastes(t *testing.T, config, key string, change func(string) string) (stderr string, err error) {
	t.Helper()
	login := exec.Command("minutebook", "auth", "login", "work", "-c", config)
	var prompts bytes.Buffer
	login.Stderr = &prompts
	stdin, err := login.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := login.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v: %s", err, prompts.String())
	}
	back := "https://minutes.example/oauth?" + allow(t, strings.TrimSpace(address), key)
	if _, err := io.WriteString(stdin, change(back)+"\n"); err != nil {
		t.Fatal(err)
	}
	err = login.Wait()
	return prompts.String(), err
}

// A person connects an account by pasting the address that the browser was sent
// to; then a sync reads its meetings, and says how far it is.
func TestAnAccountIsConnectedByPasting(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	service, config, key := startOAuthService(t, "")
	run(t, "init", "-c", config)
	if out, err := exec.Command("minutebook", "sync", "-c", config).CombinedOutput(); err == nil || !strings.Contains(string(out), "minutebook auth login work") {
		t.Errorf("a sync before the login: %v, %s", err, out)
	}
	if output, err := pastes(t, config, key, func(string) string { return "https://minutes.example/oauth?code=made-up&state=made-up" }); err == nil || !strings.Contains(output, "another attempt") {
		t.Errorf("an address of another attempt was taken: %v, %s", err, output)
	}
	output, err := pastes(t, config, key, func(back string) string { return back })
	if err != nil || !strings.Contains(output, "account work is connected") {
		t.Fatalf("auth login: %v, %s", err, output)
	}
	if out := run(t, "auth", "status", "-c", config); !strings.HasPrefix(out, "work is connected") {
		t.Errorf("auth status: %s", out)
	}
	events := syncEvents(t, config)
	last := events[len(events)-1]
	if !last.Done || last.Error != "" || last.Found == 0 || last.Kept != last.Found || last.ToDo != 0 || last.Content == 0 || last.Calls[api.ClassHeavy].Limit != 30 {
		t.Errorf("last event %+v", last)
	}
	if s := runJSON[control.StatusResult](t, "status", "-c", config); s.Meetings != last.Found || s.WithTranscript == 0 {
		t.Errorf("status: %+v", s)
	}
	if out := run(t, "sync", "-c", config, "--account", "work"); !strings.HasPrefix(out, "done: ") || strings.Count(out, "\n") != 1 {
		t.Errorf("a second sync prints %q", out)
	}
	service.stop()
}

// syncEvents runs a sync and reads its events, one a line.
func syncEvents(t *testing.T, config string) (events []syncer.Event) {
	t.Helper()
	for line := range strings.Lines(run(t, "sync", "-c", config, "--json")) {
		var e syncer.Event
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		events = append(events, e)
	}
	if len(events) == 0 {
		t.Fatal("no events")
	}
	return events
}
