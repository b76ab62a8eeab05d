package years

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// losing begins the name of the event at which notes get lost.
const losing = "configure "

// loseNotes is a fault: the program loses everybody's notes when its configuration changes.
func loseNotes(w *world, event string) {
	if !strings.HasPrefix(event, losing) || w.house == nil {
		return
	}
	for _, n := range slices.Sorted(maps.Keys(w.oracle.notes)) {
		note := w.oracle.notes[n]
		_ = w.keepNote(note, note.text, "deletes") // a program that is dead loses nothing
	}
}

// loseVersions is a fault: the program loses the former versions of all content when a storm begins.
func loseVersions(w *world, event string) {
	if !strings.HasPrefix(event, "storm ") || w.house == nil {
		return
	}
	for _, db := range w.house.archive.Databases() { // one of them has revisions
		_, _ = db.W.Exec(`DELETE FROM revisions WHERE part <> 'meeting' AND id NOT IN (SELECT revision_id FROM parts WHERE revision_id > 0)`)
	}
}

// planted are faults, the seed that finds each, its finding, and the events that cause it.
var planted = []struct {
	lose    func(w *world, event string)
	seed    uint64
	finding string
	causes  []string
}{
	{loseNotes, firstTalking + 121, "there are the notes", []string{"note ", losing}},
	{loseVersions, firstHarsh + 3, "meeting #: the version #/", []string{"edit ", "storm "}},
}

// TestAPlantedFaultComesBack has a program with a fault live through a seed. The same seed finds
// the fault again, in nine of ten replays at least, and the shortest history that does has few of
// the decisions: those that cause it, which the story names.
func TestAPlantedFaultComesBack(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, p := range planted {
		o := options{days: 46, after: p.lose}
		found := run(t, p.seed, o)
		if !strings.HasPrefix(numbers.ReplaceAllString(found.finding, "#"), p.finding) {
			t.Errorf("the fault is not found, but %q", found.finding)
			continue
		}
		replays := 1
		if testrun.IsLong() {
			replays = 10
		}
		same := 0
		for range replays {
			if out := run(t, p.seed, o); out.finding == found.finding && out.at.Equal(found.at) {
				same++
			}
		}
		if same*10 < replays*9 {
			t.Errorf("%d of %d replays find the fault again", same, replays)
		}
		short := shrink(t, p.seed, o, found, 10*time.Minute)
		t.Logf("of %d events %v are left\n%s", len(found.events), short.events, story(short))
		for _, cause := range p.causes {
			i := slices.IndexFunc(short.events, func(e string) bool { return strings.HasPrefix(e, "event:"+cause) })
			if i < 0 || !strings.Contains(story(short), strings.TrimPrefix(short.events[i], "event:")) {
				t.Errorf("without %q nothing would be lost, and the story names none", cause)
			}
		}
		if len(short.events)*3 > len(found.events) || !strings.Contains(story(short), "FOUND: ") {
			t.Errorf("%d of %d events are left:\n%s", len(short.events), len(found.events), story(short))
		}
	}
}
