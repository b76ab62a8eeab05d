package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/api"
	"minutebook/control"
	"minutebook/sample"
	syncer "minutebook/sync"
)

// pastes runs auth login, has the connection allowed with a key and pastes what
// change makes of the address that the browser was sent to.
func pastes(t *testing.T, config, key string, change func(string) string) (stderr string, err error) {
	t.Helper()
	login := exec.Command("minutebook", "auth", "login", "work", "-c", config)
	var said bytes.Buffer
	login.Stderr = &said
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
		t.Fatalf("no address: %v: %s", err, said.String())
	}
	back := "https://minutes.example/oauth?" + allow(t, strings.TrimSpace(address), key)
	if _, err := io.WriteString(stdin, change(back)+"\n"); err != nil {
		t.Fatal(err)
	}
	err = login.Wait()
	return said.String(), err
}

// A person connects an account by pasting the address that the browser was sent
// to; then a sync reads its meetings, and says how far it is.
func TestAnAccountIsConnectedByPasting(t *testing.T) {
	upstream, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "meetings.ndjson")
	raw, err := io.ReadAll(sample.NDJSON(sample.Base()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	service := start(t, "service", "--data", upstream, "--load", file)
	app := runJSON[control.NewApp](t, "service", "apps", "create", "--data", upstream, "--name", "Minutebook", "--redirect-uri", "https://minutes.example/oauth")
	var first api.Meeting
	if err := first.UnmarshalJSON(sample.All()[0]); err != nil {
		t.Fatal(err)
	}
	key := runJSON[control.NewKey](t, "service", "keys", "create", "--data", upstream, "--user", first.RecordedBy.Email).APIKey
	config := filepath.Join(t.TempDir(), "config.toml")
	text := fmt.Sprintf("data_dir = %q\n[media]\ndownload = false\n[[accounts]]\nname = \"work\"\nbase_url = %q\n[accounts.oauth]\n"+
		"client_id = %q\nclient_secret = %q\nredirect_url = \"https://minutes.example/oauth\"\n",
		data, service.url+"/external/v1", app.ClientID, app.ClientSecret)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "init", "--data", data)
	if out, err := exec.Command("minutebook", "sync", "-c", config).CombinedOutput(); err == nil || !strings.Contains(string(out), "minutebook auth login work") {
		t.Errorf("a sync before the login: %v, %s", err, out)
	}
	if said, err := pastes(t, config, key, func(string) string { return "https://minutes.example/oauth?code=made-up&state=made-up" }); err == nil || !strings.Contains(said, "another attempt") {
		t.Errorf("an address of another attempt was taken: %v, %s", err, said)
	}
	said, err := pastes(t, config, key, func(back string) string { return back })
	if err != nil || !strings.Contains(said, "account work is connected") {
		t.Fatalf("auth login: %v, %s", err, said)
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
