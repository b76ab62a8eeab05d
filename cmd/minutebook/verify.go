package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/control"
	"minutebook/internal/phrase"
)

func (m *Main) verifyCmd() *cobra.Command {
	var q control.VerifyRequest
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check everything that is kept, and name every damage",
		Long: "Check everything that is kept, and name every damage.\n\n" +
			"The exit code is 0 when all is well, else that of the gravest damage left: 10 database, 11 part,\n" +
			"12 file-missing, 13 file, 14 delivery, 15 foreign-key, 16 no-part, 17 rows, 18 forgetting, 19 cursor,\n" +
			"20 index, 21 index-extra, 22 file-extra, 24 audit; or 23 when a repair found something lost. --repair looks for\n" +
			"content elsewhere in the archive, in --from, and then asks the service again. What others than the owner can reach is named too, as mode.",
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return m.verify(cmd.Context(), q) },
	}
	cmd.Flags().BoolVar(&q.Repair, "repair", false, "put right what can be put right")
	cmd.Flags().StringVar(&q.From, "from", "", "with --repair: a `directory` of backups, or s3://bucket/prefix, to take missing content from that is nowhere else")
	cmd.Flags().StringVar(&q.Identity, "identity", "", "age identity `file`, for an encrypted backup")
	cmd.Flags().BoolVar(&q.SkipMedia, "skip-media", false, "leave the bytes of recordings unread")
	return m.jsonFlag(cmd)
}

// verify prints every damage, and fails with the exit code of the gravest one.
func (m *Main) verify(ctx context.Context, q control.VerifyRequest) error {
	switch { // one without the other would mean nothing
	case q.From != "" && !q.Repair:
		return &usageError{errors.New("verify: --from needs --repair")}
	case q.Identity != "" && q.From == "":
		return &usageError{errors.New("verify: --identity needs --from, whose backup it opens")}
	}
	if err := makeAbsolute(&q.From, &q.Identity); err != nil {
		return err
	}
	damages, modes := []archive.Damage{}, []archive.Damage{}
	p := &upkeepProgress{m: m, damage: func(d archive.Damage) error {
		switch {
		case m.json && d.Class == archive.DamageMode:
			modes = append(modes, d)
			return nil
		case m.json:
			damages = append(damages, d)
			return nil
		}
		_, err := fmt.Fprintln(m.Stdout, d)
		return err
	}}
	sum, err := call[archive.Verified](ctx, m, "verify", q, p.show)
	if errors.Is(err, archive.ErrDamaged) { // it cannot even be opened
		d := archive.Damage{Class: archive.DamageDatabase, What: err.Error()}
		sum = archive.Verified{Damages: map[archive.DamageClass]int{d.Class: 1}}
		err = p.damage(d)
	}
	if ctx.Err() != nil {
		fmt.Fprintln(m.Stderr, "verify ends early: the rest was neither checked nor repaired")
	}
	if err != nil {
		return err
	}
	if err := m.printVerified(sum, damages, modes); err != nil {
		return err
	}
	return toVerifyError(sum)
}

// makeAbsolute makes the paths that are given absolute: the daemon has another working
// directory. The address of a bucket stays.
func makeAbsolute(paths ...*string) (err error) {
	for _, path := range paths {
		if *path != "" && err == nil {
			*path, err = generation.Absolute(*path)
			*path = nameOpenFile(*path)
		}
	}
	if err != nil {
		return &usageError{err}
	}
	return nil
}

// toVerifyError returns the error whose exit code is that of the gravest damage, or nil.
func toVerifyError(sum archive.Verified) error {
	code := sum.ExitCode()
	if code == 0 {
		return nil
	}
	reason := "there is damage"
	if sum.Lost > 0 {
		reason = "something is lost; a backup may have it (--from)"
	}
	if sum.Damages[archive.DamageDatabase] > 0 {
		reason = archive.ErrDamaged.Error()
	}
	return &control.Error{Kind: control.KindFailed, Message: "verify: " + reason, ExitCode: code}
}

// verifyResult is the form of `verify --json`.
type verifyResult struct {
	archive.Verified
	Found []archive.Damage `json:"found"`
	Modes []archive.Damage `json:"modes"` // files that other users can read
}

func (m *Main) printVerified(v archive.Verified, damages, modes []archive.Damage) error {
	if m.json {
		return printJSON(m.Stdout, verifyResult{v, damages, modes})
	}
	left := 0
	for _, n := range v.Damages {
		left += n
	}
	open := ""
	if v.Wide > 0 {
		open = fmt.Sprintf(", %d open to others", v.Wide)
	}
	_, err := fmt.Fprintf(m.Stdout, "%s, %s, %s, %s: %d damaged, %d repaired, %d lost%s\n", phrase.Meetings(v.Meetings),
		phrase.Count(v.Revisions, "version", "versions"), phrase.Recordings(v.Recordings), phrase.Count(v.Deliveries, "delivery", "deliveries"), left, v.Repaired, v.Lost, open)
	return err
}

// upkeepProgress prints the progress of a check or a rebuild on standard error, if
// that is a terminal, and passes each damage to damage.
type upkeepProgress struct {
	m      *Main
	damage func(archive.Damage) error
	last   time.Time
}

func (p *upkeepProgress) show(raw json.RawMessage) error {
	var e control.Maintenance
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("read progress: %w", err)
	}
	if e.Damage != nil {
		return p.damage(*e.Damage)
	}
	if !p.m.isTerminal(p.m.Stderr) || time.Since(p.last) < time.Second {
		return nil
	}
	p.last = time.Now()
	_, err := fmt.Fprintf(p.m.Stderr, "%s: %d of %d\n", e.Stage, e.Done, e.Total)
	return err
}

// rebuildResult is the form of `rebuild --json`.
type rebuildResult struct {
	Meetings int   `json:"meetings"`
	Entries  int64 `json:"entries"` // of transcripts
}

func (m *Main) rebuildCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "rebuild",
		Short: "Derive every row of the database again from the stored content",
		Args:  checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := &upkeepProgress{m: m}
			counts, err := call[archive.Counts](cmd.Context(), m, "rebuild", struct{}{}, p.show)
			if err != nil {
				return err
			}
			return m.printResult(rebuildResult{counts.Meetings, counts.Entries}, "rebuilt %s with %s\n", phrase.Meetings(counts.Meetings), phrase.Count(counts.Entries, "entry", "entries"))
		},
	})
}

func (m *Main) forgetCmd() *cobra.Command {
	q := control.ForgetRequest{}
	cmd := &cobra.Command{
		Use:   "forget ID --reason TEXT",
		Short: "Erase a meeting for good; it does not come back",
		Args:  checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := meetingID("forget", args[0])
			if err != nil {
				return err
			}
			if q.Reason == "" {
				return &usageError{errors.New("forget: give the --reason; the audit keeps it")}
			}
			q.RecordingID = id
			f, err := call[archive.Forgotten](cmd.Context(), m, "forget", q, nil)
			if err != nil {
				return err
			}
			if err := m.printForgotten(f); err != nil || len(f.Logs) == 0 {
				return err
			}
			return &control.Error{Message: fmt.Sprintf("forget: meeting %d is not wholly erased yet", id), ExitCode: 5}
		},
	}
	cmd.Flags().StringVar(&q.Reason, "reason", "", "why, for the audit")
	cmd.Flags().BoolVar(&q.Backups, "backups", false, "make new backups without it, and then remove those that hold it")
	cmd.Flags().StringSliceVar(&q.Recipients, "recipient", nil, "encrypt the new backups for this age public `key`")
	checkRecipients(cmd.Flags())
	return m.jsonFlag(cmd)
}

// forgetResult is the form of `forget --json`.
type forgetResult struct {
	RecordingID int64    `json:"recording_id"`
	Recordings  int      `json:"recordings"`           // erased with the meeting
	Backups     []string `json:"backups"`              // which still hold it
	Unreadable  []string `json:"unreadable,omitempty"` // files put aside, and damaged deliveries, that may be about it
	Logs        []string `json:"logs,omitempty"`       // databases whose logs hold it while another program reads them
	Versions    []string `json:"versions,omitempty"`   // places in buckets that keep deleted files as versions
}

func (m *Main) printForgotten(f archive.Forgotten) error {
	if m.json {
		return printJSON(m.Stdout, forgetResult{f.RecordingID, f.Recordings, append([]string{}, f.Backups...), f.Unreadable, f.Logs, f.Versions})
	}
	_, err := fmt.Fprintf(m.Stdout, "meeting %d is forgotten, with %s\n", f.RecordingID, phrase.Recordings(f.Recordings))
	for _, name := range f.Logs {
		if err == nil {
			_, err = fmt.Fprintf(m.Stdout, "the log of %s still holds it, for another program is reading that file: end that program; the daemon then empties the log within a minute, "+
				"and without a daemon `minutebook forget` again does\n", name)
		}
	}
	for _, b := range f.Backups {
		if err == nil {
			_, err = fmt.Fprintf(m.Stdout, "a backup still holds it: %s\n", b)
		}
	}
	for _, place := range f.Versions {
		if err == nil {
			_, err = fmt.Fprintf(m.Stdout, "deleted files of it stay there as versions, until the bucket lets them expire: %s\n", place)
		}
	}
	for _, damaged := range f.Unreadable {
		if err == nil {
			_, err = fmt.Fprintf(m.Stdout, "perhaps this is about the meeting, nobody can tell: %s\n", damaged)
		}
	}
	return err
}
