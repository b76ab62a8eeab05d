package captions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"

	"minutebook/internal/phrase"
	"minutebook/internal/testrun"
)

// written writes captions as "0.5-2 Ada: text" on lines.
func written(captions []Caption) string {
	var b strings.Builder
	for _, c := range captions {
		fmt.Fprintf(&b, "%v-%v %s: %s\n", c.Start.Seconds(), c.End.Seconds(), c.Speaker, c.Text)
	}
	return b.String()
}

func TestFormatsOfOtherPrograms(t *testing.T) {
	testrun.SkipUnderRace(t)
	long := "WEBVTT - made by a program\nKind: captions\nLanguage: en\n\nNOTE\na remark --> of no use\n\nSTYLE\n::cue { color: red }\n\n"
	for _, c := range []struct{ name, file, text, want string }{
		{"voices", "a.vtt", long + "intro\n00:00.500 --> 00:00:02.000 align:start position:0%\n<v.loud Ada Lovelace>Good &amp; early</v>\n<v Ben>Yes,\n<i>indeed</i>.</v>\n\n" +
			"100:00:03.000 --> 100:00:04.000\nnobody", "0.5-2 Ada Lovelace: Good & early\n0.5-2 Ben: Yes, indeed.\n360003-360004 : nobody\n"},
		{"names", "a.vtt", "WEBVTT\r\n\r\n1\r\n00:00:16.239 --> 00:00:27.079\r\nAda Lovelace: Good morning: all.\r\n\r\n2\r\n00:00:27.100 --> 00:00:28.000\r\nand you\r\n",
			"16.239-27.079 Ada Lovelace: Good morning: all.\n27.1-28 Ada Lovelace: and you\n"},
		{"a colon is no name", "a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nListen: it rains\n\n00:02.000 --> 00:03.000\nso what\n\n00:03.000 --> 00:04.000\nwe go\n",
			"1-2 : Listen: it rains\n2-3 : so what\n3-4 : we go\n"},
		{"subrip", "a.SRT", "\ufeff1\n00:00:01,000 --> 00:00:02,500  X1:40 X2:600\n{\\an8}<font color=red>[SPEAKER_00]: Hello\nworld</font>\n\n2\n00:00:02,500 --> 00:00:03,000\n[SPEAKER_01]: Hi\n\nafter an empty line\n\n3\n",
			"1-2.5 SPEAKER_00: Hello world\n2.5-3 SPEAKER_01: Hi after an empty line\n"},
		{"lines of a space", "a.vtt", "WEBVTT\n \n00:01.000 --> 00:02.000\n \ngood<00:01.500><c> morning</c>\n \n\n00:02.000 --> 00:03.000\nall\n \nof you\n \nname\n00:03.000 --> 00:04.000\nend\n\t\n",
			"1-2 : good morning\n2-3 : all of you\n3-4 : end\n"},
		{"numbers that compare", "a.srt", "1\n00:00:01,000 --> 00:00:02,000\nbelow < 3 and <b>above</b> > 5\n", "1-2 : below < 3 and above > 5\n"},
		{"whisperx", "a.json", `{"segments": [{"start": 0.009, "end": 1.2, "text": " Hello", "speaker": "SPEAKER_00", "words": [{"word": "Hello"}]}, {"text": "then", "speaker": "SPEAKER_01"}], "word_segments": [], "language": "en"}`,
			"0.009-1.2 SPEAKER_00: Hello\n1.2-1.2 SPEAKER_01: then\n"},
		{"whisper.cpp", "a.json", `{"systeminfo": "", "result": {"language": "de"}, "transcription": [{"timestamps": {"from": "00:00:00,000", "to": "00:00:01,500"}, "offsets": {"from": 0, "to": 1500}, "text": " Guten Tag"}]}`,
			"0-1.5 : Guten Tag\n"},
	} {
		got, err := Parse(c.file, []byte(c.text))
		if err != nil || written(got.Captions) != c.want {
			t.Errorf("%s: %v\n%s", c.name, err, written(got.Captions))
		}
	}
	if got, err := Parse("a.vtt", utf16Bytes("WEBVTT\n\n00:01.000 --> 00:02.000\nüber\n")); err != nil || got.Captions[0].Text != "über" {
		t.Errorf("UTF-16: %+v, %v", got, err)
	}
	const whisper = `{"segments": [{"start": 1, "end": 2, "text": "über"}]}`
	for name, content := range map[string][]byte{"UTF-8": []byte("\ufeff" + whisper), "UTF-16": utf16Bytes(whisper)} {
		if got, err := Parse("a.json", content); !IsWhisper(bytes.NewReader(content)) || err != nil || got.Captions[0].Text != "über" {
			t.Errorf("JSON in %s: %+v, %v", name, got, err)
		}
	}
}

func utf16Bytes(text string) []byte {
	b := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		b = append(b, byte(unit), byte(unit>>8))
	}
	return b
}

func TestErrorsNameTheLine(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, c := range []struct{ file, text, want string }{
		{"a.vtt", "1\n00:01.000 --> 00:02.000\na\n", "line 1: a WebVTT file begins with WEBVTT"},
		{"a.vtt", "WEBVTT\n\n00:01.000 -> 00:02.000\na\n", "line 4: here should be times"},
		{"a.vtt", "WEBVTT\n\nname\n00:01.000 --> 00:72.000\na\n", `line 4: "00:72.000" has more than 59`},
		{"a.vtt", "WEBVTT\n\n00:03.000 --> 00:02.000\na\n", "line 3: it ends at 00:02.000, before"},
		{"a.srt", "1\n00:00:01,000 --> 9999:00:02,000\na\n", "line 2: \"9999:00:02,000\" is later than any recording"},
		{"a.srt", "hello\n", "line 1: here should be times"},
		{"a.srt", "1\n00:00:01,000 --> 00:00:02,000\ncaf\xe9\n", "line 3: it is not UTF-8"},
		{"a.srt", "", "line 1: nobody says anything"},
		{"a.srt", "1\n00:00:01,000 --> 00:00:02,000\n<i> - </i>\n", "line 1: nobody says anything"},
		{"a.json", "{\"segments\": [\n{\"text\": }]}", "line 2: here it is no JSON any more"},
		{"a.json", "{\"segments\": [\n{\"start\": 1, \"end\": \"late\"}]}", "line 2: segments[0].end is a JSON string"},
		{"a.json", `{"segments": [{"start": 2, "end": 1, "text": "a"}]}`, "segments[0]: it lasts from 2 to 1"},
		{"a.json", `{"transcription": [{"offsets": {"from": -5, "to": 1}, "text": "a"}]}`, "transcription[0]: it lasts from"},
		{"a.txt", "a", ".txt: no transcript"},
	} {
		_, err := Parse(c.file, []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %q: %v, not %s", c.file, c.text, err, c.want)
		}
	}
}

func TestWhisperIsToldFromMeetings(t *testing.T) {
	testrun.SkipUnderRace(t)
	for text, want := range map[string]bool{
		`{"text": "a", "segments": []}`: true, `{"result": {"segments": []}, "transcription": [`: true,
		`{"recording_id": 1, "segments": []}`: false, `[{"segments": []}]`: false, `{"segments": {}}`: false, `{"a": 1`: false, ``: false, `{]`: false,
	} {
		if IsWhisper(strings.NewReader(text)) != want {
			t.Errorf("%s: not %t", text, want)
		}
	}
}

// TestReadingTakesFewCopies has files that are mostly empty lines, one caption in many
// blocks, one cue of many speakers, and words that are not kept. It counts the bytes that
// reading them allocates.
func TestReadingTakesFewCopies(t *testing.T) {
	testrun.SkipUnderRace(t)
	const size = 1 << 20
	fill := func(head, part, tail string) string { return head + strings.Repeat(part, size/len(part)) + tail }
	for _, c := range []struct {
		file, text string
		copies     int
	}{
		{"empty.vtt", fill("WEBVTT\n\n00:01.000 --> 00:02.000\na\n", "\n", ""), 2},
		{"blocks.srt", fill("1\n00:00:01,000 --> 00:00:02,000\na\n\n", "b c d e f g h\n\n", ""), 40},
		{"cue.vtt", fill("WEBVTT\n\n00:01.000 --> 00:02.000\n", "a b c d e f g h i\n", ""), 40},
		{"words.json", fill(`{"segments": [{"text": "a", "words": [{"w": 1}`, `,{"word": "a", "start": 1.25}`, `]}]}`), 2},
		{"none.json", fill(`{"segments": [{"text": "a"}`, `,{}`, `]}`), 0},
		{"short.vtt", fill("WEBVTT\n\n", "0:0 --> 0:0\na\n\n", ""), 60},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse(c.file, []byte(c.text))
		runtime.ReadMemStats(&after)
		copies := (after.TotalAlloc - before.TotalAlloc) / size
		if c.copies == 0 {
			if !errors.Is(err, errTooMany) {
				t.Errorf("%s: %v", c.file, err)
			}
		} else if err != nil || copies > uint64(c.copies) {
			t.Errorf("%s: %d copies, %v", c.file, copies, err)
		}
	}
	for name, text := range map[string]string{
		"a.srt":  strings.Repeat("0:0 --> 0:0\na\n\n", maxCaptions+1),
		"b.vtt":  "WEBVTT\n\n0:0 --> 0:0\n" + strings.Repeat("<v a>b", maxCaptions+1),
		"c.json": `{"segments": [{"text": "` + strings.Repeat("a ", maxText/2+1) + `"}]}`,
	} {
		if _, err := Parse(name, []byte(text)); !errors.Is(err, errTooMany) && !errors.Is(err, errTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// drawCaptions draws captions that every format can carry.
func drawCaptions(t *rapid.T) []Caption {
	word := rapid.StringMatching(`[a-zäß&<{0-9][a-zß>}.:'-]{0,8}`)
	at := time.Duration(0)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Caption {
		at += time.Duration(rapid.IntRange(0, 5000).Draw(t, "gap")) * time.Millisecond
		c := Caption{Start: at, End: at + time.Duration(rapid.IntRange(0, 9000).Draw(t, "lasts"))*time.Millisecond}
		c.Speaker = rapid.SampledFrom([]string{"Ada Lovelace", "Ben & Co", "SPEAKER_07"}).Draw(t, "speaker")
		c.Text = "x " + strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, "words"), " ")
		c.Text = strings.TrimSpace(c.Text)
		return c
	}), 1, 12).Draw(t, "captions")
}

// render writes captions in a format, as programs do.
func render(captions []Caption, format string) []byte {
	var b bytes.Buffer
	stamp := func(d time.Duration, point string) string {
		ms := d.Milliseconds()
		return fmt.Sprintf("%02d:%02d:%02d%s%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, point, ms%1000)
	}
	type segment map[string]any
	segments := []segment{}
	if format == ".vtt" {
		b.WriteString("WEBVTT\n\n")
	}
	for i, c := range captions {
		switch format {
		case ".vtt":
			fmt.Fprintf(&b, "%s --> %s\n<v %s>%s\n\n", stamp(c.Start, "."), stamp(c.End, "."), html.EscapeString(c.Speaker), html.EscapeString(c.Text))
		case ".srt":
			fmt.Fprintf(&b, "%d\n%s --> %s\n%s: %s\n\n", i+1, stamp(c.Start, ","), stamp(c.End, ","), c.Speaker, html.EscapeString(c.Text))
		case ".json":
			segments = append(segments, segment{"start": c.Start.Seconds(), "end": c.End.Seconds(), "text": " " + c.Text, "speaker": c.Speaker})
		}
	}
	if format == ".json" {
		json.NewEncoder(&b).Encode(segment{"segments": segments})
	}
	return b.Bytes()
}

func TestEveryFormatReadsBack(t *testing.T) {
	testrun.SkipUnderRace(t)
	rapid.Check(t, func(t *rapid.T) {
		captions := drawCaptions(t)
		for _, format := range Extensions() {
			got, err := Parse("a"+format, render(captions, format))
			if err != nil || !slices.Equal(got.Captions, captions) {
				t.Fatalf("%s: %v\n%s\n%s", format, err, written(got.Captions), written(captions))
			}
		}
		joined := Transcript{Captions: captions}.Utterances()
		if words(joined) != words(captions) || len(joined) > len(captions) {
			t.Fatalf("words were lost: %q", words(joined))
		}
	})
}

// words returns who says which words.
func words(captions []Caption) string {
	var all []string
	for _, c := range captions {
		for _, word := range strings.Fields(c.Text) {
			all = append(all, c.Speaker+"/"+word)
		}
	}
	return strings.Join(all, " ")
}

func FuzzParse(f *testing.F) {
	testrun.SkipUnderRace(f)
	for _, text := range []string{"WEBVTT\n\n00:01.000 --> 00:02.000\n<v A>a\n", "1\n00:00:01,000 --> 00:00:02,000\nA: a\n\nb\n",
		`{"segments":[{"start":1,"end":2,"text":"a","speaker":"b"}]}`, `{"transcription":[{"offsets":{"from":1,"to":2},"text":"a"}]}`, "\xff\xfeW\x00"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, format := range Extensions() {
			got, err := Parse("a"+format, content)
			if bad, ok := errors.AsType[*LineError](err); ok && (bad.Line < 1 || bad.Line > 1+bytes.Count(content, []byte("\n"))+bytes.Count(content, []byte("\r"))) {
				t.Fatalf("%s: %v of %d bytes", format, err, len(content))
			}
			if err != nil {
				continue
			}
			for i, c := range got.Captions {
				if i > 0 && c.Start < got.Captions[i-1].Start || c.End < c.Start || c.Start < 0 || c.Text != phrase.OneLine(c.Text) || !strings.ContainsFunc(c.Text, isSpoken) {
					t.Fatalf("%s: caption %d is %+v", format, i, c)
				}
			}
			if len(got.Captions) == 0 || words(got.Utterances()) != words(got.Captions) {
				t.Fatalf("%s: %d captions, %q", format, len(got.Captions), words(got.Utterances()))
			}
		}
	})
}
