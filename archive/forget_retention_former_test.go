package archive

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// ruled is an archive with rules in force, which have run once, and with meeting 9.
type ruled struct {
	*testing.T
	a       *Archive
	now     *time.Time
	running time.Duration
	rules   []RetentionRule
}

func newRuled(t *testing.T, rules ...RetentionRule) *ruled {
	a, now := agedArchive(t)
	w := &ruled{T: t, a: a, now: now, rules: rules}
	a.running = func() time.Duration { return w.running }
	must(t, a.AcceptRetention(t.Context(), rules))
	w.run(0)
	return w
}

// keepSales are rules that keep the recordings of one team for good.
func keepSales() []RetentionRule {
	return []RetentionRule{{Teams: []string{"Sales"}}, {MediaAfter: 100 * day}}
}

// run applies the rules after a time, in which a process runs.
func (w *ruled) run(after time.Duration) (deleted []int64) {
	w.Helper()
	w.running += after
	*w.now = w.now.Add(after)
	w.a.NoteServiceTime(*w.now)
	_, err := w.a.DeleteExpired(w.Context(), w.rules, func(e Expired) { deleted = append(deleted, e.RecordingID) })
	must(w.T, err)
	return deleted
}

// stop has no process run for a time.
func (w *ruled) stop(during time.Duration) {
	*w.now = w.now.Add(during)
	w.a.clockRead, w.running = -1, 0
}

// shown is a meeting as it is shown.
type shown struct {
	source             Source // "": a list
	account            string // "": main
	person, team, kind string // no person: Ann
	start              string // a day; "-": none, "": in January
	title              string
}

func (w *ruled) show(s shown) {
	w.Helper()
	m := fmt.Sprintf(`{"recording_id":9,"title":%q,"meeting_type":%q,"recorded_by":{"name":%q,"team":%q}`,
		cmp.Or(s.title, "T"), s.kind, cmp.Or(s.person, "Ann"), s.team)
	if s.start != "-" {
		m += fmt.Sprintf(`,"recording_start_time":"%sT00:00:00Z"`, cmp.Or(s.start, "2026-01-05"))
	}
	o := observe(w.T, cmp.Or(s.source, SourceList), *w.now, []byte(m+"}"))
	if o.Account = cmp.Or(s.account, "main"); o.Source == SourceList {
		o.Order = w.a.NextOrder()
	}
	apply(w.T, w.a, o)
}

func (w *ruled) attach() {
	w.Helper()
	b, err := w.a.Media().Put(w.Context(), strings.NewReader("sound of nine"))
	must(w.T, err)
	must(w.T, w.a.AttachMedia(w.Context(), 9, MediaAudio, b))
}

// showComingBack has the team Sales come back to an account that is not the home, so that the
// row keeps Trade: only the newest reads keep the recording.
func (w *ruled) showComingBack(start string) {
	w.Helper()
	for _, s := range []shown{{team: "Sales"}, {account: "other", team: "Sales"}, {account: "other", team: "Trade"}, {account: "other", team: "Sales"}} {
		s.start = start
		w.show(s)
		w.run(time.Hour)
	}
}

// check tests whether the meeting has its recording.
func (w *ruled) check(kept bool, when string) {
	w.Helper()
	list, err := w.a.MediaOf(w.Context(), 9)
	must(w.T, err)
	if (len(list) > 0) != kept {
		w.Errorf("%s: the recording is there: %t, want %t; %+v wait", when, !kept, kept, w.a.MovedMeetings())
	}
}

// TestARecordingWaitsAfterAChange has the service change the team, the type or the start, also where there
// was nothing before, and where two versions gave it.
func TestARecordingWaitsAfterAChange(t *testing.T) {
	testrun.SkipUnderRace(t)
	deleteFrom := func(r RetentionRule) []RetentionRule {
		r.MediaAfter = 100 * day
		return []RetentionRule{r}
	}
	for name, c := range map[string]struct {
		rules  []RetentionRule
		before []shown
		after  shown
	}{
		"the first team":            {deleteFrom(RetentionRule{Teams: []string{"Sales"}}), []shown{{}}, shown{team: "Sales"}},
		"a recorder with a team":    {deleteFrom(RetentionRule{Teams: []string{"Sales"}}), []shown{{}}, shown{person: "Bob", team: "Sales"}},
		"the first type":            {deleteFrom(RetentionRule{Types: []string{"Call"}}), []shown{{}}, shown{kind: "Call"}},
		"the first start":           {deleteFrom(RetentionRule{}), []shown{{start: "-"}}, shown{start: "2006-01-05"}},
		"the first of everything":   {deleteFrom(RetentionRule{}), []shown{{start: "-"}}, shown{team: "Sales", kind: "Call"}},
		"the row of two versions":   {append([]RetentionRule{{Teams: []string{"Sales"}, Types: []string{"Call"}}}, deleteFrom(RetentionRule{})...), []shown{{team: "Sales"}, {kind: "Call"}}, shown{team: "Trade", kind: "Talk"}},
		"of deliveries alone":       {keepSales(), []shown{{source: SourceWebhook, team: "Sales"}}, shown{source: SourceWebhook, team: "Trade", kind: "Call 2"}},
		"of imports alone":          {keepSales(), []shown{{source: SourceImport, team: "Sales"}}, shown{source: SourceImport, team: "Trade", kind: "Call 2"}},
		"a recorder without a team": {keepSales(), []shown{{person: "Bob", team: "Sales"}}, shown{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRuled(t, c.rules...)
			for _, s := range c.before {
				w.show(s)
				*w.now = w.now.Add(time.Minute)
			}
			w.attach()
			w.run(8 * day)
			w.show(c.after)
			w.run(time.Hour)
			w.check(true, "after an hour")
			w.run(6 * day)
			w.check(true, "after six days")
			w.run(day)
			w.check(false, "after a week")
		})
	}
}

// TestARepairEndsNoNotice repairs the damaged version by which a meeting waits.
func TestARepairEndsNoNotice(t *testing.T) {
	w := newRuled(t, keepSales()...)
	w.show(shown{team: "Sales"})
	w.attach()
	w.run(time.Hour)
	w.show(shown{team: "Trade"})
	w.run(time.Hour)
	_, err := w.a.db.W.Exec(`UPDATE bodies SET encoding = 1, body = x'00' WHERE revision_id = (SELECT min(id) FROM revisions WHERE recording_id = 9 AND part = 'meeting')`)
	must(t, err)
	w.run(time.Hour)
	w.check(true, "damaged")
	verify(t, w.a, VerifyOptions{Repair: true})
	w.run(time.Hour)
	w.check(true, "repaired")
}

// TestATitleIsNoMove changes the title of a meeting again and again, long after its team.
func TestATitleIsNoMove(t *testing.T) {
	w := newRuled(t, keepSales()...)
	w.show(shown{team: "Sales", start: "2026-05-30"})
	w.attach()
	w.show(shown{team: "Trade", start: "2026-05-30"})
	w.run(time.Hour)
	w.run(95 * day)
	for i := range 3 {
		w.show(shown{title: fmt.Sprint(i), team: "Trade", start: "2026-05-30"})
		w.run(4 * day)
	}
	w.check(false, "after 100 days")
}

// TestNewestReadsKeepAStart shows a wrong start to an account that is not the home of the row,
// and then the right one again.
func TestNewestReadsKeepAStart(t *testing.T) {
	w := newRuled(t, RetentionRule{MediaAfter: 100 * day})
	for i, s := range []shown{{start: "2026-05-30"}, {account: "other", start: "2026-05-30"}, {account: "other", start: "2006-05-30"}, {account: "other", start: "2026-05-30"}} {
		w.show(s)
		if i == 0 {
			w.attach()
		}
		w.run(time.Hour)
	}
	w.run(8 * day)
	w.check(true, "after the week")
}

// TestADryRunLeavesWhatNewestReadsKeep has a meeting that only its newest reads keep.
func TestADryRunLeavesWhatNewestReadsKeep(t *testing.T) {
	w := newRuled(t, keepSales()...)
	w.showComingBack("")
	w.attach()
	w.run(20 * day)
	w.check(true, "kept by reads")
	if expired, err := w.a.Expired(t.Context(), w.rules); err != nil || len(expired) > 0 {
		t.Errorf("the dry run has %+v, %v", expired, err)
	}
}

// TestAMeetingIsReadAgainDuringARun has the service set the start of a meeting right while the
// rules delete the recordings of another.
func TestAMeetingIsReadAgainDuringARun(t *testing.T) {
	w := newRuled(t, RetentionRule{MediaAfter: 152 * day})
	w.show(shown{start: "2026-01-05"})
	w.attach()
	*w.now = w.now.Add(10 * day)
	w.running += 10 * day
	n := 0
	_, err := w.a.DeleteExpired(t.Context(), w.rules, func(Expired) {
		n++
		w.show(shown{start: "2026-05-30"})
	})
	must(t, err)
	if w.check(true, "set right"); n != 3 { // 1, 2 and 5
		t.Errorf("%d meetings lose their recordings, want 3", n)
	}
}

// TestWhatNewestReadsKeptWaits has a meeting that only its newest reads keep, and the service
// change these before the rules run again: no process ran before, an archive was restored, or
// its recording was being fetched.
func TestWhatNewestReadsKeptWaits(t *testing.T) {
	testrun.SkipUnderRace(t)
	for name, c := range map[string]struct {
		start  string
		before func(w *ruled)
	}{
		"no process ran": {"2026-05-30", func(w *ruled) { w.attach(); w.run(9 * day); w.stop(100 * day) }},
		"restored": {"2026-05-30", func(w *ruled) {
			w.attach()
			tx, err := w.a.db.W.Begin()
			must(w.T, err)
			must(w.T, restoreRules(w.Context(), tx))
			must(w.T, tx.Commit())
			w.stop(100 * day)
		}},
		"fetched meanwhile": {"", func(w *ruled) {
			must(w.T, w.a.SaveDownload(w.Context(), Download{RecordingID: 9, State: DownloadReady, Account: "other"}))
			w.run(9 * day)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRuled(t, keepSales()...)
			w.showComingBack(c.start)
			c.before(w)
			w.show(shown{account: "other", team: "Trade", start: c.start})
			if name == "fetched meanwhile" {
				w.attach()
			}
			for range 3 {
				w.run(2 * day)
				_, err := w.a.ShowRetention(t.Context(), w.rules)
				must(t, err)
			}
			w.check(true, "after six days")
			w.run(2 * day)
			w.run(2 * day)
			w.check(false, "after the week")
		})
	}
}

// TestANoticeNeedsNoDaemon runs the rules by commands alone, for which no time counts.
func TestANoticeNeedsNoDaemon(t *testing.T) {
	w := newRuled(t, keepSales()...)
	w.showComingBack("")
	w.attach()
	_, err := w.a.db.W.Exec(`UPDATE marks SET value = CAST('{"at":"2026-06-01T00:00:00Z"}' AS BLOB) WHERE key = ?`, clockKey)
	must(t, err)
	for range 2 {
		w.stop(day)
		w.show(shown{account: "other", team: "Trade"})
		w.run(0)
	}
	if w.check(true, "after a day"); w.a.MovedMeetings() == nil {
		t.Error("status tells of no meeting that waits")
	}
}

// TestAnUpgradeEndsNoNotice opens an archive of the schema before former_terms, with a meeting
// that waits, one that was noted as kept by its newest reads, and one that was changed long ago.
func TestAnUpgradeEndsNoNotice(t *testing.T) {
	w := newRuled(t, keepSales()...)
	w.show(shown{team: "Trade"})
	w.attach()
	dir := w.a.Dir()
	must(t, w.a.Close())
	damageDatabase(t, filepath.Join(dir, "archive.db"), undo83+`
		UPDATE marks SET value = CAST(json_set(CAST(value AS TEXT), '$.noticed', (SELECT max(seq) - 1 FROM changes WHERE part = 'meeting'), '$.kept', json('{"3":0}')) AS BLOB)
			WHERE key = 'retention-rules'`)
	got, err := columnOf(openArchive(t, dir).db, `SELECT recording_id FROM former_terms WHERE noticed_ran IS NULL ORDER BY 1`)
	if err != nil || fmt.Sprint(got) != "[3 9]" {
		t.Errorf("%v wait, %v", got, err)
	}
}
