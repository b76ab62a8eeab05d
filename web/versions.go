package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/web/diff"

	"github.com/dustin/go-humanize"
)

// versionPage shows how a version of a part differs from the one before.
type versionPage struct {
	frame
	Meeting  string
	ID       int64
	Part     string
	First    time.Time // when the version was first seen
	Before   time.Time // when the one before was; zero for the first version
	Pieces   []versionPiece
	DataPath string
}

// versionPiece is a run of words. Of a long one that is the same, only the ends next to
// changes are shown.
type versionPiece struct {
	diff.Piece
	Rest string // after the omission
	Cut  bool
}

// differences is a version of a part and its comparison with the one before.
type differences struct {
	Part     api.Part     `json:"part"`
	Previous int64        `json:"previous,omitempty"` // the version before
	Pieces   []diff.Piece `json:"pieces"`

	version, before archive.Revision
}

// version answers /meetings/{id}/versions/{revision}.
func (s *server) version(w http.ResponseWriter, r *http.Request) error {
	id, row, err := s.openMeetingInPath(r)
	if err != nil {
		return err
	}
	d, err := s.compareVersion(r, id)
	if err != nil {
		return err
	}
	p := &versionPage{frame: s.newFrame(r, "version", "Changes of "+meetingTitle(row)), Meeting: meetingTitle(row), ID: id, Part: partNames[d.Part],
		First: d.version.First.In(s.Location), DataPath: revisionAddress(id, d.version.ID)}
	if d.Previous != 0 {
		p.Before = d.before.First.In(s.Location)
	}
	for i, piece := range d.Pieces {
		p.Pieces = append(p.Pieces, shorten(piece, i == 0, i == len(d.Pieces)-1))
	}
	return s.render(w, http.StatusOK, "version", p)
}

// apiDifferences answers with the differences between a version and the one before.
func (s *server) apiDifferences(w http.ResponseWriter, r *http.Request) error {
	id, _, err := s.openMeetingInPath(r)
	if err != nil {
		return err
	}
	d, err := s.compareVersion(r, id)
	if err != nil {
		return err
	}
	return answerJSON(w, r, d)
}

// revisionAddress returns the address of a version as data.
func revisionAddress(id, revision int64) string {
	return fmt.Sprintf("/api/v1/meetings/%d/revisions/%d", id, revision)
}

// compareVersion compares the version that a request names with the one before, as the
// visitor may read them. The first version is compared with itself.
func (s *server) compareVersion(r *http.Request, id int64) (*differences, error) {
	number, err := strconv.ParseInt(r.PathValue("revision"), 10, 64)
	if err != nil {
		return nil, errNoRevision
	}
	all, err := s.visibleRevisions(r.Context(), id)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(v archive.Revision) bool { return v.ID == number })
	if at < 0 {
		return nil, errNoRevision
	}
	d := &differences{Part: all[at].Part, Pieces: []diff.Piece{}, version: all[at]}
	all = slices.DeleteFunc(all, func(v archive.Revision) bool { return v.Part != d.Part || v.Empty })
	slices.SortStableFunc(all, func(a, b archive.Revision) int { return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.ID, b.ID)) })
	after, err := s.readVersion(r, id, d.version)
	if err != nil {
		return nil, err
	}
	before := after
	if i := slices.IndexFunc(all, func(v archive.Revision) bool { return v.ID == number }); i > 0 {
		d.before, d.Previous = all[i-1], all[i-1].ID
		if before, err = s.readVersion(r, id, d.before); err != nil {
			return nil, err
		}
	}
	d.Pieces = append(d.Pieces, diff.Words(before, after)...)
	return d, nil
}

// readVersion returns a version of a part as a text to read.
func (s *server) readVersion(r *http.Request, id int64, v archive.Revision) (string, error) {
	if v.Empty {
		return "", nil
	}
	part, raw, err := s.Archive.RevisionJSON(r.Context(), id, v.ID)
	if errors.Is(err, archive.ErrNotFound) {
		return "", errNoRevision
	}
	if err != nil {
		return "", err
	}
	return readablePart(part, raw), nil
}

// readablePart writes a part for reading: a transcript as lines, a summary as its
// Markdown, others as names and values.
func readablePart(part api.Part, raw []byte) string {
	var b strings.Builder
	switch part {
	case api.PartTranscript:
		var entries []api.TranscriptEntry
		if json.Unmarshal(raw, &entries) == nil {
			for _, e := range entries {
				fmt.Fprintf(&b, "%s %s: %s\n", e.Timestamp, e.Speaker.DisplayName, e.Text)
			}
			return b.String()
		}
	case api.PartSummary:
		var summary api.Summary
		if text := ""; json.Unmarshal(raw, &summary) == nil {
			if text = summary.MarkdownFormatted.Or(""); text != "" {
				return text
			}
		}
	}
	var value any
	values := json.NewDecoder(bytes.NewReader(raw))
	values.UseNumber() // the digits of a recording's number are too many for a float
	if values.Decode(&value) != nil {
		return string(raw)
	}
	writeValue(&b, "", value)
	return strings.TrimLeft(b.String(), "\n")
}

// writeValue writes a JSON value as lines of names and values.
func writeValue(b *strings.Builder, name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			writeValue(b, strings.TrimSpace(name+" "+strings.ReplaceAll(key, "_", " ")), v[key])
		}
	case []any:
		for _, element := range v {
			b.WriteString("\n")
			writeValue(b, name, element)
		}
	case nil:
	default:
		fmt.Fprintf(b, "%s: %v\n", name, v)
	}
}

// shorten leaves the middle of a long piece out that is the same in both versions.
func shorten(p diff.Piece, isFirst, isLast bool) versionPiece {
	const most, shown = 700, 250
	if p.Change != diff.Same || isFirst && isLast || len(p.Text) <= most {
		return versionPiece{Piece: p}
	}
	head, tail := "", ""
	if !isFirst {
		head = strings.ToValidUTF8(p.Text[:shown], "")
	}
	if !isLast {
		tail = strings.ToValidUTF8(p.Text[len(p.Text)-shown:], "")
	}
	return versionPiece{Piece: diff.Piece{Change: p.Change, Text: head}, Rest: tail, Cut: true}
}

// revision is a version of a part that has several.
type revision struct {
	Part, From, Size, Address, Data string
	First                           time.Time
	Current                         bool
}

// partNames are the labels of the parts on the page.
var partNames = map[api.Part]string{api.PartMeeting: "Meeting", api.PartTranscript: "Transcript",
	api.PartSummary: "Summary", api.PartActionItems: "Action items", api.PartHighlights: "Highlights",
	api.PartCRM: "CRM"}

// listRevisions returns the versions of the parts that have changed.
func (s *server) listRevisions(r *http.Request, id int64) ([]revision, error) {
	all, err := s.visibleRevisions(r.Context(), id)
	if err != nil {
		return nil, err
	}
	versions := map[api.Part]int{}
	for _, v := range all {
		if !v.Empty {
			versions[v.Part]++
		}
	}
	var out []revision
	for _, v := range all {
		if v.Empty || versions[v.Part] < 2 {
			continue
		}
		out = append(out, revision{Part: partNames[v.Part], From: formatSources(v.Seen), Size: humanize.Bytes(uint64(v.Size)),
			First: v.First.In(s.Location), Current: v.Current,
			Address: "/meetings/" + strconv.FormatInt(id, 10) + "/versions/" + strconv.FormatInt(v.ID, 10), Data: revisionAddress(id, v.ID)})
	}
	return out, nil
}

// visibleRevisions returns the versions of a meeting's parts that the visitor may read:
// those of CRM matches belong to the account that showed them, and are for the owner
// alone, as are the names of the accounts. It does not ask whether the visitor sees the
// meeting.
func (s *server) visibleRevisions(ctx context.Context, id int64) ([]archive.Revision, error) {
	all, err := s.Archive.Revisions(ctx, id)
	if err != nil || viewerOf(ctx).All {
		return all, err
	}
	all = slices.DeleteFunc(all, func(v archive.Revision) bool { return v.Part == api.PartCRM })
	for i := range all {
		for j := range all[i].Seen {
			all[i].Seen[j].Account = ""
		}
	}
	return all, nil
}

// formatSources writes the sources of a version and their accounts.
func formatSources(seen []archive.Seen) string {
	var ways []string
	for _, v := range seen {
		origin := string(v.Source)
		if v.Account != "" {
			origin += " (" + v.Account + ")"
		}
		if len(ways) == 0 || ways[len(ways)-1] != origin {
			ways = append(ways, origin)
		}
	}
	return strings.Join(ways, ", ")
}
