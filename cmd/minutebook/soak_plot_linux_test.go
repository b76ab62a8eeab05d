package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// isLevel reports whether values rise from the middle third of the time to the last by no
// more than a third and the slack.
func isLevel(all []float64, slack float64) bool {
	third := len(all) / 3
	if third == 0 {
		return true
	}
	return mean(all[2*third:]) <= mean(all[third:2*third])*4/3+slack
}

func mean(all []float64) (m float64) {
	for _, v := range all {
		m += v / float64(len(all))
	}
	return m
}

func TestIsLevel(t *testing.T) {
	rising := make([]float64, 60)
	for i := range rising {
		rising[i] = float64(100 + 10*i)
	}
	for _, c := range []struct {
		all  []float64
		want bool
	}{{nil, true}, {rising, false}, {[]float64{1, 50, 100, 100, 101, 99}, true}, {[]float64{100, 100, 100, 100, 100, 300}, false}} {
		if isLevel(c.all, 5) != c.want {
			t.Errorf("%v: level %t", c.all, !c.want)
		}
	}
}

// writeSoak writes the values as a table and as a plot.
func writeSoak(t *testing.T, dir string, length time.Duration, gauges []*gauge) {
	t.Helper()
	if dir == "" {
		return
	}
	var table strings.Builder
	table.WriteString("minute")
	for _, g := range gauges {
		fmt.Fprintf(&table, "\t%s", g.name)
	}
	for i := range gauges[0].all {
		fmt.Fprintf(&table, "\n%.1f", length.Minutes()*float64(i+1)/float64(len(gauges[0].all)))
		for _, g := range gauges {
			fmt.Fprintf(&table, "\t%.1f", g.all[i])
		}
	}
	table.WriteString("\n")
	for name, text := range map[string]string{"soak.tsv": table.String(), "soak.svg": plot(length, gauges)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// plot draws each gauge from 0 up, one below the other.
func plot(length time.Duration, gauges []*gauge) string {
	const width, height, gap = 640, 90, 30
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`,
		width+40, len(gauges)*(height+gap)+gap)
	fmt.Fprintf(&b, "\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n")
	for n, g := range gauges {
		if len(g.all) == 0 {
			continue
		}
		top, most := gap+n*(height+gap), max(slices.Max(g.all), 1)
		fmt.Fprintf(&b, "<text x=\"20\" y=\"%d\">%s, up to %.1f in %s</text>\n<polyline fill=\"none\" stroke=\"#2a6f97\" stroke-width=\"1.5\" points=\"", top-6, g.name, most, length)
		for i, v := range g.all {
			fmt.Fprintf(&b, "%.1f,%.1f ", 20+float64(width*i)/float64(max(1, len(g.all)-1)), float64(top)+height*(1-v/most))
		}
		fmt.Fprintf(&b, "\"/>\n<line x1=\"20\" y1=\"%[1]d\" x2=\"%[2]d\" y2=\"%[1]d\" stroke=\"#999\"/>\n", top+height, 20+width)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
