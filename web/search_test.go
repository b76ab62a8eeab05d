package web

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"minutebook/archive"
	"minutebook/internal/browsertest"
	"minutebook/internal/testrun"
	"minutebook/search"
	"minutebook/search/query"
)

// newTalkSite is a site in which Bo says "quarterly budget" and "forecast" in three months.
func newTalkSite(t testing.TB) *site {
	talk := func(kind, text string) string {
		return fmt.Sprintf(`"meeting_type":%q,"transcript":[{"speaker":{"display_name":"Bo Lindqvist"},"text":%q,"timestamp":"00:02:05"}]`, kind, text)
	}
	return newSite(t,
		meeting(1, "Budget review", "2026-01-10T09:00:00Z", talk("Review", "The quarterly budget, the quarterly budget.")),
		meeting(2, "Plans", "2026-03-10T09:00:00Z", talk("Planning", "The budget and a forecast.")),
		meeting(3, "Budget talk", "2026-05-10T09:00:00Z", talk("Review", "Budget, budget, budget: no forecast.")),
		meeting(4, "Other", "2026-05-11T09:00:00Z", talk("Stand-up", "Nothing of it.")))
}

// TestMonthsBetweenTwoWordsAreCharted compares words that were said in months that do not meet.
func TestMonthsBetweenTwoWordsAreCharted(t *testing.T) {
	testrun.SkipUnderRace(t)
	said := func(word string) string {
		return `"transcript":[{"speaker":{"display_name":"Ana"},"text":"The ` + word + `.","timestamp":"00:00:05"}]`
	}
	s := newSite(t, meeting(1, "One", "2025-11-05T09:00:00Z", said("walrus")), meeting(2, "Two", "2026-03-05T09:00:00Z", said("budget")), meeting(3, "Three", "1904-03-05T09:00:00Z", said("herring")))
	months := func(queries ...string) (labels []string) {
		found, err := s.index.Trends(t.Context(), search.TrendsRequest{Queries: queries, By: search.TrendMonth, Viewer: archive.Viewer{All: true}, Location: time.UTC})
		must(t, err)
		for _, row := range s.server.newTrendRows(found, search.TrendMonth) {
			labels = append(labels, row.Label)
		}
		return labels
	}
	if got := strings.Join(months("budget", "walrus"), ", "); got != "Nov 2025, Dec 2025, Jan 2026, Feb 2026, Mar 2026" {
		t.Errorf("the months are %s", got)
	}
	if got := strings.Join(months("budget", "herring"), ", "); got != "Mar 1904, Mar 2026" {
		t.Errorf("the months of a century are %s", got)
	}
}

func TestResultsHaveChipsAndControls(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newTalkSite(t)
	body := s.shows(200, "/?"+url.Values{"q": {"budget type:Review OR type:Planning sort:date"}}.Encode(),
		`aria-label="Remove type Review"`, `href="/?q=budget&#43;type%3APlanning&#43;sort%3Adate"`, `<option value="date" selected>Newest first</option>`)
	s.shows(200, "/?q=budget+type%3AReview", `aria-label="Remove budget"`)
	if strings.Count(body, `class="chip"`) != 4 {
		t.Error("the parts of the query are no four chips")
	}
	for address, want := range map[string]string{
		"/refine?q=budget&sort=date&where=title&from=2026-01-01&to=2026-03-31": "budget in:title after:2026-01-01 before:2026-04-01 sort:date",
		"/refine?q=budget+after%3A2026-02+sort%3Adate+in%3Atitle":              "budget",
		"/refine?q=budget+last%3A9m+in%3Atitle+in%3Asummary&sort=date":         "budget last:9m in:title in:summary sort:date",
		"/refine?q=budget+on%3A2026-02&from=2026-02-03":                        "budget after:2026-02-03",
		"/refine?q=budget&from=x%22y&sort=":                                    "budget",
		"/refine?q=nope%3A&sort=date":                                          "nope:",
	} {
		s.Client().CheckRedirect = newBrowser(t).CheckRedirect
		resp, _ := s.get(address)
		to, err := resp.Location()
		if err != nil || to.Path != "/" || to.Query().Get("q") != want {
			t.Errorf("%s leads to %v, want %s", address, to, want)
		}
	}
}

// TestAnotherOrderKeepsTheQuery changes the order alone in the form that a page shows, and a date beside
// filters that the form does not show.
func TestAnotherOrderKeepsTheQuery(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newTalkSite(t)
	refined := func(text, of, to string) string {
		q, err := query.Parse(text)
		must(t, err)
		c := newControls(q, text)
		form := url.Values{"q": {text}, "sort": {"date"}, "where": {""}, "from": {c.From}, "to": {c.To}}
		for _, o := range c.Wheres {
			if o.Chosen {
				form.Set("where", o.Value)
			}
		}
		if of != "" {
			form.Set(of, to)
		}
		s.Client().CheckRedirect = stay
		resp, _ := s.get("/refine?" + form.Encode())
		leads, err := resp.Location()
		must(t, err)
		return strings.TrimSuffix(leads.Query().Get("q"), " sort:date")
	}
	same := []string{"after:4w", "before:2w", "after:2026/05/01", "before:2026/05", "after:2026-02", "after:yesterday before:today", "after:1y before:2026-06-01", "on:2026-02", "on:yesterday", "last:9m",
		"after:2026-01 last:7d", "after:2026-01 after:2026-03", "after:4w OR after:2026-01", "before:0000", "before:0001-01-01", "after:0000", "in:title in:summary", "-after:2026-03"}
	for _, f := range query.Fields() {
		for _, value := range f.Values {
			if f.Name == "in" {
				same = append(same, "in:"+value)
			}
		}
	}
	for _, filter := range same {
		if text := refined("budget "+filter, "", ""); text != "budget "+filter {
			t.Errorf("%s becomes %q by another order", filter, text)
		}
	}
	for _, c := range []struct{ filter, of, to, want string }{
		{"before:4w", "from", "2026-01-02", "before:4w after:2026-01-02"},
		{"after:4w before:2026-06-01", "to", "", "after:4w"},
		{"after:4w", "from", "2026-01-02", "after:2026-01-02"},
		{"after:2026/05/01 last:7d", "from", "", "last:7d"},
		{"last:7d before:4w", "to", "2026-01-02", "before:2026-01-03"},
		{"in:crm after:4w", "where", "title", "after:4w in:title"},
	} {
		if text := refined("budget "+c.filter, c.of, c.to); text != "budget "+c.want {
			t.Errorf("%s with %s %q becomes %q, want %s", c.filter, c.of, c.to, text, c.want)
		}
	}
	s.shows(200, "/?q=budget+in:crm+after:2026/05/01", `<option value="crm" selected>CRM</option>`, `name="from" value="2026-05-01"`)
}

func TestFacetsAreAlternatives(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newTalkSite(t)
	s.shows(200, "/?q=budget+type%3AReview", `href="/?q=budget"`, `q=budget&#43;type%3AReview&#43;OR&#43;type%3APlanning`, `Planning</bdi> <span class="n">1`)
	s.shows(200, "/facet?field=person&q=budget&find=lind", "Bo Lindqvist", `q=budget&#43;person%3A%22Bo&#43;Lindqvist%22`)
	s.shows(200, "/facet?field=person&find=zzz", "None of the meetings")
	s.shows(400, "/facet?field=account", "field is one of")
	s.shows(400, "/facet?field=person&q=sort:x", "no value of")
	s.shows(400, "/api/v1/facet?field=type&limit=0", "limit")
	var facet struct {
		Values []struct {
			Value string
			Count int
		}
	}
	s.answer(200, "/api/v1/facet?field=type&q=budget+type:Planning", &facet)
	if fmt.Sprint(facet) != "{[{Review 2} {Planning 1}]}" {
		t.Errorf("types: %v", facet)
	}
}

func TestTrendsPage(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newTalkSite(t)
	s.shows(200, "/?q=budget+on%3A2026-05", "said 6 times", `data-range="budget"`, `class="out"`, "all of it", `href="/trends?q=budget"`)
	body := s.shows(200, "/trends?q=budget&q=forecast&q=%22quarterly+budget%22&q=budget", "6 times", "2 times", `class="v2"`, "Mar 2026", "<polyline", "<table")
	if n := strings.Count(body, "<polyline"); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
	s.shows(200, "/trends?q=budget&by=person", "Bo Lindqvist", "In meetings with")
	s.shows(200, "/trends", "Write one word")
	s.shows(200, "/trends?q=walrus", "None of it was said")
	s.shows(400, "/trends?q=nope:", "no field", `value="nope:"`)
	s.shows(400, "/trends?q=a&by=year", "by is month")
	var trends struct {
		Series []struct {
			Query, Counts string
			Total         int
			Points        []struct {
				Key   string
				Count int
			}
		}
	}
	s.answer(200, "/api/v1/trends?q=forecast&q=type:Review", &trends)
	if got := fmt.Sprint(trends.Series); got != "[{forecast occurrences 2 [{2026-03 1} {2026-04 0} {2026-05 1}]} {type:Review meetings 2 [{2026-01 1} {2026-02 0} {2026-03 0} {2026-04 0} {2026-05 1}]}]" {
		t.Error(got)
	}
	s.answer(400, "/api/v1/trends?q=nope:", &struct{}{})
	// A count leads to the meetings that it is of.
	counts := s.shows(200, "/trends?"+url.Values{"q": {"forecast sort:date", "(budget OR plan) in:transcript sort:relevance"}}.Encode())
	for _, count := range regexp.MustCompile(`href="(/\?q=%28[^"]*)"`).FindAllStringSubmatch(counts, -1) {
		s.shows(200, html.UnescapeString(count[1]), "<mark>")
	}
	link := regexp.MustCompile(`href="(/\?q=[^"]*2026-05)"`).FindStringSubmatch(s.shows(200, "/trends?q=forecast"))
	if link == nil {
		t.Fatal("a count leads nowhere")
	}
	s.shows(200, strings.NewReplacer("&amp;", "&", "&#43;", "+").Replace(link[1]), "1 meeting", "Budget talk")
}

func TestSuggestAnswersWhatIsVisible(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newTalkSite(t)
	type answer struct {
		Suggestions []struct{ Kind, Text, Query string }
		Parts       []struct{ Field, Value, Without string }
	}
	var a answer
	s.answer(200, "/api/v1/suggest?q=quarterly+bu", &a)
	if len(a.Suggestions) != 1 || a.Suggestions[0].Query != `"quarterly budget" ` || len(a.Parts) != 2 || a.Parts[0].Without != "bu" {
		t.Errorf("%+v", a)
	}
	a = answer{}
	s.answer(200, "/api/v1/suggest?q=type:Review+sort:date+-x", &a)
	if len(a.Parts) != 3 || a.Parts[2].Field != "sort" || a.Parts[1].Field != "not" {
		t.Errorf("%+v", a)
	}
	a = answer{}
	s.answer(200, "/api/v1/suggest?q=speaker:anna+OR+speaker:bob+speaker:carl", &a)
	if len(a.Parts) != 3 || a.Parts[0].Without != "speaker:bob speaker:carl" || a.Parts[2].Without != "speaker:anna OR speaker:bob" {
		t.Errorf("%+v", a)
	}
	for _, text := range []string{"", "%00", "%ff%fe", "type%3A(", strings.Repeat("a", 3000), "%22%22%22", "note:x"} {
		s.answer(200, "/api/v1/suggest?q="+text, &answer{})
	}
}

// browserSearches types, chooses by keys, drags over the chart and opens the description
// of the query language.
func browserSearches(t *testing.T, c *browsertest.Chromium) {
	s := newTalkSite(t)
	b := c.Open(t, s.URL)
	type_ := func(text string) { b.Do(chromedp.SendKeys(chromedp.CSS("input[name=q]"), text)) }
	b.Do(chromedp.Navigate(s.URL+"/"), chromedp.WaitReady(chromedp.CSS("input[role=combobox]")))
	type_("quarterly bu")
	b.WaitFor(`document.querySelector("#suggestions li")?.textContent.includes("quarterly budget")`)
	takePicture(t, b, "suggest")
	b.Do(chromedp.KeyEvent(kb.ArrowDown))
	b.WaitFor(`document.activeElement.value === '"quarterly budget" ' && document.activeElement.getAttribute("aria-activedescendant") === "suggestion-0" && document.querySelector("#suggestion-0").ariaSelected === "true"`)
	b.Do(chromedp.KeyEvent(kb.ArrowUp))
	b.WaitFor(`document.activeElement.value === "quarterly bu" && !document.activeElement.hasAttribute("aria-activedescendant")`)
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.WaitFor(`document.querySelector("#suggestions").hidden && document.activeElement.getAttribute("aria-expanded") === "false"`)
	b.Do(chromedp.KeyEvent(kb.ArrowDown))
	b.WaitFor(`!document.querySelector("#suggestions").hidden`)
	b.Do(chromedp.KeyEvent(kb.ArrowDown))
	b.Press(kb.Enter)
	b.WaitFor(`new URLSearchParams(location.search).get("q") === '"quarterly budget"' && !!document.querySelector(".hit")`)

	// Who types on after a suggestion searches for both; a field that is taken waits for its value.
	b.Do(chromedp.Navigate(s.URL+"/"), chromedp.WaitReady(chromedp.CSS("input[role=combobox]")))
	type_("quarterly bu")
	b.WaitFor(`document.querySelector("#suggestions li")?.textContent.includes("quarterly budget")`)
	b.Do(chromedp.KeyEvent(kb.ArrowDown))
	type_("travel")
	b.Press(kb.Enter)
	b.WaitFor(`location.search !== ""`)
	if got := browsertest.Evaluate[string](b, `new URLSearchParams(location.search).get("q")`); got != `"quarterly budget" travel` {
		t.Errorf("what was typed after a suggestion is searched for as %s", got)
	}
	b.Do(chromedp.Navigate(s.URL+"/"), chromedp.WaitReady(chromedp.CSS("input[role=combobox]")))
	type_("te")
	b.WaitFor(`!!document.querySelector("#suggestions li")`)
	for range 8 {
		b.Do(chromedp.KeyEvent(kb.ArrowDown))
		if browsertest.Evaluate[bool](b, `document.activeElement.value === "team:"`) {
			break
		}
	}
	b.Press(kb.Enter)
	b.WaitFor(`document.querySelector("#suggestions li")?.textContent.includes("Ops") && location.search === "" && !document.activeElement.hasAttribute("aria-activedescendant")`)

	// A title opens its meeting, and the last search is offered again.
	b.Do(chromedp.Navigate(s.URL+"/"), chromedp.WaitReady(chromedp.CSS("input[role=combobox]")))
	b.Do(chromedp.Click(chromedp.CSS("input[name=q]")))
	b.WaitFor(`document.querySelector("#suggestions li")?.textContent.includes("Searched")`)
	type_("budget ta")
	b.WaitFor(`[...document.querySelectorAll("#suggestions li")].some(l => l.textContent.includes("Budget talk"))`)
	b.Do(chromedp.KeyEvent(kb.ArrowDown))
	b.Press(kb.Enter)
	b.WaitFor(`location.pathname === "/meetings/3"`)

	// Chips follow the text; a drag over the chart chooses months.
	b.Do(chromedp.Navigate(s.URL + "/?q=budget+type:Review"))
	b.WaitFor(`document.querySelectorAll(".chip").length === 2 && !!document.querySelector("input[role=combobox]")`)
	b.Do(chromedp.Focus(chromedp.CSS("input[name=q]")), chromedp.KeyEvent(kb.End))
	type_(" -travel")
	b.WaitFor(`document.querySelectorAll(".chip").length === 3 && document.querySelector(".chips").textContent.includes("travel")`)
	b.Do(chromedp.Navigate(s.URL + "/?q=budget"))
	b.WaitFor(`!!document.querySelector("svg[data-range]") && !!document.querySelector("input[role=combobox]")`)
	box := browsertest.Evaluate[map[string]float64](b, `(() => { const r = document.querySelector("svg[data-range]").getBoundingClientRect(); return {x: r.x, y: r.y + r.height / 2, w: r.width} })()`)
	mouse := func(kind input.DispatchMouseEventType, share float64) chromedp.Action[chromedp.Void] {
		return chromedp.MouseEvent(kind, box["x"]+share*box["w"], box["y"], chromedp.ButtonLeft)
	}
	b.Do(mouse(input.DispatchMouseEventTypeMousePressed, 0.05), mouse(input.DispatchMouseEventTypeMouseMoved, 0.3), mouse(input.DispatchMouseEventTypeMouseMoved, 0.5), mouse(input.DispatchMouseEventTypeMouseReleased, 0.5))
	b.WaitFor(`new URLSearchParams(location.search).get("q") === "budget after:2026-01 before:2026-04"`)
	b.WaitFor(`document.querySelectorAll("svg[data-range] a").length === 5 && document.querySelectorAll("svg[data-range] a.out").length === 2`)

	// Escape drops what is being chosen; a finger chooses too.
	b.Do(chromedp.Navigate(s.URL + "/?q=budget"))
	b.WaitFor(`!!document.querySelector("svg[data-range]") && !!document.querySelector("input[role=combobox]")`)
	b.Do(mouse(input.DispatchMouseEventTypeMousePressed, 0.05), mouse(input.DispatchMouseEventTypeMouseMoved, 0.5))
	b.WaitFor(`document.querySelectorAll("svg[data-range] .picked").length === 3`)
	b.Press(kb.Escape)
	b.WaitFor(`!document.querySelector("svg[data-range] .picked")`)
	b.Do(mouse(input.DispatchMouseEventTypeMouseReleased, 0.5))
	b.WaitFor(`new URLSearchParams(location.search).get("q") === "budget"`)
	b.Do(chromedp.EmulateViewport(1280, 850, chromedp.EmulateTouch))
	touch := func(kind input.DispatchTouchEventType, points ...*input.TouchPoint) {
		if _, err := chromedp.Call(b.Context, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		kind := input.DispatchTouchEventTypeTouchMove
		if i == 0 {
			kind = input.DispatchTouchEventTypeTouchStart
		}
		touch(kind, &input.TouchPoint{X: box["x"] + (0.25+0.05*float64(i))*box["w"], Y: box["y"]})
	}
	touch(input.DispatchTouchEventTypeTouchEnd)
	b.WaitFor(`new URLSearchParams(location.search).get("q") === "budget after:2026-02 before:2026-04"`)
	b.Do(chromedp.EmulateViewport(1280, 850))

	b.Do(chromedp.Click(chromedp.CSS(".howto")))
	b.WaitFor(`document.querySelector("#howto").matches(":popover-open") && document.querySelector("#howto [data-example=type]").textContent === "type:Review"`)
	takePicture(t, b, "howto")
}
