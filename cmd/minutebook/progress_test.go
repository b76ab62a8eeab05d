package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	syncer "minutebook/sync"
)

func TestProgressIsALineEveryTenSecondsWhereNobodyWatches(t *testing.T) {
	var out strings.Builder
	now := time.Unix(1000, 0)
	p := &syncProgress{w: &out, now: func() time.Time { return now }}
	for i := range 26 {
		e := syncer.Event{Doing: "backfill", Found: i, Done: i == 25,
			Calls: map[api.Class]syncer.Calls{api.ClassHeavy: {Used: i, Limit: 30}}}
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Event(raw); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	waits := syncer.Event{Doing: "walk", Trouble: "connection\x1b[2J\nrefused"}
	if got := formatProgress(waits); !strings.HasSuffix(got, "tried again: connection[2J refused") {
		t.Errorf("a run that waits says %q", got)
	}
	until := time.Date(2026, 3, 1, 9, 0, 30, 0, time.Local)
	blocked := syncer.Event{Doing: "backfill", Found: 2, Calls: map[api.Class]syncer.Calls{api.ClassGlobal: {Used: 3, Limit: 60, Waiting: 1, Blocked: until, BlockedAccount: "ada"},
		api.ClassHeavy: {Used: 3, Limit: 30, Waiting: 1}, api.ClassToken: {Limit: 60, Blocked: until.Add(time.Minute), BlockedAccount: "bob"}}}
	if got := formatProgress(blocked); got != "backfill: 2 found, 0 kept, 0 to do, calls: global 3/60 (1 wait for the budget) heavy 3/30 (1 wait for the budget), "+
		"the service asks to wait: no global calls of ada before 2026-03-01 09:00:30, no token calls of bob before 2026-03-01 09:01:30" {
		t.Errorf("a run whose calls are refused says %q", got)
	}
	want := "backfill: 0 found, 0 kept, 0 to do, calls: heavy 0/30\n" +
		"backfill: 10 found, 0 kept, 0 to do, calls: heavy 10/30\n" +
		"backfill: 20 found, 0 kept, 0 to do, calls: heavy 20/30\n" +
		"done: 25 found, nothing new, calls: heavy 25/30\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestProgressIsWrittenOverOnATerminal(t *testing.T) {
	var out strings.Builder
	p := &syncProgress{w: &out, terminal: true, columns: func() int { return 30 }}
	for _, e := range []syncer.Event{
		{Doing: "backfill", Found: 120, Kept: 120, ToDo: 1234, Left: 90},
		{Doing: "walk", Found: 5, Trouble: "503 \x1b]0;x\a déjà\nvu encore"},
		{Doing: "walk", Found: 5, Calls: map[api.Class]syncer.Calls{api.ClassGlobal: {Blocked: time.Unix(0, 0)}}},
		{Doing: "walk", Found: 5, Bytes: 1000, Recordings: 1, Calls: map[api.Class]syncer.Calls{api.ClassToken: {Used: 1, Limit: 60}}, Done: true, Error: "no"},
	} {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Event(raw); err != nil {
			t.Fatal(err)
		}
	}
	want := "backfill: 120 found, 120 kept\x1b[K\n  calls: \x1b[K\n" +
		"\x1b[2Awalk: 5 found, 0 kept, 0 to d\x1b[K\n  calls: \x1b[K\n  tried again: 503 ]0;x déjà \x1b[K\n" +
		"\x1b[3Awalk: 5 found, 0 kept, 0 to d\x1b[K\n  calls: \x1b[K\n  the service asks to wait: n\x1b[K\n" +
		"\x1b[3Afailed: 5 found, 0 kept, 0 to\x1b[K\n  calls: token 1/60\x1b[K\n  1 recording (1.0 kB)\x1b[K\n"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out.String(), want)
	}
}
