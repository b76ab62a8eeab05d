package search

import (
	"bytes"
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// commit changes the archive as a writer does whose commit readers see already
// and which has not moved the head of the change log yet.
func (h *fixture) commit(statements ...string) {
	h.t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(h.dir, "archive.db")+"?_busy_timeout=10000")
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		h.t.Fatal(err)
	}
	defer tx.Rollback()
	for _, s := range append(statements, `INSERT INTO changes (recording_id, kind, part, at) VALUES (3, 'part', 'transcript', 0)`) {
		if _, err := tx.Exec(s); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		h.t.Fatal(err)
	}
}

// A commit that readers see before the head of the log moves is no reason to
// build the index anew, neither for who follows nor for the check.
func TestACommitBeforeItsHeadIsNoReasonToRebuild(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	h.commit(`UPDATE entries SET text = 'Donaudampfschifffahrtsgesellschaftskapitän' WHERE text LIKE 'Guten Morgen%'`)
	if err := h.index.Check(context.Background()); err != nil {
		t.Errorf("check: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for range 2 {
		if err := h.index.CatchUp(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if p := h.index.Progress(); p.Rebuilding || p.Reason != "" || h.index.serving.number != 1 {
		t.Errorf("generation %d answers: %+v", h.index.serving.number, p)
	}
}

// An index of another archive is built anew, and says why in numbers.
func TestARebuildSaysWhy(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	if p := h.index.Progress(); p.Reason != "" {
		t.Errorf("a whole index says %q", p.Reason)
	}
	at := h.index.position()
	advance := func(st state) state {
		st.Position = archive.Position{Epoch: at.Epoch, Seq: at.Seq + 40}
		return st
	}
	if err := h.index.indexMeetings(context.Background(), h.index.serving, []int64{1}, advance); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	h.index.log = zerolog.New(&log)
	h.catchUp()
	reason := strings.ReplaceAll(log.String(), `\"`, `"`)
	for _, part := range []string{"after change ", at.Epoch, "ends at " + at.String()} {
		if !strings.Contains(reason, part) {
			t.Errorf("the reason %q lacks %q", reason, part)
		}
	}
	if p := h.index.Progress(); p.Reason != "" || h.index.serving.number != 2 {
		t.Errorf("afterwards generation %d answers: %+v", h.index.serving.number, p)
	}
}

// TestASuccessorLacksNothing has a meeting arrive, and found, while the index is built anew: it is
// found as well once the successor answers.
func TestASuccessorLacksNothing(t *testing.T) {
	h, ctx := newFixture(t), t.Context()
	x := h.index
	x.busy = func() bool { return true } // the walk has more than one step
	for i := range 2 * busyMeetings {
		h.add(meeting(int64(i+1), "Plan", "en", day(1+i), nil, nil))
	}
	h.catchUp()
	serving := x.serving
	next, err := x.startNext(ctx, serving)
	if err != nil {
		t.Fatal(err)
	}
	first, err := x.readChunk(ctx, next, next.buildState())
	if err != nil {
		t.Fatal(err)
	}
	if err := x.writeChunk(ctx, next, first); err != nil {
		t.Fatal(err)
	}
	h.add(meeting(77, "Walrus", "en", day(28), nil, nil)) // which the rest of the walk does not meet
	if _, err := x.follow(ctx, serving); err != nil {
		t.Fatal(err)
	}
	before, _ := x.Reached(everyone)
	if err := x.build(ctx, serving, next); err != nil {
		t.Fatal(err)
	}
	after, whole := x.Reached(everyone)
	if a := h.search(Request{Query: "walrus"}); x.serving != next || !whole || after != before || hitIDs(a) != "77" {
		t.Errorf("generation %d finds %q at %v (%v), the one before was at %v", x.serving.number, hitIDs(a), after, whole, before)
	}
}

// TestASuccessorThatWasInterruptedLacksNothing has the program end between the walk of a successor
// and its following of the log: a meeting that was found before is found after the restart too.
func TestASuccessorThatWasInterruptedLacksNothing(t *testing.T) {
	h, ctx := newFixture(t), t.Context()
	x := h.index
	h.add(threeMeetings()...)
	h.catchUp()
	serving := x.serving
	next, err := x.startNext(ctx, serving)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.fillGeneration(ctx, next, next); err != nil {
		t.Fatal(err)
	}
	h.add(meeting(77, "Penguin", "en", day(28), nil, nil))
	if _, err := x.follow(ctx, serving); err != nil {
		t.Fatal(err)
	}
	before, _ := x.Reached(everyone)
	h.close()
	h.open()
	after, whole := h.index.Reached(everyone)
	if a := h.search(Request{Query: "penguin"}); !whole || after != before || hitIDs(a) != "77" {
		t.Errorf("after the restart it finds %q at %v (%v), before it was at %v", hitIDs(a), after, whole, before)
	}
	h.catchUp()
	if a := h.search(Request{Query: "penguin"}); h.index.serving.number != next.number || h.index.Progress().Rebuilding || hitIDs(a) != "77" {
		t.Errorf("generation %d finds %q: %+v", h.index.serving.number, hitIDs(a), h.index.Progress())
	}
}

// TestARebuildFillsNoDisk has a rebuild wait for room, before it begins and in the middle of
// it: the index that answers follows the archive meanwhile, and the reason is told.
func TestARebuildFillsNoDisk(t *testing.T) {
	h := newFixture(t)
	x := h.index
	h.add(threeMeetings()...)
	h.catchUp()
	now, free := testNow, int64(0)
	x.now, x.room = func() time.Time { return now }, func(string) (int64, error) { return free, nil }
	looks := 0
	for i, room := range []func(string) (int64, error){
		func(string) (int64, error) { return roomLeft, nil }, // too little to begin
		func(string) (int64, error) {
			if looks++; looks > 1 {
				return roomLeft - 1, nil
			}
			return 2 * roomLeft, nil
		},
	} {
		x.room = room
		x.Rebuild()
		now = now.Add(2 * roomPause)
		h.catchUp()
		id := int64(10 + i)
		h.add(meeting(id, "Later", "en", day(28), []utterance{{0, "Anna Lee", "walrus"}}, nil))
		h.catchUp()
		a := h.search(Request{Query: "walrus"})
		if a.Total != i+1 || !a.Progress.Rebuilding || strings.Count(a.Progress.Reason, "no room") != 1 {
			t.Errorf("without room: %d found, %+v", a.Total, a.Progress)
		}
		if names, err := listGenerations(filepath.Join(h.dir, "index")); err != nil || len(names) != 1 || names[0].number != 1 {
			t.Errorf("there are %v, %v", names, err)
		}
	}
	x.room = func(string) (int64, error) { return 2 * roomLeft, nil }
	now = now.Add(2 * roomPause)
	h.catchUp()
	if p := x.Progress(); p.Rebuilding || p.Reason != "" || x.serving.number != 2 {
		t.Errorf("with room: generation %d, %+v", x.serving.number, p)
	}
}

// TestAFirstBuildingWaitsForRoom has the disk full until it is looked at for the third time.
func TestAFirstBuildingWaitsForRoom(t *testing.T) {
	h := newFixture(t)
	looks := 0
	h.index.roomPause, h.index.room = time.Millisecond, func(string) (int64, error) {
		if looks++; looks < 4 {
			return 0, nil
		}
		return roomLeft, nil
	}
	h.add(threeMeetings()...)
	h.catchUp()
	if checkAnswers(h); looks < 4 {
		t.Errorf("it looked %d times", looks)
	}
}
