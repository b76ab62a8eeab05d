package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"minutebook/internal/browsertest"
)

// BenchmarkFirstPaint opens each kind of page three times as somebody who was never here
// before, and nine times as somebody who knows another page. It reports the medians of
// when a page shows its first text, and the bytes of the first load and of the next page,
// as the browser received them. The last page is a line of text without style, for
// comparison. The archive has the sample's meetings, or is the one in the directory that
// MINUTEBOOK_DATA names.
func BenchmarkFirstPaint(b *testing.B) {
	dir := os.Getenv("MINUTEBOOK_DATA")
	var s *site
	if dir == "" {
		s = newSite(b)
	} else {
		s = openSite(b, dir)
	}
	all, chromium := newKinds(b, s, "budget", "plan"), browsertest.Start(b)
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>bare</title><p>One line of text")
	}))
	b.Cleanup(bare.Close)
	all.pages = append(all.pages, kind{"bare", bare.URL, "/line"})
	for _, page := range all.pages {
		b.Run(page.name, func(b *testing.B) {
			for b.Loop() {
				var first, next []visit
				for range 3 {
					first = append(first, all.open(b, chromium, page).visit(page.home+page.path))
				}
				window := all.open(b, chromium, page)
				for range 9 {
					window.visit(page.home + anotherThan(page))
					next = append(next, window.visit(page.home+page.path))
				}
				b.ReportMetric(median(first), "first-ms")
				b.ReportMetric(median(next), "next-ms")
				b.ReportMetric(float64(first[0].bytes), "first-bytes")
				b.ReportMetric(float64(next[0].bytes), "next-bytes")
			}
		})
	}
}

// median returns the median time to the first paint.
func median(all []visit) float64 {
	var paints []float64
	for _, v := range all {
		paints = append(paints, v.paint)
	}
	slices.Sort(paints)
	return paints[len(paints)/2]
}
