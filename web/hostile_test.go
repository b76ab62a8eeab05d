package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"minutebook/archive/notes"
	"minutebook/internal/browsertest"
)

// browserStaysHarmless opens pages with markup in every field, with the content policy and
// without it. No markup becomes an element, nothing runs and nothing is fetched.
func browserStaysHarmless(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.apply(hostileMeeting(2), hostileMeeting(3))
	s.catchUp()
	if _, err := s.notes.Add(t.Context(), notes.Note{RecordingID: 2, At: 5e9, Text: evil}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.notes.Save(t.Context(), notes.Owner, evil, "walrus "+evil); err != nil {
		t.Fatal(err)
	}
	for _, bypass := range []bool{false, true} {
		b := c.Open(t, s.URL)
		_, err := chromedp.Call(b.Context, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: bypass})
		if err == nil {
			_, err = chromedp.Call(b.Context, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `window.alert = () => { window.alerted = true; };`})
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/meetings/2?q=walrus", "/meetings/3?find=script&t=5", "/?q=walrus", "/?q=script+person%3Aimg", "/people", "/people?q=img", "/actions?state=all",
			"/calendar/2026-06", "/now", "/saved", "/facet?field=person&q=walrus", "/trends?q=%3Cimg+src%3Dx%3E&by=person"} {
			b.Do(chromedp.Navigate(s.URL + path))
			b.WaitFor(`!window.alerted && !document.querySelector("img[src=x], [onerror], script:not([src])")`)
		}
		b.Do(chromedp.Navigate(s.URL+"/people"), chromedp.WaitReady(chromedp.CSS("input[role=combobox]")), chromedp.SendKeys(chromedp.CSS("input[role=combobox]"), "img"))
		b.WaitFor(`document.querySelector("#suggestions")?.textContent.includes("<img src=x")`)
		b.WaitFor(`!window.alerted && !document.querySelector("img[src=x], [onerror]")`)
	}
}

// hostileMeeting is a meeting that is hard on the layout: every text is one word
// of 200 letters, a letter with 500 marks, Arabic, Hebrew, Japanese or markup.
func hostileMeeting(id int64) json.RawMessage {
	long := strings.Repeat("Donaudampfschiff", 13)
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	arabic, hebrew := "اجتماع الميزانية في 4 سبتمبر.", "פגישת תקציב, 12:30."
	japanese := strings.Repeat("予算会議の議事録", 25)
	stacked := "a" + strings.Repeat("\u0489", 500) // one letter for a browser, which cannot be broken
	evil := `<img src=x onerror=alert(1)>"'--><script>alert(1)</script>`
	var invitees, lines []string
	for i := range 60 {
		invitees = append(invitees, fmt.Sprintf(`{"name":%s,"email":"p%d@%s.example","is_external":true}`, quote([]string{long, arabic, hebrew, evil}[i%4]+fmt.Sprint(i)), i, strings.ToLower(long[:40])))
	}
	for i := range 40 {
		lines = append(lines, fmt.Sprintf(`{"speaker":{"display_name":%s},"text":%s,"timestamp":"0%d:00:%02d"}`,
			quote([]string{hebrew, long, "A --", evil, japanese}[i/3%5]), quote([]string{arabic, long, hebrew, evil, "https://a.example/" + long, japanese}[i%6]), i/10, i))
	}
	return meeting(id, []string{long + " walrus", arabic + " walrus"}[id%2], "2026-06-30T08:00:00Z", fmt.Sprintf(`"recording_end_time":"2026-06-30T20:30:00Z",
		"meeting_type":%s,"url":"javascript:alert(1)","share_url":"//evil.example/x","transcript_language":"ar",
		"calendar_invitees":[%s],"transcript":[%s],
		"default_summary":{"template_name":%s,"markdown_formatted":%s},
		"action_items":[{"description":%s,"completed":true,"recording_timestamp":"00:00:05","assignee":{"name":%s}},{"description":%s,"assignee":{"name":%s}}],
		"highlights":[{"type":%s,"summary":%s,"text":%s,"start_time":5,"end_time":9}],
		"crm_matches":{"companies":[{"name":%s,"record_url":"javascript:alert(1)"}],"deals":[{"name":%s,"amount":1e300}],"error":%s}`,
		quote(long), strings.Join(invitees, ","), strings.Join(lines, ","), quote(long),
		quote("# "+arabic+"\n\n"+hebrew+"\n\n- "+long+"\n- "+arabic+"\n\n| "+long+" | b |\n|---|---|\n| walrus | "+arabic+" |\n\n| How | Finding |\n|---|---|\n| medium | "+strings.Repeat("several words ", 30)+" |\n\n`"+long+"`\n\n"+strings.Repeat("> ", 40)+stacked+"\n\n"+evil),
		quote(long), quote(long), quote(arabic), quote(hebrew), quote(long), quote(arabic), quote(long), quote(evil), quote(long), quote(evil+stacked)))
}

// browserPrints looks at pages as a printer gets them: whatever is folded is there, and no form.
func browserPrints(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.apply(hostileMeeting(2))
	b := c.Open(t, s.URL)
	_, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.EmulateViewport(720, 1000))
	for _, page := range []string{"/", "/meetings/2?q=walrus", "/?q=walrus", "/actions", "/people", "/trends?q=walrus&by=person", "/saved"} {
		b.Do(chromedp.Navigate(s.URL + page))
		if left := browsertest.Evaluate[string](b, `[...document.querySelectorAll("main form:not(.tick), .pager")].filter(e => e.getClientRects().length).map(e => e.outerHTML.slice(0, 90)).join("\n")`); left != "" {
			t.Errorf("%s prints\n%s", page, left)
		}
		if lost := browsertest.Evaluate[string](b, `[...document.querySelectorAll("main details :is(li, td)")].filter(e => !e.closest(".side, .takeaway, .watch, form") && !e.getClientRects().length).map(e => e.outerHTML.slice(0, 90)).join("\n")`); lost != "" {
			t.Errorf("%s does not print\n%.500s", page, lost)
		}
	}
}
