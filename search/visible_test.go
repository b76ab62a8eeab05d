package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestNothingHiddenShows asks as a person who sees one of two meetings: no
// count, facet, bar, suggestion, moment or page tells of the other.
func TestNothingHiddenShows(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	hidden := map[string]any{"meeting_type": "Secretwork", "recorded_by": map[string]any{"name": "Hilda Hidden", "email": "hilda@hidden.example", "email_domain": "hidden.example", "team": "Hiding"}}
	h.add(
		meeting(1, "Open", "en", day(1), []utterance{{0, "Anna Lee", "The merger is only a rumour."}}, nil),
		meeting(2, "Confidential", "fr", day(70), []utterance{{0, "Hilda Hidden", "The merger with Zyxotron is signed, merger merger."}}, hidden),
	)
	h.catchUp()
	anna := archive.ViewerWith("anna@own.example")
	secrets := []string{"hilda", "hidden", "hiding", "secretwork", "zyxotron", "fr ", "2026-07"}
	for _, q := range []string{"", "merger", "zyxotron", "zyxotrom", "zyxo*", "zyxotrn~", `"merger with"`, "speaker:hilda", "person:hilda*", "type:secretwork",
		"team:hiding", "domain:hidden.example", "language:fr", "id:2", "title:confidential", "merger OR zyxotron", "-rumour", "on:2026-07", "What about the merger with Zyxotron?"} {
		a, err := h.index.Search(context.Background(), Request{Query: q, Viewer: anna, Facets: true, Histogram: true})
		if err != nil {
			t.Fatal(err)
		}
		answer := strings.ToLower(fmt.Sprint(a.Facets, a.DidYouMean))
		for _, secret := range secrets {
			if strings.Contains(answer, secret) && !strings.Contains(q, secret) {
				t.Errorf("%q tells of %q: %s", q, secret, answer)
			}
		}
		if a.Total > 1 || len(a.Histogram) > 1 || len(a.Meetings) == 1 && a.Meetings[0].Row.RecordingID != 1 || len(a.Meetings) > 1 {
			t.Errorf("%q finds %d: %s, %v", q, a.Total, hitIDs(a), a.Histogram)
		}
		stranger, err := h.index.Search(context.Background(), Request{Query: q, Viewer: archive.ViewerWith("stranger@else.example"), Facets: true, Histogram: true})
		if err != nil {
			t.Fatal(err)
		}
		if stranger.Total != 0 || len(stranger.Meetings) != 0 || stranger.Histogram != nil || stranger.DidYouMean != "" {
			t.Errorf("%q shows a stranger %+v", q, stranger)
		}
	}
	choices, err := h.index.Values(t.Context(), anna, 10, facetFields()...)
	for _, secret := range secrets {
		if err != nil || strings.Contains(strings.ToLower(fmt.Sprint(choices)), secret) {
			t.Errorf("the choices of filters tell of %q: %v, %v", secret, choices, err)
		}
	}
}

// TestSharingShows checks that a share is seen as soon as the index follows.
func TestSharingShows(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	zoe := archive.ViewerWith("zoe@client.example")
	if a := h.search(Request{Query: "budget", Viewer: zoe}); a.Total != 0 {
		t.Fatalf("before the share %d are found", a.Total)
	}
	err := h.archive.PutShares(context.Background(), archive.Share{RecordingID: 1, Principal: archive.UserPrincipal("zoe@client.example"), Level: archive.ShareStandard})
	if err != nil {
		t.Fatal(err)
	}
	h.catchUp()
	if a := h.search(Request{Query: "budget", Viewer: zoe}); hitIDs(a) != "1" {
		t.Fatalf("after the share %q are found", hitIDs(a))
	}
}

// TestDidYouMean puts words right by those of transcripts and of all other parts.
func TestDidYouMean(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.add(meeting(4, "اجتماع", "ar", day(21), []utterance{{0, "Omar", "كتبنا الكتب"}, {9, "Omar", "كتب"}}, nil))
	h.catchUp()
	for query, want := range map[string]string{
		"bugdet":                      "budget",
		"printng -release":            "printing -release",
		`contarct "printing company"`: `contract "printing company"`,
		"budget":                      "",
		"qqqqqqqq":                    "",
		"speaker:bob contrat":         "speaker:bob contract",
		"speaker:dora campaign":       "",          // said by others: the word is no mistake
		"disscused":                   "discussed", // in a summary
		"forcast":                     "forecast",  // in an action item
		"Besprechnug":                 "besprechung",
		"Kuhm":                        "kuhn", // in a name
		"مكتب":                        "كتب",  // of which the index has the stem too
	} {
		if got := h.search(Request{Query: query}).DidYouMean; got != want {
			t.Errorf("%q: did you mean %q, want %q", query, got, want)
		}
	}
}

// TestWordsOfLanguages checks that words are found as people type them.
func TestWordsOfLanguages(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	h.add(
		meeting(1, "Réunion", "fr", day(1), []utterance{{0, "Anne", "L'équipe a décidé d'augmenter les dépenses à Noël."}}, nil),
		meeting(2, "会議", "ja", day(2), []utterance{{0, "Keiko", "来週の東京都の予算会議について話します。"}}, nil),
		meeting(3, "Reunión", "es", day(3), []utterance{{0, "José", "Las reuniones del próximo año serán en Málaga."}}, nil),
		meeting(4, "Unknown", "unknown", day(4), []utterance{{0, "X", "Naïve café résumé, straße, 3.5 percent of 1,000 at anna.lee@client.example"}}, nil),
		meeting(5, "اجتماع", "ar", day(5), []utterance{{0, "Omar", "ناقشنا الكتاب الجديد اليوم"}}, nil),
		meeting(6, "Совещание", "ru", day(6), []utterance{{0, "Иван", "Обсудили бюджеты проекта и ёлку"}}, nil),
		meeting(7, "회의", "ko", day(7), []utterance{{0, "Kim", "예산 회의를 시작합니다"}}, nil),
	)
	h.catchUp()
	for query, want := range map[string]string{
		"equipe": "1", "dépense": "1", "noel": "1", "augmenter": "1",
		"東京": "2", "東京都": "2", "予算会議": "2", "京": "2", "す": "2", "会議について": "2", `"予算会議"`: "2", "大阪": "",
		"reunion": "1 3", "malaga": "3", "proximo": "3",
		"cafe": "4", "strasse": "4", "1000": "4", "3.5": "4", "anna.lee@client.example": "4", "client.example": "4",
		"كتاب": "5", "бюджет": "6", "елка": "6", "회의": "7", "예산": "7",
	} {
		a := h.search(Request{Query: query + " sort:date"})
		got := strings.Fields(hitIDs(a))
		for i, j := 0, len(got)-1; i < j; i, j = i+1, j-1 {
			got[i], got[j] = got[j], got[i]
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
		if want != "" && got != nil && len(a.Meetings[0].Moments) == 0 && !strings.HasPrefix(query, "reunion") {
			t.Errorf("%q shows no moment", query)
		}
	}
}

// TestSignsWithinWordsHideNone looks for words as people type them where the text has another
// apostrophe, or a sign that nobody sees, in words and in names.
func TestSignsWithinWordsHideNone(t *testing.T) {
	h := newFixture(t)
	for i, c := range []struct{ said, name string }{
		{"Ми бачили обʼєкт", "Марʼяна Шевченко"}, {"דיברנו עם ג׳ון", "ג׳ון כהן"}, {"I don‘t know, O´Brien", "Pat O’Brien"},
		{"Der Kosten\u00advoranschlag", "Jean‑Luc Picard"}, {"葛\U000E0100城市の件です", "葛\U000E0100城 希"}, {"bu oʻzbek tili", "Oʻtkir Aliyev"}, {"ශ්\u200dරී ලංකා 1\ufe0f\u20e3", "Zo\u00ade Park"},
	} {
		h.add(meeting(int64(i+1), "Talk", "en", day(i+1), []utterance{{0, c.name, c.said}},
			map[string]any{"recorded_by": map[string]any{"name": "Uma", "email": "uma@own.example", "email_domain": "own.example"}}))
	}
	h.catchUp()
	for query, want := range map[string]string{
		"об'єкт": "1", "об’єкт": "1", "обʼєкт": "1", "person:\"мар'яна шевченко\"": "1", "speaker:мар’яна": "1", "ג'ון": "2", "ג׳ון": "2", "speaker:\"ג'ון כהן\"": "2",
		"don't": "3", "o'brien": "3", "person:\"pat o'brien\"": "3", "\"pat o'brien\"": "3", "speaker:\"pat o‘brien\"": "3", "kostenvoranschlag": "4", "person:\"jean-luc picard\"": "4", "person:\"jean‐luc picard\"": "4",
		"葛城": "5", "葛\U000E0100城市": "5", "person:\"葛城 希\"": "5", "o'zbek": "6", "ozbek": "6", "person:\"o'tkir aliyev\"": "6", "ශ්රී": "7", "ශ්\u200dරී": "7", "1": "7", "person:\"zoe park\"": "7",
	} {
		if got := hitIDs(h.search(Request{Query: query})); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// TestAFewMeetingsInAnotherLanguageHideNoWord asks for English words that are stop words of a
// language that one meeting of many is in.
func TestAFewMeetingsInAnotherLanguageHideNoWord(t *testing.T) {
	h := newFixture(t)
	h.add(
		meeting(1, "Shop", "en", day(1), []utterance{{0, "Anna", "She wore a red hat."}}, nil),
		meeting(2, "Shop", "en", day(2), []utterance{{0, "Anna", "She wore a red coat. The war is over."}}, nil),
		meeting(3, "Shop", "en", day(3), []utterance{{0, "Anna", "Nothing red."}}, nil),
		meeting(4, "Shop", "en", day(4), []utterance{{0, "Anna", "Something blue."}}, nil),
		meeting(5, "Laden", "de", day(5), []utterance{{0, "Dora", "Sie hat einen Vertrag."}}, nil),
	)
	h.catchUp()
	for query, want := range map[string]string{"red hat": "1", "red war": "2", "the red hat": "1", "sie hat einen vertrag": "5", "es hat ein vertrag": "5", "red the": "3 2 1"} {
		if got := hitIDs(h.search(Request{Query: query + " sort:date", Whole: true})); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// TestEdgesOfRunsAreFound looks for characters of a script without spaces beside digits and
// Latin letters, within longer runs, and for Korean and Japanese that was written decomposed.
func TestEdgesOfRunsAreFound(t *testing.T) {
	h := newFixture(t)
	h.add(
		meeting(1, "計画", "ja", day(1), []utterance{{0, "Keiko", "2024年度の予算は5月に、A社の会議で決めます。"}}, nil),
		meeting(2, "計画", "ja", day(2), []utterance{{0, "Keiko", "これは第5回です。株式会社Bと5。月の話"}}, nil),
		meeting(3, norm.NFD.String("회의 ガイド"), "ko", day(3), []utterance{{0, "Kim", norm.NFD.String("예산 회의를 시작합니다 プロジェクト")}}, nil),
	)
	h.catchUp()
	for query, want := range map[string]string{
		"5月": "1 2", `"5月"`: "1 2", "5月に": "1", "2024年": "1", "2024年度": "1", "A社": "1", "第5": "2", "は第5回": "2", "第5回": "2", "社B": "2", "社A": "",
		"speaker:keiko 5月": "1 2", "speaker:keiko A社の会議": "1", "6月": "", "5年": "", "第6": "",
		"회의": "3", "예산": "3", "회의를": "3", "ガイド": "3", "プロジェクト": "3", norm.NFD.String("プロジェクト"): "3", "title:ガイド": "3", "회": "3",
	} {
		a := h.search(Request{Query: query + " sort:date"})
		got := strings.Fields(hitIDs(a))
		slices.Reverse(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
		if len(got) > 0 && query != "title:ガイド" && (len(a.Meetings[0].Moments) == 0 || !strings.Contains(markHits(a.Meetings[0].Moments[0].Snippet), "[")) {
			t.Errorf("%q shows no moment: %+v", query, a.Meetings[0].Moments)
		}
	}
}

// TestARightEndsBeforeTheIndexFollows narrows a share and searches at once, while
// the index still holds the earlier one: no total, facet, bar, suggestion or
// moment tells of the meeting.
func TestARightEndsBeforeTheIndexFollows(t *testing.T) {
	shared := map[string]any{"shared_with": "all_teams"}
	ctx := context.Background()
	bob := archive.ViewerWith("bob@own.example")
	for name, end := range map[string]func(h *fixture) error{
		"made private": func(h *fixture) error {
			h.add(meeting(1, "Plan", "en", day(1), []utterance{{0, "Anna Lee", "The merger is signed, quietly."}}, nil))
			return nil
		},
		"gone": func(h *fixture) error {
			w, err := h.archive.BeginWalk(ctx, "main", "")
			w.Listed = 1000
			if err == nil {
				_, err = h.archive.CompleteWalk(ctx, w)
			}
			return err
		},
		"the team is another": func(h *fixture) error { return h.archive.PutTeamMembers(ctx, "main", "Sales", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			if err := h.archive.PutTeamMembers(ctx, "main", "Sales", []api.TeamMember{{Email: bob.Emails[0]}}); err != nil {
				t.Fatal(err)
			}
			h.add(meeting(1, "Plan", "en", day(1), []utterance{{0, "Anna Lee", "The merger is only a rumour."}}, shared))
			h.catchUp()
			if a := h.search(Request{Query: "merger", Viewer: bob}); a.Total != 1 {
				t.Fatalf("before: %d", a.Total)
			}
			if err := end(h); err != nil {
				t.Fatal(err)
			}
			for _, q := range []string{"", "merger", "merged~", "mergre", "id:1", "account:main"} {
				a := h.search(Request{Query: q, Viewer: bob, Facets: true, Histogram: true})
				for _, f := range a.Facets {
					if len(f.Values) > 0 {
						t.Errorf("%q counts %v", q, f)
					}
				}
				if a.Total != 0 || len(a.Meetings) > 0 || len(a.Histogram) > 0 || a.DidYouMean != "" || a.Progress.Total != 0 {
					t.Errorf("%q shows %+v", q, a)
				}
			}
		})
	}
}

// TestAnAccountIsAskedForByItsPerson asks which meetings an account is shown.
func TestAnAccountIsAskedForByItsPerson(t *testing.T) {
	h := newFixture(t)
	ctx := context.Background()
	if err := h.archive.PutAccountPerson(ctx, "main", "anna@own.example"); err != nil {
		t.Fatal(err)
	}
	if err := h.archive.PutTeamMembers(ctx, "main", "Sales", []api.TeamMember{{Email: "bob@own.example"}}); err != nil {
		t.Fatal(err)
	}
	h.add(meeting(1, "Plan", "en", day(1), []utterance{{0, "Anna Lee", "We plan."}}, map[string]any{"shared_with": "all_teams"}))
	h.catchUp()
	for _, c := range []struct {
		viewer archive.Viewer
		want   int
	}{{everyone, 1}, {archive.ViewerWith("anna@own.example"), 1}, {archive.ViewerWith("bob@own.example"), 0},
		{archive.ViewerWith("bob@own.example", "anna@own.example"), 1}} {
		if a := h.search(Request{Query: "account:main", Viewer: c.viewer}); a.Total != c.want {
			t.Errorf("%v finds %d by the account, want %d", c.viewer, a.Total, c.want)
		}
	}
}
