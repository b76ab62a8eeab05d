package control

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"minutebook/archive/importer"
	"minutebook/internal/phrase"
	syncer "minutebook/sync"
)

// formatUTC writes a time for people of any zone: the archive's owner does not know the reader's.
func formatUTC(t time.Time) string { return t.UTC().Format(time.DateTime + " UTC") }

// examineOrganisations looks for accounts of different organisations.
func (e *examination) examineOrganisations(ctx context.Context, s *StatusResult) {
	for _, a := range s.Accounts {
		other, err := e.h.Archive.OtherOrganisation(ctx, a.Name)
		if err != nil {
			e.add("accounts", SeverityError, RemedyOf(err), "the lists of teams cannot be read: %s", phrase.Error(err))
		}
		if other != "" {
			e.add("accounts", SeverityError, "give each organisation an archive of its own, as docs/how-to/departments.md says",
				"%s and %s belong to different organisations of the service: what each shares with all is shown to the people of the other", a.Name, other)
		}
		if err != nil || other != "" {
			return
		}
	}
}

// examineImports looks at the watched folder and at its files.
func (e *examination) examineImports(s *StatusResult) {
	if folder := s.awayFolder(); folder != nil {
		e.add("import", SeverityError, "bring the folder back, or correct [import] watch: nothing is imported until then", "the watched folder %s: %s", folder.What, folder.Reason)
	}
	refused := 0
	for _, f := range s.Failures {
		if f.Class == importer.FailureClass && !filepath.IsAbs(f.What) {
			refused++
		}
	}
	if refused > 0 {
		e.add("import", SeverityWarning, "see `minutebook status`, and docs/import.md for each reason", "%s in the watched folder", phrase.Count(refused, "file is refused", "files are refused"))
	}
}

// examineRetention looks at rules that fit no meeting, or other meetings than before.
func (e *examination) examineRetention(s *StatusResult) {
	if m := s.Moved; m != nil {
		e.add("retention", SeverityWarning, "see `minutebook retention --dry-run`, and write the new name into [retention] where the recordings shall stay",
			"the service has changed the team, type or start of %s, so that a rule deletes their recordings from %s on", phrase.Meetings(m.Meetings), formatUTC(m.From))
	}
	if s.Retention == nil {
		return
	}
	for _, n := range s.Retention.UnknownNames {
		e.add("retention", SeverityWarning, "correct the name in [retention], or leave it out", "%s", n)
	}
}

// awayFolder returns the failure of a watched folder that cannot be read, or nil.
func (s *StatusResult) awayFolder() *syncer.FailureStatus {
	i := slices.IndexFunc(s.Failures, func(f syncer.FailureStatus) bool { return f.Class == importer.FailureClass && filepath.IsAbs(f.What) })
	if i < 0 {
		return nil
	}
	return &s.Failures[i]
}

// oldBackup is the age from which on a backup is old.
const oldBackup = 8 * 24 * time.Hour

// examineUpkeep looks at the last backup, its proof and the checks.
func (e *examination) examineUpkeep(s *StatusResult, now time.Time) {
	upkeep := func(job string) UpkeepState {
		u := s.Upkeep[job]
		if s.Running && u.isAbandoned() { // without a daemon nobody knows the schedules
			u.Error, u.Warnings = "", nil
		}
		return u
	}
	b, p, v := upkeep(UpkeepBackup), upkeep(UpkeepProve), upkeep(UpkeepVerify)
	const again, schedule = "see why, and run `minutebook backup` again", "set [backup] schedule and to, or run `minutebook backup DIR`"
	switch age := now.Sub(b.Succeeded); {
	case b.Error != "":
		e.add("backup", SeverityError, again, "the last one, at %s, failed: %s", formatUTC(b.Began), b.Error)
	case b.Succeeded.IsZero() && b.Next.IsZero():
		e.add("backup", SeverityWarning, schedule, "none was ever made")
	case b.Succeeded.IsZero() && b.Next.Before(now):
		e.add("backup", SeverityNote, "", "none was made yet; the first one is due since %s", formatUTC(b.Next))
	case b.Succeeded.IsZero():
		e.add("backup", SeverityNote, "", "none was made yet; the first one is at %s", formatUTC(b.Next))
	case age > oldBackup:
		e.add("backup", SeverityWarning, schedule, "the last one is %d days old", int(age.Hours()/24))
	case len(b.Warnings) > 0:
		e.add("backup", SeverityWarning, "see docs/backup.md", "%s", strings.Join(b.Warnings, "; "))
	default:
		e.add("backup", SeverityOK, "", "the last one is of %s: %s", formatUTC(b.Succeeded), b.Result)
	}
	switch {
	case p.Error != "":
		e.add("proof of the backup", SeverityError, "see the reason; where it is damage, the next backup reads the older ones and copies damaged recordings anew (at once: `minutebook backup --reread DIR`); the daemon tries again within a day", "it failed: %s", p.Error)
	case !p.Succeeded.IsZero():
		e.add("proof of the backup", SeverityOK, "", "%s", p.Result)
	case !b.Succeeded.IsZero():
		e.add("proof of the backup", SeverityNote, "set [backup] prove, or restore it for a try", "it was never restored")
	}
	switch n := v.Damaged(); {
	case n > 0:
		e.add("check", SeverityError, "`minutebook verify` lists the damage, `minutebook verify --repair` repairs it", "%s found", phrase.Count(n, "damage was", "damages were"))
	case v.Error != "":
		e.add("check", SeverityError, "run `minutebook verify`", "the last one, at %s, failed: %s", formatUTC(v.Began), v.Error)
	case v.Whole.IsZero() && !v.Next.IsZero():
		e.add("check", SeverityNote, "", "the archive is checked slice by slice, and not yet as a whole; `minutebook verify` does it at once")
	case v.Whole.IsZero():
		e.add("check", SeverityNote, "", "the archive was never checked as a whole; with [verify] schedule the daemon does it slice by slice, or run `minutebook verify`")
	default:
		e.add("check", SeverityOK, "", "the whole archive was checked by %s, without damage", formatUTC(v.Whole))
	}
}

// examineChannels looks at the channels on which people are told.
func (e *examination) examineChannels(s *StatusResult) {
	failing := 0
	for _, c := range s.Notify {
		if c.Error != "" {
			failing++
			e.add("messages", SeverityError, "correct the reason, or [notify], and `minutebook reload`: nobody is told by it until then",
				"%s fails since %s, and %s: %s", c.Name, formatUTC(c.Since), phrase.Count(c.Waiting, "message waits", "messages wait"), c.Error)
		}
	}
	for _, f := range s.Failures {
		if f.Class == digestClass {
			failing++
			e.add("messages", SeverityError, "correct the reason, or [notify]: it is tried again every quarter of an hour",
				"the digest for %s fails since %s: %s", f.What, formatUTC(f.First), f.Reason)
		}
	}
	switch {
	case failing > 0 || !s.Running:
	case len(s.Notify) == 0:
		e.add("messages", SeverityNote, "set [notify], as docs/notify.md says", "nobody is told when something needs a person")
	default:
		e.add("messages", SeverityOK, "", "%s, and none fails", phrase.Count(len(s.Notify), "channel", "channels"))
	}
}
