package service

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"minutebook/archive"
)

// hundredThousand is a mirror of as many meetings, without an archive.
func hundredThousand() *mirror {
	m := newMirror(nil)
	for id := int64(1); id <= 100_000; id++ {
		recorder := fmt.Sprintf("person%d@company%d.example", id%2000, id%40)
		v := archive.Visibility{RecordingID: id, Start: testStart.Add(time.Duration(id) * time.Minute), CreatedAt: testStart.Add(time.Duration(id+30) * time.Minute),
			MeetingType: fmt.Sprintf("Type %d", id%6), RecorderEmail: recorder, RecorderTeam: fmt.Sprintf("Team %d", id%30),
			DomainsType: "only_internal", SharedWith: "all_teams", Domains: []string{fmt.Sprintf("company%d.example", id%40), "client.example"},
			Principals: []string{archive.UserPrincipal(recorder), archive.PrincipalEveryone, archive.PrincipalShared}}
		e := m.entryOf(&v)
		m.starts[id] = e.start
		m.order = append(m.order, e)
	}
	slices.SortFunc(m.order, newestFirst)
	m.dir.byEmail["ann@acme.example"] = &person{principals: []string{archive.UserPrincipal("ann@acme.example"), archive.PrincipalEveryone}}
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
	for name, q := range map[string]meetingsQuery{
		"none":    {},
		"team":    {teams: []string{"Team 7"}},
		"rare":    {recordedBy: []string{"person7@company7.example"}},
		"nothing": {teams: []string{"Team 7"}, meetingType: "Type 2", domainsType: "only_internal"},
	} {
		for at, after := range map[string]*position{"first": nil, "last": {start: testStart.Add(20 * time.Minute).UnixMilli(), id: 20}} {
			b.Run(name+"/"+at, func(b *testing.B) {
				for b.Loop() {
					m.page("ann@acme.example", &q, after)
				}
			})
		}
	}
}
