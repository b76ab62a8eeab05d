package archive

import (
	"maps"
	"slices"
	"testing"

	"minutebook/internal/testrun"
)

// TestVerifySlicesAreTheWhole checks an archive in slices: together they read the same
// rows and files as one whole check, and find the same damage.
func TestVerifySlicesAreTheWhole(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := filledArchive(t)
	for _, damage := range []string{"", `UPDATE bodies SET size = size + 1 WHERE revision_id = (SELECT max(id) FROM revisions)`} {
		if damage != "" {
			damageDatabase(t, a.db.Path, damage)
		}
		whole, all := verify(t, a, VerifyOptions{})
		var sum Verified
		var found []Damage
		most := 0
		for slice := range 3 {
			v, damages := verify(t, a, VerifyOptions{Slice: slice, Slices: 3})
			sum.Meetings, sum.Revisions, sum.Recordings = sum.Meetings+v.Meetings, sum.Revisions+v.Revisions, sum.Recordings+v.Recordings
			found = append(found, damages...)
			most = max(most, v.Revisions)
		}
		if sum.Meetings != whole.Meetings || sum.Revisions != whole.Revisions || sum.Recordings != whole.Recordings || most == whole.Revisions {
			t.Errorf("the slices have %+v, the whole %+v", sum, whole)
		}
		names := func(list []Damage) map[string]bool {
			m := map[string]bool{}
			for _, d := range list {
				m[d.String()] = true
			}
			return m
		}
		if !maps.Equal(names(found), names(all)) || (damage != "") != (len(all) > 0) {
			t.Errorf("the slices find %v, the whole %v", slices.Collect(maps.Keys(names(found))), all)
		}
	}
}
