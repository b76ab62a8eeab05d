package main

import (
	"fmt"
	"strings"
	"time"

	"minutebook/control"
)

// printUpkeep prints what runs now, the backups, the checks and the disk.
func printUpkeep(b *strings.Builder, s control.StatusResult) {
	for _, a := range s.Activities {
		fmt.Fprintf(b, "running now      %s%s, since %s\n", a.Name, formatDone(a), formatTime(a.Since))
	}
	names := map[string]string{control.UpkeepBackup: "backup", control.UpkeepProve: "restored for a try", control.UpkeepVerify: "verified"}
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
		if !u.Next.IsZero() {
			fmt.Fprintf(b, ", next %s", formatTime(u.Next))
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
			fmt.Fprintf(b, "  %d %s: minutebook verify names them\n", n, plural(n, "damage", "damages"))
		}
	}
	if s.Disk.Size > 0 {
		fmt.Fprintf(b, "disk             %s free of %s", formatBytes(s.Disk.Free), formatBytes(s.Disk.Size))
		if !s.Disk.FullAt.IsZero() {
			fmt.Fprintf(b, ", full at %s if it goes on so", s.Disk.FullAt.Local().Format(time.DateOnly))
		}
		b.WriteString("\n")
	}
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
