package main

import (
	"strings"
	"testing"
)

// The outputs are as the measurements print them; GOMAXPROCS is 1 in one of them.
func TestCosts(t *testing.T) {
	var signed strings.Builder
	signed.WriteString("BenchmarkSignedIn-2 \t 300\t 1 ns/op\t 41.00 cpu-ms/sign-in\t 55.00 cpu-ms/standing-of-all")
	for _, page := range []string{"help", "list", "meeting", "suggestions", "search", "actions"} {
		for _, who := range []string{"owner", "person", "crowd"} {
			signed.WriteString("\t 260.0 " + who + "/" + page + "-µs")
		}
	}
	signed.WriteString("\nBenchmarkSession-2 \t 200000\t 21013 ns/op\n")
	for name, c := range map[string]struct {
		table       func(string) (string, error)
		output      string
		want, never []string // texts
	}{
		"relevance": {relevanceTable, "                                   questions     first   of five    moment\nMinutebook, kept aside                   387     0.623     0.827     0.537\n",
			[]string{"```\n           ", "kept aside                   387     0.623"}, nil},
		"search": {searchTable, "7 meetings, about 0 MB of text; opened in 9ms, caught up after 1s (1.0 MB/s)\n" +
			"                            meetings  exact     p50     p99   p50 FTS5 p99 FTS5   p50 /   p99 /  slowest\n" +
			"common term                      998   100%     6.7    19.1      423.9    765.0   0.016   0.025  turbine\n" +
			"the page's whole answer          998   100%    18.6    30.3                                     2026 budget 7.1 8.2 9.3 1.1\n" +
			"search page, by who sees half     5123   100%    22.0    49.0                                     /?q=%22the+turbine%22\n" +
			"private memory: 5 kB without an index, 40 kB after the first answer, 29 kB idle\n",
			[]string{"opened in 9ms", "p99 /\n", "0.016   0.025\n", "18.6    30.3\n", "22.0    49.0\n", "private memory: 5 kB"}, []string{"turbine", "budget", "slowest"}},
		"service": {serviceTable, "ready after 1.2s\nwalk of 100 pages, its last tenth: 10 calls, p50 1.3ms, p99 4ms, most 5ms\n", []string{"```\nready after 1.2s\n"}, nil},
		"signed":  {signedTable, signed.String(), []string{"| suggestions | 260.0 | 260.0 | 260.0 |", "found in 0.021 ms; a sign-in by password takes 41 ms", "may not enter 55 ms"}, nil},
		"reading": {readingTable, "BenchmarkOpen \t 1\t 1 ns/op\t 2.100 p100-ms\t 1.400 p50-ms\nBenchmarkReadMeeting \t 1\t 1 ns/op\t 1.000 p50-ms\t 2.400 p99-ms\n" +
			"BenchmarkExport \t 1\t 1 ns/op\t 10.80 again-s\t 12.60 s\nBenchmarkMemory/export-md \t 1\t 1 ns/op\t 43.00 MB-of-a-tenth\t 58.00 MB-of-all\t 1.349 ratio\n",
			[]string{"| one meeting whole, p99, ms | 2.4 |", "| the same once more with nothing changed, seconds | 10.8 |", "| 1.35 | export-md | 43 | 58 |"}, nil},
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
		for _, word := range c.never {
			if strings.Contains(got, word) {
				t.Errorf("%s has %q:\n%s", name, word, got)
			}
		}
		if _, err := c.table("FAIL"); err == nil {
			t.Errorf("%s: an output without figures makes a table", name)
		}
	}
}
