package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// fenced returns the lines as they are, in a block of code.
func fenced(lines string) string {
	return "```\n" + strings.Trim(lines, "\n") + "\n```"
}

// relevanceTable is of bench/relevance, which prints it.
func relevanceTable(output string) (string, error) {
	_, err := find(`(?m)^Minutebook, kept aside +\d+ `, output)
	return fenced(output), err
}

// slowestQuery matches a line of bench/search with the query that took longest, behind the
// figures: its words are those of a meeting, which the page is not to have.
var slowestQuery = regexp.MustCompile(`(?m)^(.{26,}? +\d+ +\d+% +[\d.]+ +[\d.]+(?: {2,10}[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+)?) .*$`)

// searchTable is of bench/search: all its lines, without the queries.
func searchTable(output string) (string, error) {
	if _, err := find(`(?m)^private memory: `, output); err != nil {
		return "", err
	}
	lines := slowestQuery.ReplaceAllString(output, "$1")
	return fenced(regexp.MustCompile(`(?m) +(?:slowest)?$`).ReplaceAllString(lines, "")), nil
}

// serviceTable is of bench/service, which prints it.
func serviceTable(output string) (string, error) {
	_, err := find(`(?m)^walk of \d+ pages, its last tenth: `, output)
	return fenced(output), err
}

// signedTable is of the requests of the owner, of who is signed in, and of who is so among
// many people.
func signedTable(output string) (string, error) {
	values, _ := benchmarks(output)
	var b strings.Builder
	b.WriteString("| page | the owner's, µs | of somebody signed in, µs | among 10,000 people, µs |\n| --- | --- | --- | --- |\n")
	for _, page := range []string{"help", "list", "meeting", "suggestions", "search", "actions"} {
		row := []string{page}
		for _, who := range []string{"owner", "person", "crowd"} {
			figure := values["SignedIn "+who+"/"+page+"-µs"]
			if figure == "" {
				return "", fmt.Errorf("%w: %s of %s", errNoFigures, page, who)
			}
			row = append(row, figure)
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	session, err := strconv.ParseFloat(values["Session ns/op"], 64)
	if err != nil {
		return "", fmt.Errorf("%w: Session", errNoFigures)
	}
	fmt.Fprintf(&b, "\nWithout a peer: among so many people and 100,000 sessions, a session is found in %.3f ms; a sign-in by password takes %s ms of processor time, and who of all may not enter %s ms.\n",
		session/1e6, short(values["SignedIn cpu-ms/sign-in"]), short(values["SignedIn cpu-ms/standing-of-all"]))
	return b.String(), nil
}

// readingTable is of bench/archive: the operations without a peer, and memory beside that of a
// tenth of the meetings.
func readingTable(output string) (string, error) {
	values, names := benchmarks(output)
	var b strings.Builder
	b.WriteString("| | measured |\n| --- | --- |\n")
	for _, row := range [][2]string{
		{"opening 100,000 meetings without transcripts, at most of twenty times, ms", "Open p100-ms"},
		{"one meeting whole, p50, ms", "ReadMeeting p50-ms"},
		{"one meeting whole, p99, ms", "ReadMeeting p99-ms"},
		{"`export --format md`, seconds", "Export s"},
		{"the same once more with nothing changed, seconds", "Export again-s"},
	} {
		if values[row[1]] == "" {
			return "", fmt.Errorf("%w: %s", errNoFigures, row[1])
		}
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], short(values[row[1]]))
	}
	b.WriteString("\n| all to a tenth | the most that a process had resident | a tenth of the meetings, MB | all, MB |\n| --- | --- | --- | --- |\n")
	for _, name := range names {
		if operation, ok := strings.CutPrefix(name, "Memory/"); ok {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", short(values[name+" ratio"]), operation, short(values[name+" MB-of-a-tenth"]), short(values[name+" MB-of-all"]))
		}
	}
	return b.String(), nil
}
