// Figures runs the measurements and writes docs/benchmarks.md with them:
//
//	go run ./bench/figures [-meetings N] [-out FILE] [-only NAME,…]
//
// page.md.tmpl is the page: its sentences, and where each table stands. A measurement
// that fails leaves the page as it was. -only prints tables for the page, each with the day,
// the version and the load of its run.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/template"
	"time"
)

//go:embed page.md.tmpl
var page string

// measurement is a command and the table that its output becomes.
type measurement struct {
	name    string
	command []string
	env     []string
	table   func(output string) (string, error)
}

// measurements returns all of them, over so many meetings, but for a daemon at rest, whose
// limits are those beside 100,000.
func measurements(meetings int) []measurement {
	n, size := fmt.Sprint(meetings), "MINUTEBOOK_BENCH=small"
	if meetings >= 10_000 {
		size = "MINUTEBOOK_BENCH=full"
	}
	return []measurement{
		{"receiver", []string{"go", "run", "./bench/receiver", "-rounds", "3", "-time", "3s"}, nil, receiverTable},
		{"peers", []string{"go", "run", "./bench/peers", "-meetings", n}, nil, peersTable},
		{"search", []string{"go", "run", "./bench/search", "-meetings", n}, nil, searchTable},
		{"relevance", []string{"go", "run", "./bench/relevance"}, nil, relevanceTable},
		{"archive", []string{"go", "test", "./bench/archive", "-run", "^$", "-bench", "Apply$|Backup|CorpusSize", "-benchtime", "1x", "-args", "-meetings", n}, nil, archiveTable},
		{"reading", []string{"go", "test", "./bench/archive", "-run", "^$", "-bench", "Open|ReadMeeting|Export|Memory", "-benchtime", "1x", "-timeout", "60m", "-args", "-meetings", n}, nil, readingTable},
		{"service", []string{"go", "run", "./bench/service", "-meetings", n}, nil, serviceTable},
		{"sync", []string{"go", "test", "./bench/sync", "-count=1", "-run", "Figure", "-v"}, []string{size}, syncTable},
		{"first", []string{"go", "test", "./cmd/minutebook", "./packaging", "-count=1", "-run", "FirstSentence|ServiceUnderSystemd", "-v"}, []string{"MINUTEBOOK_LONG=1"}, firstTable},
		{"rest", []string{"go", "run", "./bench/rest"}, nil, restTable},
		{"upgrade", []string{"go", "run", "./bench/upgrade", "-meetings", n}, nil, upgradeTable},
		{"page", []string{"go", "test", "./web", "-run", "^$", "-bench", "Frames|FirstPaint", "-benchtime", "1x"}, nil, pageTable},
		{"signed", []string{"go", "test", "./web", "./web/access", "-run", "^$", "-bench", "SignedIn|Session", "-benchtime", "4s"}, nil, signedTable},
	}
}

// figures fill the page.
type figures struct {
	Meetings int
	Machine  machine
	Command  map[string]string
	Table    map[string]string
}

func main() {
	meetings := flag.Int("meetings", 1000, "how many meetings")
	out := flag.String("out", "docs/benchmarks.md", "the file")
	only := flag.String("only", "", "print the tables of these alone, with commas between")
	flag.Parse()
	if err := write(*meetings, *out, *only); err != nil {
		log.Fatal(err)
	}
}

func write(meetings int, out, only string) error {
	f := figures{Meetings: meetings, Machine: describeMachine(), Command: map[string]string{}, Table: map[string]string{}}
	for _, m := range measurements(meetings) {
		if only != "" && !slices.Contains(strings.Split(only, ","), m.name) {
			continue
		}
		began, loadBefore := time.Now(), load()
		table, err := m.run()
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", m.name, time.Since(began).Round(time.Second))
		f.Command[m.name] = m.line()
		f.Table[m.name] = fmt.Sprintf("%s\n\nMeasured on %s with version %s, under a load of %s at the beginning and %s at the end.",
			table, began.Format("2 January 2006"), f.Machine.Version, loadBefore, load())
		if only != "" {
			fmt.Println(f.Table[m.name])
		}
	}
	if only != "" {
		return nil
	}
	var b strings.Builder
	if err := template.Must(template.New("page").Parse(page)).Execute(&b, f); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(b.String()), 0o644)
}

// run runs the command and returns its table.
func (m measurement) run() (string, error) {
	c := exec.Command(m.command[0], m.command[1:]...)
	c.Env, c.Stderr = append(os.Environ(), m.env...), os.Stderr
	output, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	table, err := m.table(string(output))
	if err != nil {
		return "", fmt.Errorf("%w in:\n%s", err, output)
	}
	return strings.TrimSpace(table), nil
}

// line returns the command as a person types it.
func (m measurement) line() string {
	words := slices.Clone(m.env)
	for _, w := range m.command {
		if strings.ContainsAny(w, "$|^") {
			w = "'" + w + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}
