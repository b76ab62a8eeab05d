package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"minutebook/api"
	"minutebook/control"
	"minutebook/internal/browsertest"
	"minutebook/internal/testrun"
	"minutebook/sample"
)

// TestFirstRunInTheBrowser begins with nothing but a data directory: the page asks for an
// account of the sandbox service, tries it, receives a delivery of its own through the
// public address and shows the meetings. It is the same after a restart.
func TestFirstRunInTheBrowser(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	chromium := browsertest.Start(t)
	axe := browsertest.Axe(t)
	dir := t.TempDir()
	meetings, config, receiver := filepath.Join(dir, "meetings.ndjson"), filepath.Join(dir, "config.toml"), testrun.FreeAddress(t)
	raw, err := io.ReadAll(sample.NDJSON(sample.Base()))
	if err == nil {
		err = os.WriteFile(meetings, raw, 0o600)
	}
	text := fmt.Sprintf("data_dir = \"data\"\n[web]\nlisten = \"127.0.0.1:0\"\n[media]\ndownload = false\n[receiver]\nlisten = %q\npublic_url = \"http://%s\"\n", receiver, receiver)
	if err == nil {
		err = os.WriteFile(config, []byte(text), 0o600)
	}
	var first api.Meeting
	if err == nil {
		err = first.UnmarshalJSON(sample.All()[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	upstream := filepath.Join(dir, "service")
	service := start(t, "service", "--data", upstream, "--load", meetings)
	key := runJSON[control.NewKey](t, "service", "keys", "create", "--data", upstream, "--user", first.RecordedBy.Email).APIKey
	daemon := start(t, "serve", "-c", config, "--create")
	b := chromium.Open(t, daemon.url)
	b.Allow("422")
	submit := func(key string) {
		b.Do(chromedp.SetValue(chromedp.CSS("input[name=address]"), service.url), chromedp.SetValue(chromedp.CSS("input[name=key]"), key),
			chromedp.Click(chromedp.CSS(`form[action="/setup/account"] button`)))
	}
	b.Do(chromedp.Navigate(daemon.url + "/"))
	b.WaitFor(`location.pathname === "/setup"`)
	b.Check(axe, "the first run")
	submit("wrong-key")
	b.WaitFor(`document.querySelector("[role=alert]")?.textContent.includes("refuses it")`)
	if _, err := chromedp.Call(b.Context, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	submit(key)
	b.WaitFor(`location.pathname === "/setup" && !!document.querySelector(".steps .done")`)
	b.Do(chromedp.Click(chromedp.CSS(`form[action="/setup/webhook"] button`)))
	b.WaitFor(`!!document.querySelector(".steps li:nth-child(2).done [role=status]")`)
	if _, err := chromedp.Call(b.Context, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false}); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Navigate(daemon.url + "/setup"))
	b.WaitFor(`!!document.querySelector('.steps li:nth-child(3) a[href="/"]')`) // by the events, without a reload
	b.Check(axe, "the first run with an account")
	b.Do(chromedp.Click(chromedp.CSS(`.steps li:nth-child(3) a[href="/"]`)))
	b.WaitFor(`!!document.querySelector("ol.meetings a.row")`)
	b.Do(chromedp.Navigate(daemon.url + "/status"))
	b.WaitFor(`window.isOld = !!document.querySelector('[aria-label="Run now: Teams and people of main"]')`)
	b.Do(chromedp.Click(chromedp.CSS(`[aria-label="Run now: Teams and people of main"]`)))
	b.WaitFor(`!window.isOld && location.pathname === "/status" && !!document.querySelector(".account")`)
	b.Check(axe, "the status")
	b.Do(chromedp.Navigate(daemon.url + "/help")) // which waits for no events
	daemon.stop()

	again := start(t, "serve", "-c", config)
	eventually(t, "the account is read after a restart", func() (bool, any) {
		s := runJSON[control.StatusResult](t, "status", "-c", config)
		return len(s.Accounts) == 1 && s.Accounts[0].Name == "main" && s.Meetings > 0, s
	})
	audit := run(t, "audit", "-c", config)
	for _, kind := range []string{"account.added", "webhook.tried", "job.started"} {
		if !strings.Contains(audit, kind) {
			t.Errorf("%s is not recorded: %s", kind, audit)
		}
	}
	again.stop()
	service.stop()
	if log := daemon.log() + again.log(); strings.Contains(log, key) {
		t.Error("the key is in the log")
	}
}
