package outline

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/internal/corpus"
	"minutebook/internal/testrun"
	"minutebook/search/text"
)

// talk returns lines of ten seconds each on successive subjects, each with words of its
// own among those of all.
func talk(rng *rand.Rand, subjects, linesEach int) (lines []Line) {
	for s := range subjects {
		for range linesEach {
			var words []string
			for range 18 {
				if rng.IntN(3) == 0 {
					words = append(words, fmt.Sprintf("%c%cword", 'a'+s, 'a'+rng.IntN(15)))
				} else {
					words = append(words, fmt.Sprintf("x%02dcommon", rng.IntN(60)))
				}
			}
			lines = append(lines, Line{At: time.Duration(len(lines)) * 10 * time.Second, Speaker: fmt.Sprint(len(lines) % 3), Text: strings.Join(words, " ")})
		}
	}
	return lines
}

func TestChaptersBeginWhereTheSubjectChanges(t *testing.T) {
	testrun.SkipUnderRace(t)
	lines := talk(rand.New(rand.NewPCG(1, 2)), 4, 150)
	chapters, source := Chapters(lines, nil, nil)
	if source != FromTalk || len(chapters) != 4 {
		t.Fatalf("%v %v", source, chapters)
	}
	for i, c := range chapters {
		if off := c.Line - 150*i; off < -9 || off > 9 {
			t.Errorf("chapter %d begins at line %d, want about %d", i, c.Line, 150*i)
		}
		if !regexp.MustCompile(fmt.Sprintf("(?i)^%[1]c.word, %[1]c.word, %[1]c.word$", 'a'+i)).MatchString(c.Title) {
			t.Errorf("chapter %d is named %q", i, c.Title)
		}
	}
	named, _ := Chapters(lines, []Highlight{{At: 2010 * time.Second, Name: "The price"}, {At: 2005 * time.Second, Name: "First"}, {At: 5000 * time.Second, Name: strings.Repeat("ü", 200)}}, nil)
	if named[1].Title != "First" || len([]rune(named[3].Title)) != maxTitle {
		t.Errorf("the chapters are named %q and %q", named[1].Title, named[3].Title)
	}
}

func TestTalkOfOneSubjectHasNoChapters(t *testing.T) {
	testrun.SkipUnderRace(t)
	hidden := 0
	for seed := range uint64(20) {
		lines := talk(rand.New(rand.NewPCG(seed, 7)), 1, 300)
		chapters, source := Chapters(lines, nil, nil)
		if len(chapters) == 0 && source == Even {
			hidden++
		}
	}
	if hidden < 18 {
		t.Errorf("%d of 20 have none", hidden)
	}
	if chapters, source := Chapters(talk(rand.New(rand.NewPCG(1, 2)), 4, 5), nil, nil); len(chapters) > 0 || source != Short {
		t.Errorf("a short talk has %v, %v", chapters, source)
	}
}

func TestHighlightsDivideAnEvenTalk(t *testing.T) {
	testrun.SkipUnderRace(t)
	lines := make([]Line, 180)
	for i := range lines {
		lines[i] = Line{At: time.Duration(i) * 10 * time.Second, Text: strings.Repeat("the same words again ", 3)}
	}
	highlights := []Highlight{{700 * time.Second, "C"}, {201 * time.Second, "A"}, {450 * time.Second, "B"}, {455 * time.Second, "too near"}}
	chapters, source := Chapters(lines, highlights, nil)
	if source != FromHighlights || len(chapters) != 4 || chapters[1].At != 200*time.Second || chapters[2].Title != "B" {
		t.Errorf("%v %v", source, chapters)
	}
	if chapters, source := Chapters(lines, highlights[:2], nil); len(chapters) > 0 || source != Even {
		t.Errorf("two highlights make %v %v", chapters, source)
	}
}

// TestChaptersOfAnything draws talks with any words and times.
func TestChaptersOfAnything(t *testing.T) {
	testrun.SkipUnderRace(t)
	rapid.Check(t, func(t *rapid.T) {
		var lines []Line
		at := time.Duration(0)
		for range rapid.IntRange(0, 120).Draw(t, "lines") {
			at += time.Duration(rapid.IntRange(0, 60).Draw(t, "pause")) * time.Second
			words := rapid.SliceOfN(rapid.SampledFrom([]string{"alpha", "beta", "gamma", "delta", "Ünï", "予算会議", "?", "now?", "a", "17"}), 0, 40).Draw(t, "words")
			lines = append(lines, Line{At: at, Speaker: rapid.SampledFrom([]string{"", "A", "B"}).Draw(t, "speaker"), Text: strings.Join(words, " ")})
		}
		chapters, source := Chapters(lines, []Highlight{{At: at / 2, Name: "x"}, {At: -5}, {At: 2 * at, Name: "y"}, {At: at / 3, Name: "z"}}, nil)
		if (len(chapters) > 0) != (source == FromTalk || source == FromHighlights) {
			t.Fatalf("%v from %v", chapters, source)
		}
		for i, c := range chapters {
			if c.At != lines[c.Line].At || c.Title == "" || i == 0 && c.Line != 0 {
				t.Fatalf("chapter %d is %+v", i, c)
			}
			if i > 1 && c.At-chapters[i-1].At < minChapter {
				t.Fatalf("chapter %d is %v long", i-1, c.At-chapters[i-1].At)
			}
		}
		for _, q := range Questions(lines) {
			if q.At != lines[q.Line].At || !strings.Contains(lines[q.Line].Text, q.Text) {
				t.Fatalf("%+v is not in its line", q)
			}
		}
	})
}

// TestTitleNamesTheSubject gives a chapter in which words of any talk are said more often
// than those of its subject, and one that has no others.
func TestTitleNamesTheSubject(t *testing.T) {
	testrun.SkipUnderRace(t)
	lines := talk(rand.New(rand.NewPCG(1, 2)), 3, 40)
	for i := range 12 {
		lines[i].Text = "Folks, always free folks. Always thank the folks."
		if i%3 == 0 {
			lines[i].Text += " The walrus."
		}
	}
	for i := range 12 {
		lines[len(lines)-1-i].Text = "Well, sure, I know."
	}
	d := newDivision(lines, nil)
	if got := d.title(0, 12); got != "Walrus" {
		t.Errorf("the title is %q, want Walrus", got)
	}
	if got := d.title(len(lines)-12, len(lines)); got != "Well, sure, I know." {
		t.Errorf("the title is %q, want the opening", got)
	}
}

func TestQuestions(t *testing.T) {
	testrun.SkipUnderRace(t)
	got := Questions([]Line{{Text: "Right? So. What do we ship on Friday? I think so."}, {At: 5, Speaker: "Bo", Text: "いつ出荷しますか？はい。"}, {Text: "No question. Is it really that dear?!"}})
	want := []Question{{Text: "What do we ship on Friday?"}, {At: 5, Line: 1, Speaker: "Bo", Text: "いつ出荷しますか？"}, {Line: 2, Text: "Is it really that dear?"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestShortQuestionsOfManyScripts asks "right?" and a longer question in each script.
func TestShortQuestionsOfManyScripts(t *testing.T) {
	for short, long := range map[string]string{"Right?": "What do we ship on Friday?", "Правда?": "Что мы отправим в пятницу?", "Αλήθεια?": "Τι στέλνουμε την Παρασκευή?",
		"है ना?": "हम शुक्रवार को क्या भेजेंगे?", "정말이에요?": "우리는 금요일에 무엇을 보내나요?", "حقا؟": "ماذا نرسل يوم الجمعة؟", "ПОНЯТНО?": "А ЭТО МЫ ЗНАЕМ?",
		"真的吗？": "我们星期五发什么货？", "本当？": "いつ出荷しますか？", "ใช่ไหม?": "วันศุกร์เราจะส่งอะไร?"} {
		for text, want := range map[string]int{short: 0, long: 1} {
			if got := Questions([]Line{{Text: text}}); len(got) != want {
				t.Errorf("%s: %d questions, want %d", text, len(got), want)
			}
		}
	}
}

// TestChaptersOfRealMeetings measures the chapters of meetings whose subjects people have
// marked: how often two moments half a chapter apart are rightly said to be in one
// chapter or in two (Pk, Beeferman 1999), and how often the number of chapters that begin
// between them is right (WindowDiff, Pevzner 2002), beside those of as many chapters of
// even lengths and of none. Smaller is better.
func TestChaptersOfRealMeetings(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := testrun.Corpus(t)
	var ours, even, none, difference, evenDifference, noneDifference, meetings, hidden float64
	read := 0
	english := text.NewLanguages().Get("en").StopWords
	err := corpus.EachLine(filepath.Join(dir, "qmsum.ndjson.gz"), func(raw []byte) error {
		if read++; read%4 != 0 { // a part tells as much
			return nil
		}
		var m api.Meeting
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		lines, marked := fromMeeting(&m)
		if len(marked) < 3 {
			return nil
		}
		chapters, source := Chapters(lines, nil, english)
		if source != FromTalk {
			hidden++
			return nil
		}
		found, spread := []int{}, []int{}
		for i, c := range chapters {
			found = append(found, c.Line)
			spread = append(spread, i*len(lines)/len(chapters))
		}
		meetings++
		ours += pk(marked, found, len(lines))
		even += pk(marked, spread, len(lines))
		none += pk(marked, []int{0}, len(lines))
		difference += windowDiff(marked, found, len(lines))
		evenDifference += windowDiff(marked, spread, len(lines))
		noneDifference += windowDiff(marked, []int{0}, len(lines))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Pk of %.0f meetings: %.3f; even lengths %.3f; no chapters %.3f; hidden in %.0f more", meetings, ours/meetings, even/meetings, none/meetings, hidden)
	t.Logf("WindowDiff: %.3f; even lengths %.3f; no chapters %.3f", difference/meetings, evenDifference/meetings, noneDifference/meetings)
	if !(ours < even && ours < none && difference < evenDifference) {
		t.Error("even lengths, or none, are as good")
	}
}

// fromMeeting returns the lines of a meeting and those at which marked subjects begin.
func fromMeeting(m *api.Meeting) (lines []Line, marked []int) {
	for _, e := range m.Transcript.Or(nil) {
		at, err := api.ParseOffset(e.Timestamp)
		if err == nil {
			lines = append(lines, Line{At: at, Speaker: e.Speaker.DisplayName, Text: e.Text})
		}
	}
	if len(lines) == 0 {
		return nil, nil
	}
	for _, h := range m.Highlights.Or(nil) {
		marked = append(marked, lineAt(lines, time.Duration(h.StartTime*float64(time.Second))))
	}
	slices.Sort(marked)
	return lines, slices.Compact(marked)
}

// windowDiff returns the share of pairs of lines, half a marked chapter apart, between
// which the two divisions begin different numbers of chapters.
func windowDiff(want, got []int, lines int) float64 {
	return shareOfPairs(want, lines, func(line, next int) bool {
		return chapter(want, next)-chapter(want, line) != chapter(got, next)-chapter(got, line)
	})
}

// pk returns the share of pairs of lines, half a marked chapter apart, that one division
// separates and the other does not.
func pk(want, got []int, lines int) float64 {
	return shareOfPairs(want, lines, func(line, next int) bool {
		return (chapter(want, line) == chapter(want, next)) != (chapter(got, line) == chapter(got, next))
	})
}

// shareOfPairs returns how often isWrong says so of two lines that are half a chapter of
// marked apart.
func shareOfPairs(marked []int, lines int, isWrong func(line, next int) bool) float64 {
	k := max(1, lines/len(marked)/2)
	wrong := 0
	for line := range lines - k {
		if isWrong(line, line+k) {
			wrong++
		}
	}
	return float64(wrong) / float64(max(1, lines-k))
}

// chapter returns how many chapters have begun at a line.
func chapter(starts []int, line int) int {
	i, found := slices.BinarySearch(starts, line)
	if found {
		i++
	}
	return i
}
