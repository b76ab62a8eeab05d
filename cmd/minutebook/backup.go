package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"minutebook/archive/backup"
	"minutebook/archive/generation"
	"minutebook/control"
	"minutebook/internal/bucket"
	"minutebook/internal/phrase"
)

// doubtsCode is the exit code of a complete backup that removed no older
// generation, for a reason that a person has to look at.
const doubtsCode = 3

// lostCode is the exit code of a backup without some recordings, because their
// files in the archive are missing or damaged.
const lostCode = 4

func (m *Main) backupCmd() *cobra.Command {
	var q control.BackupRequest
	cmd := &cobra.Command{
		Use:   "backup DIR|s3://BUCKET/PREFIX",
		Short: "Copy the whole archive to a directory, while everything goes on",
		Long: "Adds a generation to a directory of backups and removes the oldest ones beyond --keep.\n\n" +
			"The exit code is 3 when the backup is whole, and no older one was removed because it holds\n" +
			"something that may be lost here; look at what is said, and give --accept-fewer when it is meant so.\n" +
			"It is 4 when the backup is made without recordings whose files here are missing or damaged; no older\n" +
			"one was removed then either, and verify --repair brings them back or takes them out.",
		Args: checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if q.Destination, err = generation.Absolute(args[0]); err != nil {
				return &usageError{fmt.Errorf("backup: %w", err)}
			}
			r, err := callWithProgress[backup.Result](cmd.Context(), m, "backup", q)
			if err != nil {
				return err
			}
			replaced := ""
			if r.Replaced > 0 {
				replaced = fmt.Sprintf(", %s damaged and copied anew", phrase.Count(r.Replaced, "recording was", "recordings were"))
			}
			err = m.printResult(r, "%s: %s copied (%d bytes), %s there already%s, %s removed\n", r.Generation,
				phrase.Count(r.Copied, "file", "files"), r.Bytes, phrase.Count(r.Kept, "recording was", "recordings were"), replaced,
				phrase.Count(len(r.Pruned), "older generation", "older generations"))
			if err == nil {
				err = m.reportBackup(r)
			}
			return err
		},
	}
	cmd.Flags().IntVar(&q.Keep, "keep", control.KeepGenerations, "how many generations stay")
	checkFlag(cmd.Flags(), "keep", "a whole number from 1 on", func(text string) error {
		if n, err := strconv.Atoi(text); err != nil || n < 1 {
			return errors.New("no such number")
		}
		return nil
	})
	cmd.Flags().BoolVar(&q.AcceptFewer, "accept-fewer", false, "meetings or content of older generations are missing on purpose")
	cmd.Flags().BoolVar(&q.Reread, "reread", false, "read the recordings that are there already, and copy damaged ones anew")
	cmd.Flags().BoolVar(&q.WithoutMedia, "without-media", false, "leave the recordings out")
	cmd.Flags().StringSliceVar(&q.Recipients, "recipient", nil, "encrypt for this age public `key`")
	checkRecipients(cmd.Flags())
	return m.jsonFlag(cmd)
}

// reportBackup prints the doubts about a backup and the recordings it lacks, and returns
// the error with their exit code.
func (m *Main) reportBackup(r backup.Result) error {
	for _, doubt := range slices.Concat(r.Doubts, r.Spared) {
		fmt.Fprintf(m.Stderr, "minutebook: %s\n", doubt)
	}
	for _, lost := range r.Lost {
		fmt.Fprintf(m.Stderr, "minutebook: %s\n", lost)
	}
	switch {
	case len(r.Lost) > 0:
		return &control.Error{Message: "the backup lacks recordings, and no older one was removed; verify --repair looks for them", ExitCode: lostCode}
	case len(r.Doubts) > 0:
		return &control.Error{Message: "the backup is whole, and no older one was removed", ExitCode: doubtsCode}
	}
	return nil
}

// restoreResult is the form of `restore --json`.
type restoreResult struct {
	Meetings int       `json:"meetings"`
	Files    int       `json:"files"`
	TakenAt  time.Time `json:"taken_at"` // when the backup was made
	Lost     int       `json:"lost"`     // recordings that the backup lacks
}

func (m *Main) restoreCmd() *cobra.Command {
	var identity string
	var list bool
	var o backup.RestoreOptions
	cmd := &cobra.Command{
		Use:   "restore DIR|s3://BUCKET/PREFIX",
		Short: "Restore a backup into a new data directory, after checking all of it",
		Args:  checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := bucket.CheckPlace(args[0]); err != nil {
				return &usageError{fmt.Errorf("restore: %w", err)}
			}
			if list {
				return m.listGenerations(cmd.Context(), args[0])
			}
			cfg, err := m.loadConfig()
			if err != nil {
				return err
			}
			o.From, o.Dir, o.MediaURL, o.Logger = args[0], cfg.DataDir, cfg.Media.URL, m.logger(cfg)
			if o.Identities, err = control.ReadIdentities(identity); err != nil {
				return err
			}
			r, err := backup.Restore(cmd.Context(), o)
			if err != nil {
				return err
			}
			lacking := ""
			if len(r.Lost) > 0 {
				lacking = ", without " + phrase.Recordings(len(r.Lost))
			}
			return m.printResult(restoreResult{r.Meetings, len(r.Files), r.TakenAt, len(r.Lost)},
				"%s restored into %s%s, as they were at %s\n", phrase.Meetings(r.Meetings), cfg.DataDir, lacking, r.TakenAt.Local().Format("2006-01-02 15:04:05"))
		},
	}
	cmd.Flags().StringVar(&identity, "identity", "", "age identity `file`, for an encrypted backup")
	cmd.Flags().StringVar(&o.Generation, "generation", "", "the generation to take, by name or number (default: the newest)")
	cmd.Flags().StringArrayVar(&o.OldData, "old-data", nil, "a former data `directory` of the archive; meetings that were forgotten there are not restored\n(those beside the new one are found)")
	cmd.Flags().BoolVar(&list, "list", false, "list the generations and do nothing else")
	cmd.Flags().BoolVar(&o.WithoutDamaged, "without-damaged", false, "go on without recordings that are damaged in the backup; they are named")
	cmd.Flags().BoolVar(&o.Restart, "restart", false, "start again after an interrupted restore")
	return m.jsonFlag(cmd)
}

func (m *Main) adoptCmd() *cobra.Command {
	var o backup.AdoptOptions
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Make an archive of databases that Litestream or another program restored",
		Long: "Makes an archive of its own of a data directory whose databases another program restored, such as from a\n" +
			"replica of Litestream: checks them, has kept deliveries applied again and forgotten meetings erased again,\n" +
			"and begins a new epoch of the change log. Run it before anything else uses the directory. The index is\n" +
			"built at the next start.",
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := m.loadConfig()
			if err != nil {
				return err
			}
			o.Dir, o.Logger, o.Schemas = cfg.DataDir, m.logger(cfg), sideSchemas()
			r, err := backup.Adopt(cmd.Context(), o)
			if err != nil {
				return err
			}
			return m.printResult(r, "%s adopted in %s; %s will be applied again\n", phrase.Meetings(r.Meetings), cfg.DataDir,
				phrase.Count(r.Again, "delivery", "deliveries"))
		},
	}
	cmd.Flags().BoolVar(&o.AcceptMissing, "accept-missing", false, "go on without databases that the archive once had")
	cmd.Flags().StringArrayVar(&o.OldData, "old-data", nil, "a former data `directory` of the archive; meetings that were forgotten there are forgotten here\n(those beside the new one are found)")
	return m.jsonFlag(cmd)
}

// listedGeneration is a generation in the form of `restore --list --json`. A damaged one has its
// name and the damage alone.
type listedGeneration struct {
	Name         string `json:"name"`
	TakenAt      string `json:"taken_at"`
	Meetings     int    `json:"meetings"`
	Encrypted    bool   `json:"encrypted"`
	WithoutMedia bool   `json:"without_media,omitempty"` // the recordings were left out
	Archive      string `json:"archive"`                 // its first epoch, which all its backups have
	Damage       string `json:"damage,omitempty"`
}

// listGenerations prints the generations in a directory of backups, oldest first.
func (m *Main) listGenerations(ctx context.Context, dir string) error {
	all, err := generation.List(ctx, dir)
	if err != nil {
		return err
	}
	lines := []listedGeneration{}
	for _, g := range all {
		if g.Damage != nil {
			lines = append(lines, listedGeneration{Name: g.Name, Damage: g.Damage.Error()})
			continue
		}
		lines = append(lines, listedGeneration{g.Name, g.TakenAt.Format("2006-01-02T15:04:05Z07:00"), g.Meetings, g.Encrypted, g.WithoutMedia, g.Lineage[0], ""})
	}
	if m.json {
		return printJSON(m.Stdout, lines)
	}
	for _, l := range lines {
		description := l.TakenAt + ", " + phrase.Meetings(l.Meetings)
		if l.WithoutMedia {
			description += ", without recordings"
		}
		if l.Damage != "" {
			description = l.Damage
		}
		if _, err := fmt.Fprintf(m.Stdout, "%s  %s\n", l.Name, description); err != nil {
			return err
		}
	}
	return nil
}
