package syncer

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// passSize bounds how many values one query carries, and so its address.
const maxQueryValues = 25

// pass is one way of asking for meetings. The plain list leaves out what people
// outside the organisation recorded (specification 4.1); passes that name
// recorders or teams bring it.
type listQuery struct {
	// Name is the query in sightings, on which the rule of what is gone is
	// counted, and in the keys of marks. It changes with the values, because an
	// absence from a query says nothing about another one.
	Name       string
	RecordedBy []string
	Teams      []string
}

// passes returns the plain list and then the passes for the recorders and teams
// given, in an order that depends on nothing else.
func listQueries(recordedBy, teams []string) []listQuery {
	all := []listQuery{{}}
	for group := range slices.Chunk(normalizeValues(recordedBy), maxQueryValues) {
		all = append(all, listQuery{Name: "recorded_by:" + shortHash(group), RecordedBy: group})
	}
	for group := range slices.Chunk(normalizeValues(teams), maxQueryValues) {
		all = append(all, listQuery{Name: "teams:" + shortHash(group), Teams: group})
	}
	return all
}

// Queries are the names of the list queries that an account with these recorders
// and teams is read by, as sightings name them.
func Queries(recordedBy, teams []string) []string {
	var names []string
	for _, p := range listQueries(recordedBy, teams) {
		names = append(names, p.Name)
	}
	return names
}

func normalizeValues(values []string) []string {
	var out []string
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func shortHash(values []string) string {
	sum := sha256.Sum256([]byte(strings.Join(values, "\x00")))
	return hex.EncodeToString(sum[:6])
}
