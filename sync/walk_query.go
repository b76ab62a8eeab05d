package syncer

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// maxQueryValues limits the values of one query, and so the length of its
// address.
const maxQueryValues = 25

// listQuery is one way to list meetings. The plain list leaves out meetings
// recorded outside the organisation (specification 4.1); queries that name
// recorders or teams list those.
type listQuery struct {
	// Name is the query's name in sightings, by which absences are counted, and in
	// the keys of marks. Other values give another name, because an absence from
	// one query says nothing about another one.
	Name       string
	RecordedBy []string
	Teams      []string
}

// listQueries returns the plain list and the queries for the recorders and
// teams, in an order that depends only on the values.
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

// Queries returns the names of the list queries for an account with these
// recorders and teams, as sightings record them.
func Queries(recordedBy, teams []string) []string {
	var names []string
	for _, p := range listQueries(recordedBy, teams) {
		names = append(names, p.Name)
	}
	return names
}

// normalizeValues trims, sorts and deduplicates values.
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

// shortHash identifies a set of values in 12 hexadecimal digits.
func shortHash(values []string) string {
	sum := sha256.Sum256([]byte(strings.Join(values, "\x00")))
	return hex.EncodeToString(sum[:6])
}
