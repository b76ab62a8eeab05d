package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/absurd"
	"minutebook/internal/testrun"
	"minutebook/receiver"
	"minutebook/sample"
)

// absurdMeetings is how many meetings the service has: the reads of all of them
// must fit into a minute's calls several times.
const absurdMeetings = 6

// TestServeSurvivesAbsurdAnswers runs the daemon against the service with a
// proxy between them that changes values and headers of the answers, recordings'
// too, by a seed, while deliveries with changed bodies and right signatures come
// in. The daemon lives, nothing panics, nothing that was there is lost; lists
// that cannot be read are a failure that status shows, and it ends with them.
func TestServeSurvivesAbsurdAnswers(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	file, raws := filepath.Join(t.TempDir(), "meetings.ndjson"), [][]byte{}
	for _, raw := range sample.All()[:absurdMeetings] {
		raws = append(raws, raw)
	}
	if err := os.WriteFile(file, append(bytes.Join(raws, []byte("\n")), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	upstream := t.TempDir()
	service := start(t, "service", "--data", upstream, "--load", file, "--generation", "100ms")
	_, key, _ := strings.Cut(<-service.lines, " ")
	run(t, "service", "limits", "--data", upstream, "--global", "100000", "--heavy", "100000")
	seeds := uint64(1)
	if testrun.IsLong() {
		seeds = 30
	}
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				newDistorted(t, service.url, key, absurd.New(seed)).sendAndWatch(raws)
			})
		}
	})
}

// distorted is a daemon that sees the service through a proxy.
type distorted struct {
	*testing.T
	*absurd.Changer
	items       atomic.Pointer[string] // the items of all lists; nil: their own
	dir, config string
	receiver    string
}

func newDistorted(t *testing.T, service, key string, c *absurd.Changer) *distorted {
	t.Helper()
	d := &distorted{T: t, Changer: c, dir: t.TempDir(), config: filepath.Join(t.TempDir(), "config.toml"), receiver: testrun.FreeAddress(t)}
	to, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	var proxy *httptest.Server
	proxy = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error { return d.modify(r, service, proxy.URL) },
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(proxy.Close)
	text := fmt.Sprintf("data_dir = %q\n[receiver]\nlisten = %q\n[[accounts]]\nname = \"ada\"\nbase_url = \"%s/external/v1\"\n"+
		"api_key = %q\nwebhook_secrets = [%q]\nallow_private = true\n", d.dir, d.receiver, proxy.URL, key, serveSecret)
	if err := os.WriteFile(d.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

// modify changes an answer. Links to recordings lead to the proxy too.
func (d *distorted) modify(r *http.Response, service, proxy string) error {
	for _, name := range []string{"Date", "ETag", "Last-Modified", "Content-Range", "Content-Type", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		if v := d.Pick("", "-1", "NaN", "1e300", "\xff", "bytes 0-18446744073709551615/1", "Fri, 31 Dec 9999 23:59:59 GMT", `"`+strings.Repeat("x", 5000)+`"`); v != "" {
			r.Header.Set(name, v)
		}
	}
	if !strings.Contains(r.Request.URL.Path, "/external/") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body.Close()
	body = bytes.ReplaceAll(body, []byte(service), []byte(proxy))
	if items := d.items.Load(); items != nil {
		body = fmt.Appendf(nil, `{"limit": 10, "next_cursor": null, "items": %s}`, *items)
	}
	if r.StatusCode < 300 {
		body = d.Change(body)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// allCalls is time enough for a daemon to read everything once the answers are right,
// even if the minute's calls are used up.
const allCalls = 3 * time.Minute

// sendAndWatch runs a daemon against the distorted service and watches its end.
func (d *distorted) sendAndWatch(raws [][]byte) {
	d.SetRate(0.4)
	p := start(d.T, "serve", "--create", "-c", d.config)
	d.deliver(raws, 3)
	d.try(2*time.Second, "sync")
	d.ended(p)
	d.SetRate(0)
	p = start(d.T, "serve", "-c", d.config)
	var before control.StatusResult
	eventually(d.T, "all is read once the answers are right", func() (bool, any) {
		before = status(d.T, d.dir)
		return before.Accounts[0].Backfilled && before.WithTranscript == before.Meetings && before.Meetings > absurdMeetings/2, before
	})
	d.SetRate(0.4)
	for range 2 {
		d.try(2*time.Second, "sync")
		d.deliver(raws, 5)
	}
	d.SetRate(0)
	for _, items := range []string{`7`, `[7, null, {}, {"recording_id": "x"}]`} {
		d.items.Store(&items)
		d.try(allCalls, "sync")
		if s := status(d.T, d.dir); s.Accounts[0].OpenFailures == 0 {
			d.Errorf("lists have %s for items, and status says nothing of it: %+v", items, s)
		}
		d.items.Store(nil)
		if out, err := d.try(allCalls, "sync"); err != nil {
			d.Errorf("the answers are right again, but sync says %v: %s", err, out)
		}
		for _, f := range status(d.T, d.dir).Accounts[0].Failures {
			if f.Class == "job" && f.What == "walk" || f.Class == "list" {
				d.Errorf("the lists are right again, but status says %+v", f)
			}
		}
	}
	after := status(d.T, d.dir)
	if after.WithTranscript < before.WithTranscript || after.WithSummary < before.WithSummary || after.Gone > before.Gone {
		d.Errorf("something is lost: before %+v, after %+v", before, after)
	}
	d.ended(p)
}

// try runs a command for as long as it may take.
func (d *distorted) try(timeout time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "minutebook", append(args, "-c", d.config)...).CombinedOutput()
	return string(out), err
}

// deliver sends deliveries with bodies that are changed, each of which is
// answered, whatever it says.
func (d *distorted) deliver(raws [][]byte, n int) {
	d.Helper()
	for i := range n {
		req, err := receiver.SignedRequest(d.Context(), "http://"+d.receiver+"/webhooks/ada", serveSecret,
			fmt.Sprintf("msg_%d_%d", i, time.Now().UnixNano()), time.Now(), d.Change(raws[i]))
		if err != nil {
			d.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			d.Fatalf("a delivery gets no answer: %v", err)
		}
		resp.Body.Close()
	}
}

// ended stops the daemon, which must still run and must not have panicked.
func (d *distorted) ended(p *program) {
	d.Helper()
	p.stop()
	if log := p.log(); strings.Contains(log, "panic") {
		d.Errorf("it panicked: %s", log)
	}
}
