package service

import (
	"net/url"
	"slices"
	"testing"

	"minutebook/api"
)

// TestFiltersFoldAsTheArchive looks for an address and a domain with letters beyond ASCII
// as a meeting names them: the archive folds A to Z, and a filter that folds more
// finds nothing.
func TestFiltersFoldAsTheArchive(t *testing.T) {
	q, err := parseMeetingsQuery(url.Values{"recorded_by[]": {" JÖRG@Acme.example "}, "calendar_invitees_domains[]": {"MÜNCHEN.example", " "}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{api.FoldEmail("JÖRG@Acme.example")}; !slices.Equal(q.RecordedBy, want) {
		t.Errorf("recorded by %q, want %q", q.RecordedBy, want)
	}
	if want := []string{api.FoldEmail("MÜNCHEN.example"), ""}; !slices.Equal(q.Domains, want) {
		t.Errorf("domains %q, want %q", q.Domains, want)
	}
}
