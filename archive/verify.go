package archive

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"minutebook/archive/media"
)

// VerifyOptions are the options of [Archive.Verify].
type VerifyOptions struct {
	// Repair repairs damages. Rows are derived again. Content is restored from
	// another place in the archive or from From, or else removed and requested from
	// the service again. Content that no place has is reported as lost. Unreadable
	// bytes are put aside.
	Repair bool
	// From, when not nil, is the backup for content that the archive no longer has.
	From *BackupSource
	// AskAgain requests a meeting's content from the service again. It returns the
	// account, or "" when no account sees the meeting any more. nil: the service
	// cannot be asked.
	AskAgain func(ctx context.Context, id int64) (account string, err error)
	// SkipMedia does not read the bytes of recordings. The presence and the size of
	// every file are still checked.
	SkipMedia bool
	// WithoutMedia does not look at recordings at all: there is no store.
	WithoutMedia bool
	// Slice is the part of the archive to check, from 0 to Slices-1: the revisions,
	// meetings and recordings of one residue. The checks that need the whole of a
	// database or a store belong to slice 0. Slices of 0 or 1 check everything.
	Slice, Slices int
	// Progress, when not nil, is called with each stage and its progress.
	Progress func(stage string, done, total int)
}

// Verified counts the checked items and the damages.
type Verified struct {
	Meetings   int                 `json:"meetings"`
	Revisions  int                 `json:"revisions"`
	Recordings int                 `json:"recordings"`
	Deliveries int                 `json:"deliveries"`
	Damages    map[DamageClass]int `json:"damages"` // not repaired ones
	Repaired   int                 `json:"repaired"`
	Lost       int                 `json:"lost"` // content that a repair could not restore
	Wide       int                 `json:"wide"` // files and directories that others can reach
}

// ExitCode returns 0 when no damage is left, LostCode when a repair lost content,
// and else the code of the gravest class.
func (v Verified) ExitCode() int {
	if v.Lost > 0 {
		return LostCode
	}
	for _, class := range damageClasses {
		if v.Damages[class] > 0 {
			return class.ExitCode()
		}
	}
	for class := range v.Damages {
		return class.ExitCode()
	}
	return 0
}

// Verify checks everything in the archive and reports each damage to found at once.
// It can run while the daemon works, and its memory does not grow with the archive.
// It fails only when it could not check; a damage is no failure.
func (a *Archive) Verify(ctx context.Context, o VerifyOptions, found func(Damage)) (Verified, error) {
	c := &check{archive: a, options: o, sum: Verified{Damages: map[DamageClass]int{}}, found: found}
	steps := []struct {
		name  string
		fn    func(ctx context.Context, o VerifyOptions, found func(Damage)) error
		whole bool // not divided into slices
	}{
		{"databases", c.checkDatabases, true}, {"forgotten meetings", c.checkForgotten, true}, {"revisions", c.checkRevisions, false},
		{"foreign keys", c.checkForeignKeys, true}, {"rows", c.checkRows, false}, {"recordings", c.checkMedia, false},
		{"deliveries", c.checkDeliveries, true}, {"modes", c.checkModes, true},
	}
	report := func(d Damage) {
		if ctx.Err() == nil || d.Repaired || d.Lost { // else it was not tried, as the rest
			c.report(d)
		}
	}
	var unavailable error
	for _, s := range steps {
		if s.whole && o.Slice > 0 || o.WithoutMedia && s.name == "recordings" {
			continue
		}
		if o.Progress != nil {
			o.Progress(s.name, 0, 0)
		}
		if c.sum.Damages[DamageDatabase] > 0 {
			o.Repair = false // a broken database can make good rows look damaged
		}
		err := markDamaged(s.fn(ctx, o, report))
		switch {
		case ctx.Err() != nil:
			return c.sum, fmt.Errorf("verify %s: it ended early, and the rest was neither checked nor repaired: %w", s.name, context.Cause(ctx))
		case errors.Is(err, ErrDamaged):
			c.report(Damage{Class: DamageDatabase, What: fmt.Sprintf("its %s cannot be looked at: %v", s.name, err)})
		case media.IsUnavailable(err):
			unavailable = fmt.Errorf("verify %s: %w", s.name, err) // the rest can be checked all the same
		case err != nil:
			return c.sum, fmt.Errorf("verify %s: %w", s.name, err)
		}
	}
	return c.sum, unavailable
}

// inSlice reports whether a recording with a hash, in hexadecimal, is to be checked.
func (o VerifyOptions) inSlice(sha string) bool {
	n, err := strconv.ParseUint(sha[:min(8, len(sha))], 16, 64)
	return err != nil || int(n%uint64(max(o.Slices, 1))) == o.Slice
}

// check is one run of [Archive.Verify].
type check struct {
	archive *Archive
	options VerifyOptions
	sum     Verified
	found   func(Damage)
	touched []int64 // meetings with repaired revisions
}

func (c *check) report(d Damage) {
	switch {
	case d.Class == DamageMode:
		c.sum.Wide++
	case d.Lost:
		c.sum.Lost++
	case d.Repaired:
		c.sum.Repaired++
	default:
		c.sum.Damages[d.Class]++
	}
	c.found(d)
}

func (c *check) reportProgress(stage string, done, total int) {
	if c.options.Progress != nil {
		c.options.Progress(stage, done, total)
	}
}

// CheckCursor reports a damage when a follower's cursor is beyond the change log of
// its own epoch. A cursor of another epoch is no damage: its owner starts over.
func (a *Archive) CheckCursor(ctx context.Context, name, path string, at Position) (Damage, bool, error) {
	head, err := a.Head(ctx)
	if err != nil {
		return Damage{}, false, err
	}
	if at.Epoch != head.Epoch || at.Seq <= head.Seq {
		return Damage{}, false, nil
	}
	return Damage{Class: DamageCursor, Path: path,
		What: fmt.Sprintf("%s says it has followed to change %d, and the last change is %d", name, at.Seq, head.Seq)}, true, nil
}

// DamageClass is a kind of damage.
type DamageClass string

// The classes, the gravest first. The gravest decides a command's exit code.
const (
	DamageDatabase    DamageClass = "database"     // SQLite's own check failed
	DamagePart        DamageClass = "part"         // a revision's bytes have changed, or no longer parse
	DamageFileMissing DamageClass = "file-missing" // a recording's row without its file
	DamageFile        DamageClass = "file"         // a recording's bytes have changed
	DamageDelivery    DamageClass = "delivery"     // a delivery's body cannot be read back
	DamageForeignKey  DamageClass = "foreign-key"  // a row refers to a missing row
	DamageNoPart      DamageClass = "no-part"      // rows of a meeting without their part
	DamageRows        DamageClass = "rows"         // parts or rows differ from the revisions
	DamageForgetting  DamageClass = "forgetting"   // content of a forgotten meeting remains
	DamageCursor      DamageClass = "cursor"       // a follower is ahead of the change log
	DamageIndex       DamageClass = "index"        // the search index is unreadable or behind
	DamageIndexExtra  DamageClass = "index-extra"  // the index has a meeting that is not in the archive
	DamageFileExtra   DamageClass = "file-extra"   // a file without a row
	DamageAudit       DamageClass = "audit"        // the audit's chain of hashes is broken
	// DamageMode is a file or directory that others can reach. It may be intended,
	// and nothing is damaged yet, so it has no exit code and is not counted.
	DamageMode DamageClass = "mode"
)

// damageClasses has the classes in the order of gravity.
var damageClasses = [...]DamageClass{
	DamageDatabase, DamagePart, DamageFileMissing, DamageFile, DamageDelivery, DamageForeignKey, DamageNoPart,
	DamageRows, DamageForgetting, DamageCursor, DamageIndex, DamageIndexExtra, DamageFileExtra, DamageAudit,
}

// ExitCode returns the exit code of a command for a damage of the class: 10 for the
// gravest and rising, 24 for DamageAudit, 9 for an unknown class, 0 for DamageMode.
func (c DamageClass) ExitCode() int {
	switch c {
	case DamageMode:
		return 0
	case DamageAudit:
		return LostCode + 1
	}
	for i, class := range damageClasses {
		if class == c {
			return 10 + i
		}
	}
	return 9
}

// Damage is one damaged item.
type Damage struct {
	Class       DamageClass `json:"class"`
	Path        string      `json:"path,omitempty"` // the absolute path of the file or database
	RecordingID int64       `json:"recording_id,omitempty"`
	What        string      `json:"what"`
	Repaired    bool        `json:"repaired"`
	// Outcome describes the result of a repair that did more than repair. Aside is
	// the path of the unreadable bytes.
	Outcome string `json:"outcome,omitempty"`
	Aside   string `json:"aside,omitempty"`
	Lost    bool   `json:"lost,omitempty"` // no place has the damaged content any more
}

// LostCode is the exit code of a repair that lost content.
const LostCode = 23

// String returns a line for a person.
func (d Damage) String() string {
	s := string(d.Class) + ": "
	if d.RecordingID != 0 {
		s += fmt.Sprintf("meeting %d: ", d.RecordingID)
	}
	if d.Path != "" {
		s += d.Path + ": "
	}
	s += d.What
	switch {
	case d.Outcome != "":
		s += " (" + d.Outcome + ")"
	case d.Repaired:
		s += " (repaired)"
	}
	if d.Aside != "" {
		s += "; its bytes are in " + d.Aside
	}
	return s
}
