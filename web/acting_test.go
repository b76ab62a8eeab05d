package web

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
	"minutebook/internal/browsertest"
	"minutebook/internal/notify"
	"minutebook/internal/smtptest"
	syncer "minutebook/sync"
)

// browserActsOnTheStatus runs a job, replays a quarantined delivery and has a recording
// fetched again, each by its button on the page of the status.
func browserActsOnTheStatus(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	ran := make(chan string, 1)
	s.server.Run = func(account, job string) error { ran <- account + " " + job; return nil }
	s.status = &syncer.Status{Accounts: []syncer.AccountStatus{{Name: "acme", NextRun: map[string]time.Time{syncer.JobWalk: at}}}}
	box := s.archive.Inbox()
	archivetest.Quarantine(t, s.archive, inbox.Delivery{Account: "acme", WebhookID: "msg_1", Body: []byte("<b>")}, "<i>not JSON")
	must(t, s.archive.SaveRefusal(t.Context(), archive.Download{RecordingID: 1, State: archive.DownloadRefused, Reason: "403"}, "acme", false, archive.Position{Seq: math.MaxInt64}))
	must(t, s.archive.RecordFailure(t.Context(), archive.Failure{Account: "acme", Class: "download", What: "1", RecordingID: 1, Reason: "403", Tries: 3}))
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/status"))
	b.WaitFor(`document.querySelector("main").textContent.includes("<i>not JSON")`)

	b.Do(chromedp.Click(chromedp.CSS(`[aria-label="Run now: Edits and shares of acme"]`)))
	if got := <-ran; got != "acme walk" {
		t.Errorf("%s runs", got)
	}
	b.WaitFor(`location.pathname === "/status"`)
	b.Do(chromedp.Click(chromedp.CSS(`[aria-label="Replay delivery 1"]`)))
	b.WaitFor(`location.pathname === "/status" && !document.querySelector("[aria-label='Replay delivery 1']")`)
	if d, err := box.Delivery(t.Context(), 1); err != nil || d.State != inbox.StateReceived {
		t.Errorf("the delivery is %s, %v", d.State, err)
	}
	b.Do(chromedp.Click(chromedp.CSS(`[aria-label="Fetch the recording of 1 again"]`)))
	b.WaitFor(`location.pathname === "/meetings/1"`)
	if d, err := s.archive.DownloadOf(t.Context(), 1); err != nil || d.State != archive.DownloadWanted {
		t.Errorf("the recording is %s, %v", d.State, err)
	}
}

// browserIsToldOfMatches saves searches, has their matches sent to a webhook and by mail, and
// follows the links in both as they were received.
func browserIsToldOfMatches(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, meeting(1, "Old walrus", "2026-01-10T09:00:00Z", ""))
	h, post := newHook(t), smtptest.Start(t, false)
	s.server.NotifyClient, s.server.PageURL, s.server.MailOwner = h.Client(), s.URL+"/", []string{"me@own.example"}
	s.server.Mail = &notify.Mail{Host: "127.0.0.1", Port: post.Port, From: "minutebook@own.example", TLS: "none", AllowPrivate: true}
	b := c.Open(t, s.URL)
	for _, word := range []string{"walrus", "sings"} {
		b.Do(chromedp.Navigate(s.URL+"/?q="+word), chromedp.Click(chromedp.CSS(".save summary")), chromedp.Click(chromedp.CSS(".save form button")))
		b.WaitFor(`location.pathname === "/saved" && document.querySelector("main").textContent.includes("` + word + `")`)
	}
	const panel = `[...document.querySelectorAll(".saved")].find(p => p.querySelector("h2").textContent === "%s")`
	press := func(saved, what string) {
		b.Do(chromedp.Evaluate[chromedp.Void](`{ const panel = ` + strings.ReplaceAll(panel, "%s", saved) + `; panel.querySelector("details").open = true; ` + what + ` }`))
	}
	press("walrus", `const box = panel.querySelector("[type=url]"); box.value = "`+h.URL+`/here"; box.form.querySelector("button").click();`)
	b.WaitFor(`!!document.querySelector(".secret code")`)
	h.secret = browsertest.Evaluate[string](b, `document.querySelector(".secret code").textContent`)
	press("sings", `[...panel.querySelectorAll("button")].find(b => b.textContent.startsWith("Mail new meetings to me@own.example")).click();`)
	b.WaitFor(`document.querySelector("main").textContent.includes("mailed to me@own.example")`)

	s.apply(meeting(2, "New walrus", "2026-06-10T09:00:00Z", `"transcript":[{"speaker":{"display_name":"Bo"},"text":"Hush.","timestamp":"00:00:05"},{"speaker":{"display_name":"Bo"},"text":"The walrus sings.","timestamp":"00:02:05"}]`))
	must(t, s.server.newNotifier().look(t.Context()))
	if len(h.bodies) != 1 || len(post.Mails()) != 1 {
		t.Fatalf("%d webhooks, %d mails", len(h.bodies), len(post.Mails()))
	}
	var hooked struct{ Data struct{ URL string } }
	must(t, json.Unmarshal([]byte(h.bodies[0]), &hooked))
	mail := strings.ReplaceAll(strings.ReplaceAll(post.Mails()[0].Data, "=\r\n", ""), "=3D", "=") // quoted-printable
	for _, link := range []string{hooked.Data.URL, linkIn(mail, s.URL+"/meetings/2")} {
		b.Do(chromedp.Navigate(link))
		b.WaitFor(`document.querySelector(".lines .here, .lines .now")?.textContent.includes("The walrus sings.")`)
	}
	b.Do(chromedp.Navigate(linkIn(mail, s.URL+"/unsubscribe")), chromedp.Click(chromedp.CSS("main form button")))
	b.WaitFor(`document.querySelector("main").textContent.includes("The mails have ended")`)
}

// linkIn returns the link in a text that begins so.
func linkIn(text, beginning string) string {
	_, rest, _ := strings.Cut(text, beginning)
	rest, _, _ = strings.Cut(rest, "\r\n")
	return beginning + strings.TrimSuffix(strings.TrimSpace(rest), ">")
}

// browserPopsOut offers a window of its own to the recording, where the browser has such.
func browserPopsOut(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.attachVideo(s.ids...)
	for _, enabled := range []string{"true", "false", "undefined"} {
		b := c.Open(t, s.URL)
		_, err := chromedp.Call(b.Context, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: `Object.defineProperty(Document.prototype, "pictureInPictureEnabled", { get: () => ` + enabled + ` })`})
		must(t, err)
		b.Do(chromedp.Navigate(s.URL + "/meetings/" + itoa(s.ids[0])))
		b.WaitFor(`!!document.querySelector(".controls .now")`)
		if offered := browsertest.Evaluate[bool](b, `!!document.querySelector(".controls .pip")`); offered != (enabled == "true") {
			t.Errorf("picture-in-picture is %s and offered: %v", enabled, offered)
		}
	}
}
