package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// revision is a version of a part that has several.
type revision struct {
	Part, From, Size, Address string
	First                     time.Time
	Current                   bool
}

// partNames are the labels of the parts on the page.
var partNames = map[api.Part]string{api.PartMeeting: "Meeting", api.PartTranscript: "Transcript",
	api.PartSummary: "Summary", api.PartActionItems: "Action items", api.PartHighlights: "Highlights",
	api.PartCRM: "CRM"}

// listRevisions returns the versions of the parts that have changed.
func (s *server) listRevisions(r *http.Request, id int64) ([]revision, error) {
	all, err := s.Archive.Revisions(r.Context(), id)
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
		out = append(out, revision{Part: partNames[v.Part], From: formatSources(v.Seen), Size: formatBytes(int64(v.Size)),
			First: v.First.In(s.Location), Current: v.Current,
			Address: "/api/meetings/" + strconv.FormatInt(id, 10) + "/revisions/" + strconv.FormatInt(v.ID, 10)})
	}
	return out, nil
}

// formatSources writes the sources of a version and their accounts.
func formatSources(seen []archive.Seen) string {
	var ways []string
	for _, v := range seen {
		way := string(v.Source)
		if v.Account != "" {
			way += " (" + v.Account + ")"
		}
		if len(ways) == 0 || ways[len(ways)-1] != way {
			ways = append(ways, way)
		}
	}
	return strings.Join(ways, ", ")
}

// apiRevision answers with a version of a part, verbatim.
func (s *server) apiRevision(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	number, err := strconv.ParseInt(r.PathValue("revision"), 10, 64)
	if err != nil {
		return &failure{http.StatusNotFound, "a version's address ends in its number"}
	}
	part, raw, err := s.Archive.RevisionJSON(r.Context(), id, number)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[api.Part]any{part: raw})
	return nil
}
