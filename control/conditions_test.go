package control_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/control"
	syncer "minutebook/sync"
)

func TestConditions(t *testing.T) {
	now := time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
	hour := func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
	account := func(a syncer.AccountStatus) control.StatusResult {
		a.Name = "ada"
		return control.StatusResult{Status: syncer.Status{Accounts: []syncer.AccountStatus{a}, Clock: &syncer.ClockStatus{}}}
	}
	upkeep := func(job string, u control.UpkeepState) control.StatusResult {
		return control.StatusResult{Upkeep: map[string]control.UpkeepState{job: u}}
	}
	away := func(since time.Time, what string) control.StatusResult {
		return control.StatusResult{Status: syncer.Status{Failures: []syncer.FailureStatus{{Account: "import", Class: "import", What: what, First: since}}}}
	}
	for name, c := range map[string]struct {
		state control.StatusResult
		want  []string
	}{
		"well":               {account(syncer.AccountStatus{LastSuccess: map[string]time.Time{"walk": hour(-2)}}), nil},
		"suspended":          {account(syncer.AccountStatus{Suspended: "401"}), []string{"account/ada", "silent/ada fades"}},
		"silent":             {account(syncer.AccountStatus{LastSuccess: map[string]time.Time{"walk": hour(-25)}}), []string{"silent/ada"}},
		"never":              {account(syncer.AccountStatus{}), []string{"silent/ada"}},
		"added just now":     {account(syncer.AccountStatus{UsableSince: hour(-1)}), []string{"silent/ada fades"}},
		"back just now":      {account(syncer.AccountStatus{UsableSince: hour(-1), LastSuccess: map[string]time.Time{"walk": hour(-50)}}), []string{"silent/ada fades"}},
		"no list read yet":   {control.StatusResult{Status: syncer.Status{Accounts: []syncer.AccountStatus{{LastSuccess: map[string]time.Time{"walk": now}}}}}, []string{"clock fades"}},
		"rules not used yet": {control.StatusResult{MovedUnknown: true}, []string{"retention fades"}},
		"by a wrong clock":   {account(syncer.AccountStatus{LastSuccess: map[string]time.Time{"walk": hour(9000)}}), []string{"silent/ada"}},
		"clock ahead":        {control.StatusResult{Status: syncer.Status{Clock: &syncer.ClockStatus{AheadSeconds: 300}}}, []string{"clock"}},
		"clock behind":       {control.StatusResult{Status: syncer.Status{Clock: &syncer.ClockStatus{AheadSeconds: -300}}}, []string{"clock"}},
		"clock nearly so":    {control.StatusResult{Status: syncer.Status{Clock: &syncer.ClockStatus{AheadSeconds: 30}}}, nil},
		"full disk":          {control.StatusResult{Disk: control.Disk{Free: 1 << 20, Size: 1 << 40}}, []string{"disk"}},
		"small disk":         {control.StatusResult{Disk: control.Disk{Free: 100 << 20, Size: 160 << 20}}, nil},
		"disk in a week":     {control.StatusResult{Disk: control.Disk{FullAt: hour(100)}}, []string{"disk"}},
		"disk in 8 days":     {control.StatusResult{Disk: control.Disk{FullAt: hour(180)}}, []string{"disk fades"}},
		"disk nearly full":   {control.StatusResult{Disk: control.Disk{Free: 600 << 20, Size: 1 << 40}}, []string{"disk fades"}},
		"clock nearly well":  {control.StatusResult{Status: syncer.Status{Clock: &syncer.ClockStatus{AheadSeconds: 200}}}, []string{"clock fades"}},
		"disk later":         {control.StatusResult{Disk: control.Disk{FullAt: hour(200)}}, nil},
		"backup failed":      {upkeep(control.UpkeepBackup, control.UpkeepState{Error: "no"}), []string{"upkeep/backup"}},
		"backup was failing": {upkeep(control.UpkeepBackup, control.UpkeepState{Error: "no", Scheduled: true}), nil},
		"backup still fails": {upkeep(control.UpkeepBackup, control.UpkeepState{Error: "no", Scheduled: true, Next: hour(9)}), []string{"upkeep/backup"}},
		"backup with doubt":  {upkeep(control.UpkeepBackup, control.UpkeepState{Warnings: []string{"?"}}), []string{"upkeep-warning/backup"}},
		"damage":             {upkeep(control.UpkeepVerify, control.UpkeepState{Damages: map[int]int{3: 1}}), []string{"damage"}},
		"deleted soon":       {control.StatusResult{Moved: &archive.MovedMeetings{Meetings: 2}}, []string{"retention"}},
		"quarantine":         {control.StatusResult{Status: syncer.Status{Inbox: inbox.Counts{Quarantined: 1}}}, []string{"quarantine"}},
		"folder away":        {away(hour(-2), "/srv/meetings"), []string{"import"}},
		"folder just away":   {away(now, "/srv/meetings"), nil},
		"file refused":       {away(hour(-2), "a.vtt"), nil},
		"lapsed":             {control.StatusResult{Status: syncer.Status{Downloads: syncer.DownloadStatus{Lapsed: 2}}}, []string{"lapsed"}},
	} {
		var keys []string
		for _, condition := range c.state.Conditions(now, hour(-48)) {
			if condition.Fading {
				condition.Key += " fades"
			}
			keys = append(keys, condition.Key)
		}
		if !slices.Equal(keys, c.want) {
			t.Errorf("%s: %v, want %v", name, keys, c.want)
		}
		if young := c.state.Conditions(now, hour(-1)); name == "never" && (len(young) != 1 || !young[0].Fading) {
			t.Errorf("a daemon that began an hour ago says %+v", young)
		}
	}
	two := control.StatusResult{Status: syncer.Status{Accounts: []syncer.AccountStatus{
		{LastSuccess: map[string]time.Time{syncer.JobCatchUp: hour(-1)}}, {LastSuccess: map[string]time.Time{syncer.JobCatchUp: hour(-3)}}}}}
	if at := two.FullSuccess(); !at.Equal(hour(-3)) {
		t.Errorf("full success at %v", at)
	}
	two.Accounts[1].Suspended = "401"
	if at := two.FullSuccess(); !at.IsZero() {
		t.Errorf("full success at %v with a suspended account", at)
	}
}

// TestEveryMessageHasAHowTo reads the keys of the messages from the source: the table of
// docs/notify.md has each, and so has "Messages" of docs/how-to/failures.md.
func TestEveryMessageHasAHowTo(t *testing.T) {
	read := func(path string) string {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	keys := []string{"archive", "version"} // of the daemon itself
	for _, m := range regexp.MustCompile(`\badd\("([a-z/-]+)"(\+)?`).FindAllStringSubmatch(read("conditions.go"), -1) {
		switch key := m[1]; {
		case key == "upkeep/":
			keys = append(keys, key+control.UpkeepBackup, key+control.UpkeepProve, key+control.UpkeepVerify)
		case key == "upkeep-warning/": // the others have none
			keys = append(keys, key+control.UpkeepBackup)
		case m[2] != "":
			keys = append(keys, key+"NAME")
		default:
			keys = append(keys, key)
		}
	}
	if len(keys) < 14 {
		t.Errorf("only %q were read", keys)
	}
	_, messages, _ := strings.Cut(read("../docs/how-to/failures.md"), "\n## Messages\n")
	messages, _, _ = strings.Cut(messages, "\n## ")
	notify := read("../docs/notify.md")
	for _, key := range keys {
		if !regexp.MustCompile("(?m)^\\| [^|]*`" + key + "`").MatchString(notify) {
			t.Errorf("the table of notify.md has no row of %s", key)
		}
		if !strings.Contains(messages, "`"+key+"`") {
			t.Errorf("failures.md has nothing under Messages about %s", key)
		}
	}
}
