package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/control"
	"minutebook/receiver"
	syncer "minutebook/sync"
)

func TestStatusTellsOfEachAccount(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.Local)
	failure := syncer.FailureStatus{Account: "ann", Class: "download", What: "7", Reason: "generate recording: no such media",
		Tries: 2, Last: at, NextTry: at.Add(time.Hour)}
	stranger := syncer.FailureStatus{Account: "old", Class: "content", What: "8\n", Reason: "403", Tries: 1, Last: at}
	s := control.StatusResult{Version: "1", Running: true, Meetings: 12, WithTranscript: 11, WithSummary: 10, WithRecording: 4, Indexed: 12,
		Upkeep: map[string]control.UpkeepState{control.UpkeepBackup: {Next: at.Add(-2 * time.Hour)},
			control.UpkeepProve: {Began: at.Add(-48 * time.Hour), Next: at.Add(-time.Hour)}, control.UpkeepVerify: {Next: at.Add(time.Hour)}},
		Activities: []control.Activity{{Name: "backup", Since: at}},
		Receiver:   &receiver.Counts{Accepted: 3, Duplicates: 1, Refused: map[int]int64{413: 1, 401: 2}},
		Status: syncer.Status{
			Inbox:     inbox.Counts{Applied: 3, Received: 1},
			Downloads: syncer.DownloadStatus{Queue: map[archive.DownloadState]int{archive.DownloadWanted: 6, archive.DownloadDone: 4}, Rate: 2e6, Left: 90},
			Failures:  []syncer.FailureStatus{failure, stranger},
			Accounts: []syncer.AccountStatus{{
				Name: "ann", Coverage: archive.Coverage{Meetings: 12, WithTranscript: 11, WithSummary: 10, WithRecording: 4, RecordingsToDo: 6},
				LastSuccess: map[string]time.Time{"walk": at}, NextRun: map[string]time.Time{"walk": at.Add(24 * time.Hour), "refresh": at.Add(time.Hour)},
				Running:      []string{"refresh"},
				ContentTasks: 2, NextContentTask: at.Add(time.Minute), OpenFailures: 3, Failures: []syncer.FailureStatus{failure},
				Budget: []api.Usage{{Class: api.ClassHeavy, Used: 3, Limit: 5, Waiting: 1, Blocked: at}},
			}},
		}}
	var b strings.Builder
	if err := printStatus(&b, s, at); err != nil {
		t.Fatal(err)
	}
	want := `minutebook 1, the daemon is running

meetings               12
  with transcript      11
  with summary         10
  with recording        4
  indexed              12

deliveries            3 applied, 1 waiting, 0 in quarantine
received              3 new, 1 known since the start; refused 2 with 401, 1 with 413
running now      backup, since 2026-05-04 10:00:00
backup           last never, running now
trial restore    last never, due since 2026-05-04 09:00:00
verified         last never, next 2026-05-04 11:00:00
recordings       6 wanted, 4 done; at 2.0 MB/s 1m30s left

account ann
  sees 12 meetings: 11 with transcript, 10 with summary, 4 with recording
  to do: the full history has not been read yet
  to do: content of 2 meetings, of 0 now, next 2026-05-04 10:01:00
  to do: 6 recordings
  refresh    last never, running now
  walk       last 2026-05-04 10:00:00, next 2026-05-05 10:00:00
  heavy      3 of 5 calls this minute, 1 waiting, none before 2026-05-04 10:00:00
  failures
    download 7: generate recording: no such media (2 tries, last 2026-05-04 10:00:00, next 2026-05-04 11:00:00)
    and 2 more

other failures
  old content 8: 403 (1 try, last 2026-05-04 10:00:00)
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}
