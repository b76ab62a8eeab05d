package web

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"minutebook/internal/testrun"
	"minutebook/web/outline"
)

func TestVersionsReadAsDifferences(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", `"default_summary":{"markdown_formatted":"We ship on Friday <b>early</b>."}`))
	s.apply(meeting(1, "Plan", "2026-06-30T15:00:00Z", ""),
		meeting(1, "Plan", "2026-06-30T15:00:00Z", `"default_summary":{"markdown_formatted":"We ship on Monday <b>early</b>."}`))
	var pages []string
	for _, address := range regexp.MustCompile(`/meetings/1/versions/\d+`).FindAllString(s.shows(200, "/meetings/1"), -1) {
		pages = append(pages, s.shows(200, address, "<h1>Summary</h1>", "&lt;b&gt;early&lt;/b&gt;"))
	}
	all := strings.Join(pages, "")
	if len(pages) != 2 || strings.Count(all, "We ship on <del>Friday</del><ins>Monday</ins> &lt;b&gt;") != 1 || strings.Count(all, "The first version") != 1 {
		t.Errorf("the versions are %s", all)
	}
	var answers []string
	for _, address := range regexp.MustCompile(`/api/v1/meetings/1/revisions/\d+`).FindAllString(s.shows(200, "/meetings/1"), -1) {
		answers = append(answers, s.shows(200, address+"/differences"))
	}
	if all := strings.Join(answers, ""); !strings.Contains(all, `{"change":"removed","text":"Friday"},{"change":"added","text":"Monday"}`) {
		t.Errorf("the interface says %s", all)
	}
	s.shows(404, "/meetings/1/versions/999")
	s.shows(404, "/meetings/1/versions/x")
	s.shows(404, "/meetings/2/versions/1")
	s.shows(404, "/api/v1/meetings/1/revisions/999/differences")
}

// TestVersionsKeepNumbers reads versions of a meeting whose number has many digits.
func TestVersionsKeepNumbers(t *testing.T) {
	testrun.SkipUnderRace(t)
	const id = 8260252246852638
	s := newSite(t, meeting(id, "Plan", "2026-06-30T15:00:00Z", ""))
	s.apply(meeting(id, "Another plan", "2026-06-30T15:00:00Z", ""))
	for _, address := range regexp.MustCompile(`/meetings/\d+/versions/\d+`).FindAllString(s.shows(200, "/meetings/"+itoa(id)), -1) {
		s.shows(200, address, "<h1>Meeting</h1>", "recording id: 8260252246852638")
	}
}

func TestOutlineOfAMeeting(t *testing.T) {
	testrun.SkipUnderRace(t)
	var lines []string
	for i := range 480 {
		words := strings.Repeat(fmt.Sprintf("subject%d word%d and the others ", i/120, i/120*10+i%7), 4)
		lines = append(lines, fmt.Sprintf(`{"speaker":{"display_name":"Bo"},"text":"%s","timestamp":"00:%02d:%02d"}`, words, i*6/60, i*6%60))
	}
	lines = append(lines, `{"speaker":{"display_name":"Ana"},"text":"Well. Shall we <b>end</b> it here?","timestamp":"00:48:00"}`)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", `"recording_end_time":"2026-06-30T15:50:00Z","transcript":[`+strings.Join(lines, ",")+`]`),
		meeting(2, "Short", "2026-06-30T16:00:00Z", ""))
	var got outlineJSON
	s.answer(200, "/api/v1/meetings/1/outline", &got)
	if got.Source != outline.FromTalk || len(got.Chapters) != 4 || len(got.Speakers) != 2 || len(got.Questions) != 1 || got.Questions[0].OffsetSeconds != 2880 {
		t.Errorf("the outline is %+v", got)
	}
	s.shows(200, "/meetings/1", `Chapters <span class="n">4</span>`, "Questions asked", "Shall we &lt;b&gt;end&lt;/b&gt; it here?", `href="?t=2880"`)
	s.answer(200, "/api/v1/meetings/2/outline", &got)
	if got.Source != outline.Short || len(got.Chapters) > 0 {
		t.Errorf("a meeting without a talk has %+v", got)
	}
	s.shows(404, "/api/v1/meetings/3/outline")
}

// TestOutlineCountsTalkAsThePage reads a meeting of unknown length with one entry: page and
// interface name the same share of the talk.
func TestOutlineCountsTalkAsThePage(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", `"transcript":[{"speaker":{"display_name":"Ana"},"text":"Hello.","timestamp":"00:00:07"}]`))
	s.shows(200, "/meetings/1", `<bdi class="name">Ana</bdi><span class="n">100%</span>`)
	var got outlineJSON
	s.answer(200, "/api/v1/meetings/1/outline", &got)
	if len(got.Speakers) != 1 || got.Speakers[0].Percent != 100 || got.Speakers[0].TalkedSeconds != 10 {
		t.Errorf("the speakers are %+v", got.Speakers)
	}
}
