package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

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
		out = append(out, revision{Part: partNames[v.Part], From: formatSources(v.Seen), Size: formatBytes(int64(v.Size)),
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
