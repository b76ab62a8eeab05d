package control

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
	"minutebook/internal/notify"
	"minutebook/internal/s3test"
	"minutebook/internal/sqlite"
	"minutebook/receiver"
	syncer "minutebook/sync"
)

func TestDoctorJudgesClockAndSpace(t *testing.T) {
	at := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for away, want := range map[time.Duration]Severity{0: SeverityOK, -9 * time.Second: SeverityOK, 11 * time.Second: SeverityWarning, -time.Hour: SeverityError} {
		var e examination
		e.examineClock(at, at.Add(away))
		if len(e.findings) != 1 || e.findings[0].Severity != want {
			t.Errorf("%s away: %+v", away, e.findings)
		}
	}
	const day = 24 * time.Hour
	for _, tc := range []struct {
		free, daily int64
		full        time.Duration // after at; 0: not known
		want        Severity
		text        string
	}{
		{1 << 30, 0, 0, SeverityOK, "1.1 GB are free"},
		{1 << 30, 1 << 20, 0, SeverityOK, "enough for more than a year at the 1.0 MB a day"},
		{6 << 30, 1 << 30, 0, SeverityWarning, "enough for 6 days at the 1.1 GB a day of the last month"},
		{6 << 30, 0, 7*day - 1, SeverityWarning, "enough for 6 days at the pace of the last days"},
		{6 << 30, 1 << 20, 2 * day, SeverityWarning, "enough for 2 days at the pace of the last days"},
		{6 << 30, 1 << 30, 90 * day, SeverityWarning, "enough for 6 days at the 1.1 GB a day of the last month"},
		{6 << 30, 0, 7 * day, SeverityOK, "enough for 7 days at the pace of the last days"},
		{1 << 28, 0, 0, SeverityWarning, "it is nearly full"},
		{1 << 28, 1, 0, SeverityWarning, "it is nearly full"},
	} {
		var e examination
		disk := Disk{Free: tc.free, Size: 1 << 40}
		if tc.full > 0 {
			disk.FullAt = at.Add(tc.full)
		}
		e.examineSpace(disk, tc.daily, at)
		if len(e.findings) != 1 || e.findings[0].Severity != tc.want || !strings.Contains(e.findings[0].Text, tc.text) {
			t.Errorf("%+v: %+v", tc, e.findings)
		}
	}
}

// TestDoctorForeseesAFullDisk has an archive without recordings, whose disk had twice the free
// space two days ago.
func TestDoctorForeseesAFullDisk(t *testing.T) {
	h := Deps{Archive: archivetest.New(t)}
	disk, err := h.disk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if disk.Free < disk.leastFree() {
		t.Skip("the disk is nearly full")
	}
	raw, err := json.Marshal([]sample{{h.Archive.Now().Add(-48 * time.Hour), 2 * disk.Free}})
	if err == nil {
		err = h.Archive.SetMarks(t.Context(), archive.Mark{Key: diskKey, Value: raw})
	}
	if err != nil {
		t.Fatal(err)
	}
	e := examination{h: h}
	e.examineDisk(t.Context())
	if f := e.findings[len(e.findings)-1]; f.Severity != SeverityWarning || !strings.Contains(f.Text, "at the pace of the last days") {
		t.Errorf("%+v", e.findings)
	}
}

// TestDoctorSaysWhatToDo judges states that are well but for one thing: each is found with
// its severity and an advice.
func TestDoctorSaysWhatToDo(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	well := func() *StatusResult {
		return &StatusResult{Running: true, Meetings: 3, Indexed: 3, Upkeep: map[string]UpkeepState{
			UpkeepBackup: {Succeeded: now.Add(-time.Hour), Result: "to /mnt/usb"}, UpkeepProve: {Succeeded: now, Result: "restored and verified"},
			UpkeepVerify: {Whole: now}}}
	}
	upkeep := func(job string, u UpkeepState) func(*StatusResult) {
		return func(s *StatusResult) { s.Upkeep[job] = u }
	}
	account := func(a syncer.AccountStatus) func(*StatusResult) {
		return func(s *StatusResult) { a.Name = "ada"; s.Accounts = []syncer.AccountStatus{a} }
	}
	failure := func(class, what string) func(*StatusResult) {
		return func(s *StatusResult) {
			s.Failures = []syncer.FailureStatus{{Class: class, What: what, Reason: "no"}}
		}
	}
	for name, c := range map[string]struct {
		change   func(*StatusResult)
		subject  string
		severity Severity
		text     string // in the finding and its advice
	}{
		"well":          {func(*StatusResult) {}, "archive", SeverityOK, "3 meetings"},
		"rebuilding":    {func(s *StatusResult) { s.Rebuilding, s.RebuildReason = true, "new rules" }, "index", SeverityNote, "new rules"},
		"index behind":  {func(s *StatusResult) { s.Indexed = 1 }, "index", SeverityWarning, "1 of 3 meetings are indexed: wait; if the number stays, run `minutebook verify --repair`"},
		"log is read":   {func(s *StatusResult) { s.Forgetting, s.ForgettingLogs = 2, []string{"inbox.db"} }, "forgetting", SeverityWarning, "2 forgotten meetings are not"},
		"folder away":   {failure("import", "/srv/meetings"), "import", SeverityError, "/srv/meetings: no"},
		"files refused": {failure("import", "a.vtt"), "import", SeverityWarning, "1 file is refused"},
		"digest fails":  {failure("digest", "ann@acme.example"), "messages", SeverityError, "the digest for ann@acme.example fails"},
		"no daemon":     {func(s *StatusResult) { s.Running = false }, "daemon", SeverityWarning, "no daemon"},
		"quarantine":    {func(s *StatusResult) { s.Inbox = inbox.Counts{Quarantined: 1} }, "deliveries", SeverityWarning, "1 delivery is"},
		"wrong secret": {func(s *StatusResult) { s.Receiver = &receiver.Counts{Accepted: 1, Refused: map[int]int64{401: 2}} },
			"deliveries", SeverityWarning, "2 were refused"},
		"strangers": {func(s *StatusResult) { s.Receiver = &receiver.Counts{Accepted: 3, Refused: map[int]int64{401: 2}} },
			"deliveries", SeverityNote, "2 were refused"},
		"refused account": {account(syncer.AccountStatus{Suspended: "401"}), "account ada", SeverityError, "401"},
		"failing calls":   {account(syncer.AccountStatus{OpenFailures: 2}), "account ada", SeverityWarning, "2 calls"},
		"names of nothing": {func(s *StatusResult) {
			s.Retention = &archive.RetentionHold{UnknownNames: []archive.UnknownName{{Rule: 1, Kind: "team", Name: "Opps", Nearest: "Ops"}}}
		}, "retention", SeverityWarning, `names the team "Opps", which no meeting has; did you mean "Ops"?`},
		"deleted soon": {func(s *StatusResult) { s.Moved = &archive.MovedMeetings{Meetings: 2, From: now} },
			"retention", SeverityWarning, "of 2 meetings, so that a rule deletes their recordings from 2026-06-01 12:00:00 UTC on"},
		"downloads pause":    {func(s *StatusResult) { s.Downloads.Paused = "the disk is nearly full" }, "recordings", SeverityWarning, "nearly full"},
		"part of sync":       {func(s *StatusResult) { s.Problems = []string{"the disk is full"} }, "sync", SeverityWarning, "the disk is full"},
		"needs a restart":    {func(s *StatusResult) { s.Configuration = &ConfigurationState{NeedsRestart: []string{"web.listen"}} }, "configuration", SeverityWarning, "web.listen"},
		"backup failed":      {upkeep(UpkeepBackup, UpkeepState{Error: "no room"}), "backup", SeverityError, "no room"},
		"no backup":          {upkeep(UpkeepBackup, UpkeepState{}), "backup", SeverityWarning, "none was ever made"},
		"first backup":       {upkeep(UpkeepBackup, UpkeepState{Next: now.Add(time.Hour)}), "backup", SeverityNote, "13:00"},
		"old backup":         {upkeep(UpkeepBackup, UpkeepState{Succeeded: now.Add(-9 * 24 * time.Hour)}), "backup", SeverityWarning, "9 days"},
		"backup with doubts": {upkeep(UpkeepBackup, UpkeepState{Succeeded: now, Warnings: []string{"2 meetings are missing"}}), "backup", SeverityWarning, "2 meetings"},
		"proof not wanted":   {upkeep(UpkeepProve, UpkeepState{Error: "hash", Scheduled: true}), "proof of the backup", SeverityNote, "never restored"},
		"proof failed":       {upkeep(UpkeepProve, UpkeepState{Error: "hash"}), "proof of the backup", SeverityError, "hash"},
		"never proven":       {upkeep(UpkeepProve, UpkeepState{}), "proof of the backup", SeverityNote, "never restored"},
		"damage":             {upkeep(UpkeepVerify, UpkeepState{Whole: now, Damages: map[int]int{1: 2}}), "check", SeverityError, "2 damages"},
		"check failed":       {upkeep(UpkeepVerify, UpkeepState{Error: "malformed"}), "check", SeverityError, "malformed"},
		"not wholly checked": {upkeep(UpkeepVerify, UpkeepState{Next: now}), "check", SeverityNote, "slice by slice, and not yet as a whole"},
		"a channel fails": {func(s *StatusResult) {
			s.Notify = []notify.ChannelState{{Name: "good"}, {Name: "mail", Waiting: 2, Error: "it does not answer", Since: now}}
		}, "messages", SeverityError, "mail fails since 2026-06-01 12:00:00 UTC, and 2 messages wait: it does not answer"},
		"channels work": {func(s *StatusResult) { s.Notify = []notify.ChannelState{{Name: "mail"}} }, "messages", SeverityOK, "1 channel, and none fails"},
		"no channel":    {func(*StatusResult) {}, "messages", SeverityNote, "nobody is told"},
		"never checked": {upkeep(UpkeepVerify, UpkeepState{}), "check", SeverityNote, "never checked"},
	} {
		s := well()
		c.change(s)
		var e examination
		e.judgeState(s, now)
		found := false
		for _, f := range e.findings {
			needsAct := f.Severity == SeverityWarning || f.Severity == SeverityError
			if needsAct && f.Remedy == "" {
				t.Errorf("%s: no remedy: %+v", name, f)
			}
			if f.Subject == c.subject && f.Severity == c.severity && strings.Contains(f.Text+": "+f.Remedy, c.text) {
				found = true
			} else if needsAct {
				t.Errorf("%s: also finds %+v", name, f)
			}
		}
		if !found {
			t.Errorf("%s: found %+v", name, e.findings)
		}
	}
}

// TestDoctorFindsALock has another program that writes one database for long.
func TestDoctorFindsALock(t *testing.T) {
	e := examination{h: Deps{Archive: archivetest.New(t)}}
	if !e.examineLocks(t.Context(), time.Minute) || len(e.findings) > 0 {
		t.Errorf("nothing is locked: %+v", e.findings)
	}
	other := sqlite.Connect(filepath.Join(e.h.Archive.Dir(), "inbox.db"), "?_txlock=immediate", nil)
	defer other.Close()
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if e.examineLocks(t.Context(), time.Millisecond) || len(e.findings) != 1 || !strings.Contains(e.findings[0].Text, "inbox.db: another program has locked it") || !strings.Contains(e.findings[0].Remedy, "end that program") {
		t.Errorf("inbox.db is locked: %+v", e.findings)
	}
}

// TestDoctorAsksTheStoreOfRecordings takes the store away while the archive is open.
func TestDoctorAsksTheStoreOfRecordings(t *testing.T) {
	a := archivetest.New(t)
	for _, want := range []Severity{SeverityOK, SeverityError} {
		e := examination{h: Deps{Archive: a}}
		e.examineMedia(t.Context(), false)
		if len(e.findings) != 1 || e.findings[0].Severity != want || (want == SeverityError) != strings.Contains(e.findings[0].Text, "mount its file system") {
			t.Errorf("%+v", e.findings)
		}
		if err := os.RemoveAll(filepath.Join(a.Dir(), "media")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDoctorMissesTheFolderOfTheIndex has an archive without the folder, with a daemon and
// without.
func TestDoctorMissesTheFolderOfTheIndex(t *testing.T) {
	e := examination{h: Deps{Archive: archivetest.New(t)}}
	e.examineIndexFolder(false)
	if e.examineIndexFolder(true); len(e.findings) != 1 || !strings.Contains(e.findings[0].Remedy, "builds the index anew") {
		t.Errorf("%+v", e.findings)
	}
}

// TestDoctorTellsOrganisationsApart has two accounts that are shown the same team, and then none.
func TestDoctorTellsOrganisationsApart(t *testing.T) {
	a := archivetest.New(t)
	s := &StatusResult{Status: syncer.Status{Accounts: []syncer.AccountStatus{{Name: "ann"}, {Name: "bob"}}}}
	for i, team := range []string{"Sales", "Research"} {
		if err := errors.Join(a.PutTeams(t.Context(), "bob", []api.Team{{Name: team}}), a.PutTeams(t.Context(), "ann", []api.Team{{Name: "Sales"}})); err != nil {
			t.Fatal(err)
		}
		e := examination{h: Deps{Archive: a}}
		if e.examineOrganisations(t.Context(), s); len(e.findings) != i || i > 0 && !strings.HasPrefix(e.findings[0].Text, "ann and bob belong to different organisations") {
			t.Errorf("%+v", e.findings)
		}
	}
}

// TestDoctorLooksAtThePlaceOfTheBackups has a bucket that works, none, a server that refuses
// the credentials, and no server; and directories that are there, will be made, are a file,
// and were there. Each fault is named with what to do, and without a secret.
func TestDoctorLooksAtThePlaceOfTheBackups(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	server := s3test.Start(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	const wrong = "a wrong secret of some length"
	for _, c := range []struct {
		to, secret, want string
		severity         Severity
	}{
		{server.URL("recordings", "backups"), "", "it can be listed", SeverityOK},
		{server.URL("no-such-bucket", "backups"), "", "make the bucket", SeverityError},
		{server.URL("recordings", "backups"), wrong, "correct the credentials", SeverityError},
		{"s3://recordings/backups?region=us-east-1&endpoint=" + gone.URL, "", "it cannot be reached", SeverityError},
		{"s3://recordings?parameter=1", "", "unknown parameter", SeverityError},
		{"", "", "", ""},
		{dir, "", "can be written", SeverityOK},
		{dir + "/none/x", "", "is not there yet", SeverityNote},
		{file + "/x", "", "not a directory", SeverityError},
		{file, "", file + " is no directory", SeverityError},
		{dir + "/unmounted", "made", "is not there, and backups were made", SeverityError},
	} {
		t.Run(c.want, func(t *testing.T) {
			h := Deps{Archive: a, Proof: Proof{From: c.to}}
			if c.secret == "made" {
				if err := h.keepUpkeep(t.Context(), UpkeepBackup, UpkeepState{Succeeded: time.Unix(1, 0)}); err != nil {
					t.Fatal(err)
				}
			} else if c.secret != "" {
				t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
			}
			e := examination{h: h}
			e.examineBackupPlace(t.Context(), false)
			if c.severity == "" {
				if len(e.findings) > 0 {
					t.Errorf("%q: %+v", c.to, e.findings)
				}
				return
			}
			if len(e.findings) != 1 || e.findings[0].Severity != c.severity || !strings.Contains(e.findings[0].Text, c.want) || strings.Contains(e.findings[0].Text, os.Getenv("AWS_SECRET_ACCESS_KEY")) || (c.severity == SeverityError) != (e.findings[0].Remedy != "") {
				t.Errorf("%+v", e.findings)
			}
		})
	}
}

// TestDoctorReadsTheKeysOfTheBackups has no file of keys, one that is not there, and none of keys.
func TestDoctorReadsTheKeysOfTheBackups(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("AGE-SECRET-KEY-1 no more"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"": "", file + ".gone": "no such file", file: "not as age-keygen writes it"} {
		e := examination{h: Deps{Archive: archivetest.New(t), Proof: Proof{Identity: path}}}
		e.examineBackupPlace(t.Context(), true)
		if len(e.findings) == 0 && want == "" {
			continue
		}
		if len(e.findings) != 1 || e.findings[0].Severity != SeverityError || !strings.Contains(e.findings[0].Text, want) || strings.Contains(e.findings[0].Text, "no more") {
			t.Errorf("%q: %+v", path, e.findings)
		}
	}
}

// TestDoctorOfflineCallsNoBucket has recordings in a bucket whose server would be called.
func TestDoctorOfflineCallsNoBucket(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	place := "s3://recordings/media?region=us-east-1&endpoint=" + server.URL
	a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, MediaURL: place, Logger: zerolog.Nop(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, offline := range []bool{true, false} {
		before := calls.Load()
		e := examination{h: Deps{Archive: a, Proof: Proof{From: place}}}
		e.examineMedia(t.Context(), offline)
		e.examineBackupPlace(t.Context(), offline)
		if got := calls.Load() - before; offline != (got == 0) || offline != (len(e.findings) == 0) {
			t.Errorf("offline %v: %d calls, %+v", offline, got, e.findings)
		}
	}
}
