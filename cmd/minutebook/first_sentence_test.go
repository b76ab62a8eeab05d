package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/control"
	"minutebook/internal/testrun"
	"minutebook/sample"
)

// TestFirstSentence goes from the files of a package, and of the container, to the first
// sentence that a person finds in their own meetings: by the commands of docs/install.md, as the unit and
// the image have them run, and by the forms of the page. Five commands are the most. The time
// is for docs/benchmarks.md, without that of apt and docker; so are the keys that a person presses.
func TestFirstSentence(t *testing.T) {
	testrun.SkipUnderRace(t)
	install, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	upstream := t.TempDir()
	service, _ := sandbox(t, upstream)
	var meeting api.Meeting
	if err := meeting.UnmarshalJSON(sample.All()[0]); err != nil {
		t.Fatal(err)
	}
	email := meeting.RecordedBy.Email
	key := runJSON[control.NewKey](t, "service", "keys", "create", "--data", upstream, "--user", email).APIKey
	words := strings.Join(strings.Fields(meeting.Transcript.Or(nil)[0].Text)[:3], " ")

	for _, way := range []struct{ name, heading, config string }{
		{"the package", "Debian, Ubuntu, Fedora", filepath.Join(t.TempDir(), "config.toml")}, // which is not there
		{"the container", "Container", "../../packaging/container.toml"},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Setenv("MINUTEBOOK_CONFIG", way.config)
			t.Setenv("MINUTEBOOK_DATA_DIR", filepath.Join(t.TempDir(), "data"))
			_, text, _ := strings.Cut(string(install), "\n## "+way.heading+"\n")
			_, text, _ = strings.Cut(text, "```\n")
			text, _, _ = strings.Cut(text, "\n```")
			v := &visitor{T: t, address: "http://localhost:8377"}
			began, commands := time.Now(), 0
			for line := range strings.Lines(text) {
				commands++
				line, _, _ = strings.Cut(strings.ReplaceAll(line, "you@company.example", email), "#")
				v.types(strings.TrimSpace(line))
				v.command(strings.TrimSpace(line))
			}
			v.submit("/setup/account", url.Values{"address": {service.url}, "key": {key}})
			question := `"` + words + `"`
			v.types(question)
			path := "/?q=" + url.QueryEscape(question)
			found := fmt.Sprintf(`href="/meetings/%d?`, meeting.RecordingID)
			for deadline := began.Add(patience); ; time.Sleep(20 * time.Millisecond) {
				if body := v.get(path); strings.Contains(body, found) {
					break
				} else if time.Now().After(deadline) {
					t.Fatalf("the sentence is not found: %.3000s", body)
				}
			}
			t.Logf("first sentence from the files of %s: %d commands, %d fields of forms, %d keys, %.1f s", way.name, commands, v.fields, v.keys, time.Since(began).Seconds())
			if commands == 0 || commands > 5 {
				t.Errorf("%d commands, and five are the most:\n%s", commands, text)
			}
		})
	}
}

// visitor gives the commands of an installation, and then visits the page.
type visitor struct {
	*testing.T
	address string // of the page, as a browser has it
	listens string // where the program of the test has it
	jar     http.CookieJar
	fields  int // that were filled in
	keys    int // that were pressed for commands, fields and the question
}

// types counts the keys of a text and the one that ends it.
func (v *visitor) types(text string) { v.keys += len([]rune(text)) + 1 }

// command does the work of a line of docs/install.md.
func (v *visitor) command(line string) {
	v.Helper()
	switch {
	case strings.HasPrefix(line, "sudo apt install "): // the files are there
	case strings.HasPrefix(line, "sudo systemctl enable --now "), strings.HasPrefix(line, "docker run "):
		v.listens = start(v.T, "serve", "--create").pageAddress()
	case strings.HasPrefix(line, "xdg-open "):
		v.address = strings.TrimPrefix(line, "xdg-open ")
		v.get("/")
	case strings.HasPrefix(line, "docker exec minutebook minutebook "):
		args := strings.Fields(strings.TrimPrefix(line, "docker exec minutebook minutebook "))
		out, err := exec.Command("minutebook", args...).Output()
		if err != nil {
			v.Fatalf("%s: %v", line, err)
		}
		link, err := url.Parse(strings.TrimSpace(string(out)))
		if err != nil {
			v.Fatal(err)
		}
		const password = "walrus on a wooden bench"
		v.submit("/invitation", url.Values{"secret": link.Query()["secret"], "password": {password}, "again": {password}})
		v.fields-- // the secret is in the link, which is opened
		v.keys -= len(link.Query().Get("secret")) + 1
	default:
		v.Fatalf("the test knows no way to run %q", line)
	}
}

// submit sends a form and follows where it leads.
func (v *visitor) submit(path string, form url.Values) {
	v.Helper()
	v.fields += len(form)
	for name := range form {
		v.types(form.Get(name))
	}
	req, err := http.NewRequest(http.MethodPost, v.address+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	v.do(req)
}

func (v *visitor) get(path string) string {
	v.Helper()
	req, err := http.NewRequest(http.MethodGet, v.address+path, nil)
	if err != nil {
		v.Fatal(err)
	}
	return v.do(req)
}

// do asks the program for an address of the page, as a browser does that keeps cookies.
func (v *visitor) do(req *http.Request) string {
	v.Helper()
	if v.jar == nil {
		v.jar, _ = cookiejar.New(nil) // which never fails
	}
	client := &http.Client{Jar: v.jar, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, v.listens)
	}}}
	resp, err := client.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		v.Fatalf("%s %s: %s, %v: %s", req.Method, req.URL.Path, resp.Status, err, regexp.MustCompile(`<[^>]*>|\s+`).ReplaceAllString(string(body), " "))
	}
	return string(body)
}
