package mirror

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"minutebook/archive"
)

var testStart = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// hundredThousand is a mirror of as many meetings, without an archive.
func hundredThousand() *Mirror {
	m := New(nil, false)
	for id := int64(1); id <= 100_000; id++ {
		recorder := fmt.Sprintf("person%d@company%d.example", id%2000, id%40)
		v := archive.Visibility{RecordingID: id, Start: testStart.Add(time.Duration(id) * time.Minute), CreatedAt: testStart.Add(time.Duration(id+30) * time.Minute),
			MeetingType: fmt.Sprintf("Type %d", id%6), RecorderEmail: recorder, RecorderTeam: fmt.Sprintf("Team %d", id%30),
			DomainsType: "only_internal", SharedWith: "all_teams", Domains: []string{fmt.Sprintf("company%d.example", id%40), "client.example"},
			Principals: []string{archive.UserPrincipal(recorder), archive.PrincipalEveryone, archive.PrincipalShared}}
		e := m.newMeeting(&v)
		m.starts[id] = e.start
		m.meetings = append(m.meetings, e)
	}
	slices.SortFunc(m.meetings, newestFirst)
	m.dir.people["ann@acme.example"] = &Person{principals: []string{archive.UserPrincipal("ann@acme.example"), archive.PrincipalEveryone}}
	return m
}

// BenchmarkPage finds a page among 100,000 meetings; the archive is then read
// for its ten only. "nothing" looks at every meeting.
func BenchmarkPage(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := hundredThousand()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.Logf("100,000 meetings take %d MB", (after.HeapAlloc-before.HeapAlloc)>>20)
	for name, q := range map[string]Query{
		"none":    {},
		"team":    {Teams: []string{"Team 7"}},
		"rare":    {RecordedBy: []string{"person7@company7.example"}},
		"nothing": {Teams: []string{"Team 7"}, MeetingType: "Type 2", DomainsType: "only_internal"},
	} {
		for at, after := range map[string]*Position{"first": nil, "last": {Start: testStart.Add(20 * time.Minute).UnixMilli(), ID: 20}} {
			b.Run(name+"/"+at, func(b *testing.B) {
				for b.Loop() {
					m.Page("ann@acme.example", &q, after)
				}
			})
		}
	}
}
