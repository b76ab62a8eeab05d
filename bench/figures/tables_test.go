package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"text/template"
)

// The outputs are as the measurements print them.
func TestTables(t *testing.T) {
	for name, c := range map[string]struct {
		table  func(string) (string, error)
		output string
		want   []string
	}{
		"receiver": {receiverTable, "acknowledged/s            1123  of     1530 without storing: ratio 0.73 (at least 0.60)\n" +
			"       430/s with append and fsync: ratio 2.61;      435/s with a bare SQLite row: ratio 2.58\n" +
			"half load                  560/s  p50    2.9 ms  p99   39.0 ms (under 100)  memory   81 MB (under 256)\n" +
			"  and backfill, rebuild    560/s  p50    4.1 ms  p99   58.0 ms (under 100)  memory  149 MB (under 256)\n" +
			"acknowledged to found       10/s  p50  149.0 ms  p99  900.0 ms (under 1000)  memory   90 MB (under 256)\n",
			[]string{"| 1 | **the inbox** | 1123 |", "| 0.73 | nothing is stored (the bound) | 1530 |", "| 2.61 | appended to a file and synced, for each | 430 |", "half load 560/s p50 2.9 ms",
				"and backfill, rebuild 560/s p50 4.1 ms", "acknowledged to found 10/s p50 149.0 ms"}},
		"archive": {archiveTable, "goos: linux\nBenchmarkApply/batch=10-2 \t 1\t 14400000000 ns/op\t 561.2 bare-meetings/s\t 69.41 meetings/s\t 0.1237 ratio\n" +
			"BenchmarkApply/batch=100-2 \t 1\t 1 ns/op\t 1343 bare-meetings/s\t 52.0 meetings/s\t 0.0387 ratio\n" +
			"BenchmarkBackup-2 \t 1\t 1 ns/op\t 0.55 first-ratio\t 8.6 first-s\t 4.4 restic-check-s\t 15.4 restic-first-s\t 1.6 restic-second-s\t 8.5 second-ratio\t 14.0 second-s\t 9.3 verify-ratio\t 40.6 verify-s\n" +
			"BenchmarkCorpusSize-2 \t 1\t 1 ns/op\t 0.8212 size/json\t 1.884 size/text\n",
			[]string{"| 0.124 | apply in batches of 10, meetings a second | 69.4 | 561: the same", "| 0.55 | first backup", "takes 1.88 times the bytes of their text, and 0.821 of their JSON"}},
		"sync": {syncTable, "    figures_test.go:127: API key, 10000 meetings, fixed window: 1000 heavy calls, 34m24s of at least 33m20s (1.032), 0 answers 429\n" +
			"    downloads_test.go:57: 40 recordings, 100 an hour, fixed window: 24m30s of at least 24m0s (1.021), 40 download requests (1.000 each), 0 links lapsed\n" +
			"    curl_test.go:40: 3 recordings of 256 MB: 17.11 s, by curl 10.29 s (1.66)\n",
			[]string{"| 1.032 | API key, 10000 meetings, fixed window | 34m24s | 33m20s", "| 1.021 | 40 recordings, 100 an hour, fixed window | 24m30s |", "| 1.66 | 3 recordings of 256 MB | 17.11 s | 10.29 s: `curl`"}},
		"first": {firstTable, "    first_sentence_test.go:67: first sentence from the files of the package: 3 commands, 2 fields of forms, 200 keys, 1.4 s\n" +
			"    first_sentence_test.go:67: first sentence from the files of the container: 2 commands, 4 fields of forms, 300 keys, 1.6 s\n" +
			"    systemd_long_test.go:90: installation of the package: 3.5 s\n",
			[]string{"| the package | 3 | 2 | 200 | 60 | 3.5 | 1.4 | 65 |", "| the container | 2 | 4 | 300 | 90 | not measured | 1.6 | 92 |"}},
		"rest":    {restTable, "| 7 meetings, after the start | resident, MB |\n| --- | --- |\n| 15m0s | 90 |\n", []string{"| 15m0s | 90 |"}},
		"upgrade": {upgradeTable, "| to the peer | 7 meetings | seconds |\n| --- | --- | --- |\n| 0.010 | the next start | 0.1 | 60 |\n", []string{"| 0.010 | the next start | 0.1 |"}},
		"page": {pageTable, "BenchmarkFrames-2 \t 1\t 13848358344 ns/op\t 16.80 follow-p95-ms\t 1.000 follow/plain\t 16.80 plain-p95-ms\t 16.70 scroll-p95-ms\t 0.9940 scroll/plain\n" +
			"BenchmarkFirstPaint/home-2 \t 1\t 1 ns/op\t 79493 first-bytes\t 164.0 first-ms\t 6810 next-bytes\t 124.0 next-ms\n",
			[]string{"| home | 79.5 | 164 | 6.8 | 124 |", "| 0.994 | scroll | 16.7 | 16.8 |", "| 1 | follow | 16.8 | 16.8 |"}},
	} {
		got, err := c.table(c.output)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, line := range c.want {
			if !strings.Contains(got, line) {
				t.Errorf("%s lacks %q:\n%s", name, line, got)
			}
		}
		if _, err := c.table("FAIL"); err == nil {
			t.Errorf("%s: an output without figures makes a table", name)
		}
	}
}

func TestPageHasEveryTable(t *testing.T) {
	f := figures{Meetings: 7, Command: map[string]string{}, Table: map[string]string{}}
	for _, m := range measurements(7) {
		f.Command[m.name], f.Table[m.name] = m.line(), "the table of "+m.name
	}
	var b strings.Builder
	if err := template.Must(template.New("page").Parse(page)).Execute(&b, f); err != nil {
		t.Fatal(err)
	}
	for _, m := range measurements(7) {
		if !strings.Contains(b.String(), f.Table[m.name]) || !strings.Contains(b.String(), m.line()) {
			t.Errorf("the page lacks the table or the command of %s", m.name)
		}
	}
}

// TestPageHasTheSentencesOfTheTemplate compares docs/benchmarks.md with the template: the next
// make bench would lose a sentence that the page alone has. A note stands behind the day of a
// table's run. A section whose figures the page has not yet says so.
func TestPageHasTheSentencesOfTheTemplate(t *testing.T) {
	written, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^.+$`)
	table := regexp.MustCompile("^(?:(?:\\||Built from |Without a peer: ).*\n|```\n(?s:.*?)\n```\n|\n)+Measured on .+(?:\n.+)*$|^The next `make bench` writes these figures\\.$")
	fields := regexp.MustCompile(`\{\{.*?\}\}`).FindAllString(page, -1)
	rest, at := string(written), line
	for i, sentences := range regexp.MustCompile(`\{\{.*?\}\}`).Split(page, -1) {
		before, after, found := strings.Cut(rest, sentences)
		if i == len(fields) { // the end of the page is a line's end
			before, found = strings.CutSuffix(rest, sentences)
			after = ""
		}
		if !found {
			t.Fatalf("the page lacks, or has elsewhere: %s", sentences)
		}
		if i > 0 && !at.MatchString(before) || i == 0 && before != "" {
			t.Errorf("the page has a text of its own where the template has %s: %s", fields[i-1], before)
		}
		if rest, at = after, line; i < len(fields) && strings.HasPrefix(fields[i], "{{.Table.") {
			at = table
		}
	}
}
