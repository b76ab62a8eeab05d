package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/control"
	"minutebook/internal/phrase"
	"minutebook/receiver"
	syncer "minutebook/sync"

	"github.com/dustin/go-humanize"
)

// printReceived prints the receiver's counts since the start of the daemon.
func printReceived(b *strings.Builder, c receiver.Counts) {
	fmt.Fprintf(b, "received         %6d new, %d known since the start", c.Accepted, c.Duplicates)
	for i, status := range slices.Sorted(maps.Keys(c.Refused)) {
		if i == 0 {
			b.WriteString("; refused")
		}
		fmt.Fprintf(b, " %d with %d", c.Refused[status], status)
		if i < len(c.Refused)-1 {
			b.WriteString(",")
		}
	}
	b.WriteString("\n")
}

// printDownloads prints the state of the download queue.
func printDownloads(b *strings.Builder, d syncer.DownloadStatus) {
	var parts []string
	for _, state := range []archive.DownloadState{archive.DownloadWanted, archive.DownloadRequested, archive.DownloadReady,
		archive.DownloadDone, archive.DownloadRefused, archive.DownloadNone, archive.DownloadDeleted} {
		if n := d.Queue[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	if len(parts) == 0 {
		parts = []string{"none in the queue"}
	}
	fmt.Fprintf(b, "recordings       %s", strings.Join(parts, ", "))
	if d.Rate > 0 && d.Left >= 1 {
		fmt.Fprintf(b, "; at %s/s %v left", humanize.Bytes(uint64(d.Rate)), toDuration(d.Left))
	}
	b.WriteString("\n")
	if d.Paused != "" {
		fmt.Fprintf(b, "recordings wait: %s\n", d.Paused)
	}
}

// printAccount prints the coverage of an account's meetings, the backlog, the jobs,
// the calls of this minute and the failures.
func printAccount(b *strings.Builder, a syncer.AccountStatus, now time.Time) {
	fmt.Fprintf(b, "\naccount %s\n", a.Name)
	if a.Suspended != "" {
		fmt.Fprintf(b, "  suspended since %s: %s\n", formatTime(a.SuspendedSince), a.Suspended)
	}
	c := a.Coverage
	fmt.Fprintf(b, "  sees %d %s: %d with transcript, %d with summary, %d with recording\n", c.Meetings,
		phrase.Plural(c.Meetings, "meeting", "meetings"), c.WithTranscript, c.WithSummary, c.WithRecording)
	printBacklog(b, a)
	for _, job := range slices.Sorted(maps.Keys(a.NextRun)) {
		last := "never"
		if at, ok := a.LastSuccess[job]; ok {
			last = formatTime(at)
		}
		next := formatNext(a.NextRun[job], now)
		if slices.Contains(a.Running, job) {
			next = "running now"
		}
		fmt.Fprintf(b, "  %-10s last %s, %s\n", job, last, next)
	}
	for _, u := range a.Budget {
		fmt.Fprintf(b, "  %-10s %d of %d calls this minute", u.Class, u.Used, u.Limit)
		if u.Waiting > 0 {
			fmt.Fprintf(b, ", %d waiting", u.Waiting)
		}
		if !u.Blocked.IsZero() {
			fmt.Fprintf(b, ", none before %s", formatTime(u.Blocked))
		}
		b.WriteString("\n")
	}
	for i, f := range a.Failures {
		if i == 0 {
			b.WriteString("  failures\n")
		}
		fmt.Fprintf(b, "    %s\n", formatFailure(f, now))
	}
	if more := a.OpenFailures - len(a.Failures); more > 0 {
		fmt.Fprintf(b, "    and %d more\n", more)
	}
}

func printBacklog(b *strings.Builder, a syncer.AccountStatus) {
	if !a.Backfilled {
		b.WriteString("  to do: the full history has not been read yet\n")
	}
	if a.ContentTasks > 0 {
		fmt.Fprintf(b, "  to do: content of %s, of %d now", phrase.Meetings(a.ContentTasks), a.ContentTasksDue)
		if a.ContentTasksDue == 0 && !a.NextContentTask.IsZero() {
			fmt.Fprintf(b, ", next %s", formatTime(a.NextContentTask))
		}
		b.WriteString("\n")
	}
	if n := a.Coverage.RecordingsToDo; n > 0 {
		fmt.Fprintf(b, "  to do: %s\n", phrase.Recordings(n))
	}
}

// formatFailure writes a failure without its account.
func formatFailure(f syncer.FailureStatus, now time.Time) string {
	line := fmt.Sprintf("%s %s: %s (%s, last %s", f.Class, phrase.Tame(f.What), f.Reason, phrase.Count(f.Tries, "try", "tries"), formatTime(f.Last))
	switch {
	case f.Running:
		line += ", tried again now"
	case !f.NextTry.IsZero():
		line += ", " + formatNext(f.NextTry, now)
	}
	return line + ")"
}

// formatNext writes when something is done next. It is late where it waits for other work,
// as the proof of a backup for a running backup.
func formatNext(next, now time.Time) string {
	if next.Before(now) {
		return "due since " + formatTime(next)
	}
	return "next " + formatTime(next)
}

func formatTime(t time.Time) string { return t.Local().Format(time.DateTime) }

func toDuration(n float64) time.Duration {
	return time.Duration(n * float64(time.Second)).Round(time.Second)
}

// printUpkeep prints the running activities, the backups, the checks and the disk.
func printUpkeep(b *strings.Builder, s control.StatusResult, now time.Time) {
	for _, a := range s.Activities {
		fmt.Fprintf(b, "running now      %s%s, since %s\n", a.Name, formatDone(a), formatTime(a.Since))
	}
	names := map[string]string{control.UpkeepBackup: "backup", control.UpkeepProve: "trial restore", control.UpkeepVerify: "verified"}
	for _, job := range []string{control.UpkeepBackup, control.UpkeepProve, control.UpkeepVerify} {
		u := s.Upkeep[job]
		if u.Began.IsZero() && u.Next.IsZero() {
			if job == control.UpkeepBackup {
				b.WriteString("backup           never (see [backup] in the configuration)\n")
			}
			continue
		}
		last := "never"
		if !u.Succeeded.IsZero() {
			last = formatTime(u.Succeeded) + " (" + u.Result + ")"
		}
		fmt.Fprintf(b, "%-17slast %s", names[job], last)
		switch {
		case slices.ContainsFunc(s.Activities, func(a control.Activity) bool { return a.Name == job }):
			b.WriteString(", running now")
		case !u.Next.IsZero():
			b.WriteString(", " + formatNext(u.Next, now))
		}
		b.WriteString("\n")
		if u.Slices > 1 {
			fmt.Fprintf(b, "  slice %d of %d is next", u.Slice+1, u.Slices)
			if !u.Whole.IsZero() {
				fmt.Fprintf(b, "; all of them since %s", formatTime(u.Whole))
			}
			b.WriteString("\n")
		}
		if u.Error != "" {
			fmt.Fprintf(b, "  failed at %s: %s\n", formatTime(u.Began), u.Error)
		}
		for _, w := range u.Warnings {
			fmt.Fprintf(b, "  %s\n", w)
		}
		if n := u.Damaged(); n > 0 {
			fmt.Fprintf(b, "  %s: minutebook verify lists the damage\n", phrase.Count(n, "damage", "damages"))
		}
	}
	printDisk(b, s.Disk)
}

func printDisk(b *strings.Builder, d control.Disk) {
	if d.Size == 0 {
		return
	}
	fmt.Fprintf(b, "disk             %s free of %s", humanize.Bytes(uint64(d.Free)), humanize.Bytes(uint64(d.Size)))
	if !d.FullAt.IsZero() {
		fmt.Fprintf(b, ", full at %s if it goes on so", d.FullAt.Local().Format(time.DateOnly))
	}
	b.WriteString("\n")
}

// formatDone writes the progress of an activity after its name.
func formatDone(a control.Activity) string {
	text := ""
	if a.Stage != "" {
		text = " of " + a.Stage
	}
	if a.Done > 0 {
		text += fmt.Sprintf(", %d", a.Done)
		if a.Total > 0 {
			text += fmt.Sprintf(" of %d", a.Total)
		}
	}
	return text
}
