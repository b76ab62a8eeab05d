package web

import (
	"strings"
	"testing"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestALimitedShareReadsAndDoesNotPlay asks every route of a meeting as whoever reads it by
// a limited share, and by a standard one. The words are theirs in every form; the recording
// and pieces of it are not.
func TestALimitedShareReadsAndDoesNotPlay(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", `"default_summary":{"markdown_formatted":"Ship it"},
		"highlights":[{"type":"Key","start_time":1,"end_time":2,"summary":"Morning","text":"Good morning."}],
		"transcript":[{"speaker":{"display_name":"Bo"},"text":"Good morning.","timestamp":"00:00:01"}]`))
	s.attachVideo(1)
	const bo = "bo@x.example"
	left := map[string]bool{}
	for _, r := range s.server.routes() {
		if strings.HasPrefix(r.pattern, "GET ") && strings.Contains(r.pattern, "/meetings/{id}") {
			left[r.pattern] = true
		}
	}
	for pattern, rows := range map[string][]struct {
		path string
		says string // with the status 200; "": 403 for a limited share
	}{
		"GET /meetings/{id}": {{"", "Good morning."}, {"?player", "data-edition"}},
		"GET /meetings/{id}/{file}": {{"/transcript.vtt", "Good morning."}, {"/transcript.srt", "Good morning."}, {"/transcript.txt", "Good morning."},
			{"/minutes.md", "Good morning."}, {"/clip.vtt?t=0&end=9", "Good morning."}, {"/captions.vtt", ""}},
		"GET /meetings/{id}/versions/{revision}":                     {{"/versions/1", "Plan"}},
		"GET /api/v1/meetings/{id}":                                  {{"", "Good morning."}},
		"GET /api/v1/meetings/{id}/moments":                          {{"/moments?q=morning", "Good"}},
		"GET /api/v1/meetings/{id}/transcript":                       {{"/transcript", "Good morning."}},
		"GET /api/v1/meetings/{id}/outline":                          {{"/outline", "Bo"}},
		"GET /api/v1/meetings/{id}/notes":                            {{"/notes", "notes"}},
		"GET /api/v1/meetings/{id}/revisions":                        {{"/revisions", "revision"}},
		"GET /api/v1/meetings/{id}/revisions/{revision}":             {{"/revisions/1", "Plan"}},
		"GET /api/v1/meetings/{id}/revisions/{revision}/differences": {{"/revisions/1/differences", "{"}},
		"GET /api/v1/meetings/{id}/media":                            {{"/media", `"may_play"`}},
		"GET /api/v1/meetings/{id}/media/clip":                       {{"/media/clip?t=0&end=1", ""}},
		"GET /api/v1/meetings/{id}/media/{kind}":                     {{"/media/video", ""}, {"/media/audio", ""}},
	} {
		prefix, _, _ := strings.Cut(strings.TrimPrefix(pattern, "GET "), "/{id}")
		for _, row := range rows {
			address := prefix + "/1" + row.path
			for _, level := range []archive.ShareLevel{archive.ShareLimited, archive.ShareStandard} {
				if err := s.archive.SetShares(t.Context(), 1, map[string]archive.ShareLevel{archive.UserPrincipal(bo): level}); err != nil {
					t.Fatal(err)
				}
				s.catchUp()
				resp, body := s.get(address, "Test-Person", bo)
				want, isLimited := 200, level == archive.ShareLimited
				if row.says == "" && isLimited {
					want = 403
				}
				if row.says != "" && (resp.StatusCode != want || !strings.Contains(body, row.says)) || row.says == "" && (resp.StatusCode == 403) != isLimited {
					t.Errorf("%s with a %s share: %s: %.300s", address, level, resp.Status, body)
				}
				for _, play := range []string{"/media/video", "/media/clip?", "<video", `"may_play": true`, `"may_play":true`} {
					if isLimited && strings.Contains(body, play) {
						t.Errorf("%s with a limited share has %s", address, play)
					}
				}
			}
		}
		delete(left, pattern)
	}
	for pattern := range left {
		t.Errorf("the route %q is not asked", pattern)
	}
}
