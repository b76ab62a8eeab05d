package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// errNoFigures is the error of an output without the figures that a table needs.
var errNoFigures = errors.New("no figures")

// find returns the groups of a pattern, and an error where it is not there.
func find(pattern, output string) ([]string, error) {
	found := regexp.MustCompile(pattern).FindStringSubmatch(output)
	if found == nil {
		return nil, fmt.Errorf("%w: %s", errNoFigures, pattern)
	}
	return found, nil
}

// receiverLine matches a line of bench/receiver that the page has as it is.
var receiverLine = regexp.MustCompile(`^(?:half load |  and backfill, |acknowledged to found |refused, |beside )`)

// receiverTable is of bench/receiver: the stores beside each other.
func receiverTable(output string) (string, error) {
	full, err := find(`acknowledged/s +(\d+) +of +(\d+) without storing`, output)
	if err != nil {
		return "", err
	}
	bare, err := find(`(\d+)/s with append and fsync: ratio ([\d.]+); +(\d+)/s with a bare SQLite row: ratio ([\d.]+)`, output)
	if err != nil {
		return "", err
	}
	ours, _ := strconv.ParseFloat(full[1], 64)
	bound, _ := strconv.ParseFloat(full[2], 64)
	var b strings.Builder
	fmt.Fprintf(&b, "| ours to it | | a second |\n| --- | --- | --- |\n| 1 | **the inbox** | %s |\n| %.2f | nothing is stored (the bound) | %s |\n", full[1], ours/bound, full[2])
	fmt.Fprintf(&b, "| %s | appended to a file and synced, for each | %s |\n| %s | a bare SQLite row for each, synced | %s |\n\n```\n", bare[2], bare[1], bare[4], bare[3])
	for line := range strings.Lines(output) {
		if receiverLine.MatchString(line) {
			b.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		}
	}
	return b.String() + "```", nil
}

// peersTable is of bench/peers, which prints it.
func peersTable(output string) (string, error) {
	_, err := find(`(?m)^\| queries`, output)
	return output, err
}

// restTable is of bench/rest, which prints it.
func restTable(output string) (string, error) {
	_, err := find(`(?m)^\| 15m0s \|`, output)
	return output, err
}

// upgradeTable is of bench/upgrade, which prints it.
func upgradeTable(output string) (string, error) {
	_, err := find(`(?m)^\| [\d.]+ \| the next start \|`, output)
	return output, err
}

var firstSentence = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: first sentence from the files of ([\w ]+): (\d+) commands, (\d+) fields of forms, (\d+) keys, ([\d.]+) s$`)

// installed is the log line of the package's installation in a Debian that systemd has started.
var installed = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: installation of the package: ([\d.]+) s$`)

// keysInASecond are 40 words of five letters in a minute.
const keysInASecond = 40 * 5 / 60.0

// firstTable is of the test that finds the first sentence.
func firstTable(output string) (string, error) {
	var b strings.Builder
	b.WriteString("| from the files of | commands | fields of forms | keys | to type them, s | to install, s | the rest, s | together, s |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	ways := firstSentence.FindAllStringSubmatch(output, -1)
	if ways == nil {
		return "", errNoFigures
	}
	for _, m := range ways {
		keys, _ := strconv.ParseFloat(m[4], 64)
		rest, _ := strconv.ParseFloat(m[5], 64)
		typed, install := keys/keysInASecond, "not measured"
		together := typed + rest
		if found := installed.FindStringSubmatch(output); found != nil && m[1] == "the package" {
			seconds, _ := strconv.ParseFloat(found[1], 64)
			install, together = found[1], together+seconds
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.0f | %s | %s | %.0f |\n", m[1], m[2], m[3], m[4], typed, install, m[5], together)
	}
	return b.String(), nil
}

// processors matches their number behind the name of a benchmark, which is there from two on.
var processors = regexp.MustCompile(`-\d+$`)

// benchmarks returns the figures of benchmarks by name and unit, such as "Frames plain-p95-ms",
// and the names in their order.
func benchmarks(output string) (values map[string]string, names []string) {
	values = map[string]string{}
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(words[0], "Benchmark")
		name = processors.ReplaceAllString(name, "")
		names = append(names, name)
		for i := 2; i+1 < len(words); i += 2 {
			values[name+" "+words[i+1]] = words[i]
		}
	}
	return values, names
}

// pageTable is of the benchmarks of the page.
func pageTable(output string) (string, error) {
	values, names := benchmarks(output)
	var b strings.Builder
	b.WriteString("| page | first load, kB | first text, ms | next page, kB | first text, ms |\n| --- | --- | --- | --- | --- |\n")
	for _, name := range names {
		page, ok := strings.CutPrefix(name, "FirstPaint/")
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", page, kilobytes(values[name+" first-bytes"]), short(values[name+" first-ms"]), kilobytes(values[name+" next-bytes"]), short(values[name+" next-ms"]))
	}
	if values["Frames plain-p95-ms"] == "" || values["FirstPaint/home next-ms"] == "" {
		return "", errNoFigures
	}
	b.WriteString("\n| ours to it | 5,000 entries, the 95th of 100 frames | ours, ms | plain, ms |\n| --- | --- | --- | --- |\n")
	for _, mode := range []string{"scroll", "follow"} {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", short(values["Frames "+mode+"/plain"]), mode, short(values["Frames "+mode+"-p95-ms"]), short(values["Frames plain-p95-ms"]))
	}
	return b.String(), nil
}

// kilobytes writes a number of bytes in thousands.
func kilobytes(bytes string) string {
	n, err := strconv.ParseFloat(bytes, 64)
	if err != nil {
		return bytes
	}
	return fmt.Sprintf("%.1f", n/1000)
}

// archiveTable is of bench/archive.
func archiveTable(output string) (string, error) {
	values, _ := benchmarks(output)
	var b strings.Builder
	b.WriteString("| ours to it | | ours | peer |\n| --- | --- | --- | --- |\n")
	for _, row := range [][]string{
		{"Apply/batch=10 ratio", "apply in batches of 10, meetings a second", "Apply/batch=10 meetings/s", "Apply/batch=10 bare-meetings/s", "the same JSON as rows of a bare SQLite table"},
		{"Apply/batch=100 ratio", "apply in batches of 100", "Apply/batch=100 meetings/s", "Apply/batch=100 bare-meetings/s", "likewise"},
		{"Backup first-ratio", "first backup, which reads back all that it wrote, seconds", "Backup first-s", "Backup restic-first-s", "`restic backup` of the same databases"},
		{"Backup second-ratio", "second backup, nothing has changed, seconds", "Backup second-s", "Backup restic-second-s", "`restic backup`"},
		{"Backup verify-ratio", "`verify`, which derives every row again and compares, seconds", "Backup verify-s", "Backup restic-check-s", "`restic check --read-data`"},
	} {
		ratio, ours, peer := values[row[0]], values[row[2]], values[row[3]]
		if ratio == "" || ours == "" || peer == "" {
			return "", fmt.Errorf("%w: %s", errNoFigures, row[0])
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s: %s |\n", short(ratio), row[1], short(ours), short(peer), row[4])
	}
	fmt.Fprintf(&b, "\nWithout a peer: the database of the real meetings takes %s times the bytes of their text, and %s of their JSON.\n",
		short(values["CorpusSize size/text"]), short(values["CorpusSize size/json"]))
	return b.String(), nil
}

// short writes a number with three figures.
func short(number string) string {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	if n >= 100 {
		return fmt.Sprintf("%.0f", n)
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}

var (
	atLeast = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: (.*?)(?:: \d+ heavy calls,|:) (\S+) of at least (\S+) \(([\d.]+)\)(.*)$`)
	byCurl  = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: (\d+ recordings of \d+ MB): ([\d.]+) s, by curl ([\d.]+) s \(([\d.]+)\)$`)
)

// syncTable is of bench/sync, whose figures are log lines of tests.
func syncTable(output string) (string, error) {
	var b strings.Builder
	b.WriteString("| ours to it | | ours | peer |\n| --- | --- | --- | --- |\n")
	bounds, curl := atLeast.FindAllStringSubmatch(output, -1), byCurl.FindStringSubmatch(output)
	if bounds == nil {
		return "", errNoFigures
	}
	for _, m := range bounds {
		fmt.Fprintf(&b, "| %s | %s | %s | %s: the least that the limits or the line allow |\n", m[4], m[1], m[2], m[3])
	}
	if curl != nil {
		fmt.Fprintf(&b, "| %s | %s | %s s | %s s: `curl`, and the sync of its file |\n", curl[4], curl[1], curl[2], curl[3])
	}
	return b.String(), nil
}
