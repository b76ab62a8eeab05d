package control_test

import (
	"strings"
	"testing"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/archive/export"
	"minutebook/control"
	"minutebook/internal/testrun"
)

// Dates in the commands' queries are days of the page's zone.
func TestDatesOfCommandsAreThoseOfThePage(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := archivetest.WithMeetings(t, 1) // at 10:00 UTC on 1 February
	x, ops := withIndexIn(t, a, time.FixedZone("", -11*60*60))
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{"on:2026-01-31": 1, "on:2026-02-01": 0} {
		found, err := control.Call[control.SearchResult](t.Context(), ops, "search", control.SearchRequest{Query: query}, nil)
		if err != nil || found.Total != want {
			t.Errorf("search %s: %d, %v; want %d", query, found.Total, err, want)
		}
		written, err := control.Call[export.Result](t.Context(), ops, "export", control.ExportRequest{Dir: t.TempDir(), Format: "ndjson", Query: query}, nil)
		if err != nil || written.Meetings != want {
			t.Errorf("export %s: %d, %v; want %d", query, written.Meetings, err, want)
		}
	}
}

// An export of a query has all meetings that match the whole query, also where a search
// reads it as a question, and none where the index does not know all of them yet.
func TestAnExportOfAQueryIsComplete(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := archivetest.New(t)
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "what did ada say about the large budget"), archivetest.Meeting(2, "T", "the large budget"))
	x, ops := withIndex(t, a)
	dir := t.TempDir()
	run := func() (export.Result, error) {
		return control.Call[export.Result](t.Context(), ops, "export",
			control.ExportRequest{Dir: dir, Format: "ndjson", Query: "what did ada say about the large budget"}, nil)
	}
	if _, err := run(); err == nil || !strings.Contains(err.Error(), "the index has 0 of 2 meetings") {
		t.Errorf("while the index is built: %v", err)
	}
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if written, err := run(); err != nil || written.Meetings != 1 {
		t.Errorf("%+v, %v", written, err)
	}
}
