package access

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func kinds(events []Event) (names []string) {
	for _, e := range events {
		names = append(names, string(e.Kind))
	}
	return names
}

// checkChain fails the test unless CheckAudit finds breaks that contain the words,
// or none without words.
func (f *fixture) checkChain(t *testing.T, action string, words ...string) {
	t.Helper()
	breaks, err := f.CheckAudit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(breaks, "; ")
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("%s: %q says nothing of %q", action, all, w)
		}
	}
	if len(words) == 0 && len(breaks) > 0 {
		t.Errorf("%s: %s", action, all)
	}
}

func TestEventsAreChosen(t *testing.T) {
	f := newFixture(t)
	f.checkChain(t, "an empty audit")
	ann := f.add(t, "ann@example.com", true)
	bob := f.add(t, "bob@example.com", false)
	later := f.now.Add(time.Hour)
	f.now = later
	for _, e := range []Event{
		{Actor: bob.Actor(), Kind: MeetingOpened, IDs: IDs{Meeting: 1 << 60}},
		{Actor: ActorCommand, Kind: ConfigurationLoaded, IDs: IDs{Hash: "ab"}},
		{Actor: ann.Actor(), Kind: AddressAdded, IDs: IDs{Person: bob.ID}},
	} {
		wantErr(t, "record", f.Record(t.Context(), e), nil)
	}
	for _, tt := range []struct {
		query EventQuery
		want  []string
	}{
		{EventQuery{}, []string{"person.added", "admin.granted", "person.added", "meeting.opened", "configuration", "address.added"}},
		{EventQuery{Person: bob.ID}, []string{"person.added", "meeting.opened", "address.added"}},
		{EventQuery{Since: later}, []string{"meeting.opened", "configuration", "address.added"}},
		{EventQuery{Limit: 2}, []string{"configuration", "address.added"}},
		{EventQuery{Limit: 2, Before: 4}, []string{"admin.granted", "person.added"}},
		{EventQuery{Limit: 2, After: 1, Oldest: true}, []string{"admin.granted", "person.added"}},
		{EventQuery{After: 5}, []string{"address.added"}},
	} {
		events, err := f.Events(t.Context(), tt.query)
		if err != nil || !slices.Equal(kinds(events), tt.want) {
			t.Errorf("%+v: %v, want %v; %v", tt.query, kinds(events), tt.want, err)
		}
	}
	events, err := f.Events(t.Context(), EventQuery{Person: bob.ID, Limit: 2})
	if err != nil || events[0].IDs.Meeting != 1<<60 || !events[0].At.Equal(later) || events[0].Actor != bob.Actor() {
		t.Errorf("event %+v, %v", events[0], err)
	}
	f.checkChain(t, "the whole audit")
}

// Rows that are recorded at the same moment stand one after the other.
func TestEventsAtTheSameMoment(t *testing.T) {
	f := newFixture(t)
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = f.Record(t.Context(), Event{Actor: ActorSystem, Kind: SignInFailed}) })
	}
	all.Wait()
	for _, err := range errs {
		wantErr(t, "record", err, nil)
	}
	f.checkChain(t, "eight at once")
}

func TestPrunedAuditIsAnchored(t *testing.T) {
	f := newFixture(t)
	started := f.now
	for i := range 6 {
		f.now = started.Add(time.Duration(i) * time.Hour)
		wantErr(t, "record", f.Record(t.Context(), Event{Actor: ActorSystem, Kind: Restored}), nil)
	}
	f.now = started.Add(-10 * time.Hour) // the clock is set back: the row stays until those before it go
	wantErr(t, "record", f.Record(t.Context(), Event{Actor: ActorSystem, Kind: Exported}), nil)
	f.now = started.Add(5 * time.Hour)
	for _, tt := range []struct {
		keep time.Duration
		want int64
	}{{0, 0}, {6 * time.Hour, 0}, {2 * time.Hour, 3}, {2 * time.Hour, 0}, {time.Nanosecond, 2}} {
		pruned, err := f.Prune(t.Context(), f.now, tt.keep)
		if pruned != tt.want || err != nil {
			t.Errorf("keep %v: pruned %d, want %d; %v", tt.keep, pruned, tt.want, err)
		}
		f.checkChain(t, "pruned")
	}
	f.now = started.Add(100 * time.Hour)
	if pruned, err := f.Prune(t.Context(), f.now, time.Hour); pruned != 2 || err != nil {
		t.Errorf("all: pruned %d, %v", pruned, err)
	}
	f.checkChain(t, "nothing but the anchor")
	wantErr(t, "record", f.Record(t.Context(), Event{Actor: ActorSystem, Kind: Exported}), nil)
	if events, err := f.Events(t.Context(), EventQuery{}); err != nil || len(events) != 1 || events[0].Seq != 8 {
		t.Errorf("the next row: %+v, %v", events, err)
	}
	f.checkChain(t, "a row after the anchor")
}

func TestBrokenChainIsFound(t *testing.T) {
	for _, tt := range []struct {
		name, change string
		words        []string
	}{
		{"a changed actor", `UPDATE audit SET actor = '9' WHERE seq = 3`, []string{"row 3 was changed"}},
		{"a changed time", `UPDATE audit SET at = at + 1 WHERE seq = 3`, []string{"row 3 was changed"}},
		{"a changed kind", `UPDATE audit SET kind = 'export' WHERE seq = 3`, []string{"row 3 was changed"}},
		{"changed ids", `UPDATE audit SET ids = '{}' WHERE seq = 3`, []string{"row 3 was changed"}},
		{"another hash", `UPDATE audit SET hash = zeroblob(32) WHERE seq = 3`, []string{"row 3 was changed", "row 4 does not name"}},
		{"a removed row", `DELETE FROM audit WHERE seq = 3`, []string{"row 4 follows row 2"}},
		{"removed oldest rows", `DELETE FROM audit WHERE seq < 3`, []string{"row 3 follows row 0"}},
		{"removed newest rows", `DELETE FROM audit WHERE seq > 3`, []string{"ends at row 3", "row 5 was written"}},
		{"no rows", `DELETE FROM audit`, []string{"ends at row 0"}},
		{"a row put in", `INSERT INTO audit SELECT 6, at, actor, kind, ids, previous, hash FROM audit WHERE seq = 5`, []string{"row 6 does not name"}},
		{"another anchor", `INSERT INTO audit_anchor VALUES (1, 0, x'01', 0)`, []string{"row 1 does not name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			for range 5 {
				wantErr(t, "record", f.Record(t.Context(), Event{Actor: ActorSystem, Kind: Restored, IDs: IDs{Count: 1}}), nil)
			}
			if _, err := f.db.W.ExecContext(t.Context(), tt.change); err != nil {
				t.Fatal(err)
			}
			f.checkChain(t, tt.name, tt.words...)
		})
	}
}
