package archive

import (
	"context"
	"errors"
	"fmt"
)

// VerifyOptions are the options of Verify.
type VerifyOptions struct {
	// Repair repairs each damage that can be repaired: rows are derived again; content is
	// taken from elsewhere in the archive, or from From, or taken out and asked for
	// again. What can be had from nowhere is named as lost. What cannot be read is
	// put aside.
	Repair bool
	// From, when not nil, is the source of content that is nowhere else.
	From *BackupSource
	// AskAgain has a meeting's content read again and returns the account that was
	// asked, "" when none is shown the meeting any more; nil: nobody can be asked.
	AskAgain func(ctx context.Context, id int64) (account string, err error)
	// SkipMedia leaves the bytes of recordings unread; that every file is there,
	// with its size, is looked at all the same.
	SkipMedia bool
	// Progress, when not nil, is called with the present step and its progress.
	Progress func(stage string, done, total int)
}

// Verified counts the checks and the findings of Verify.
type Verified struct {
	Meetings   int                 `json:"meetings"`
	Revisions  int                 `json:"revisions"`
	Recordings int                 `json:"recordings"`
	Deliveries int                 `json:"deliveries"`
	Damages    map[DamageClass]int `json:"damages"` // not repaired ones
	Repaired   int                 `json:"repaired"`
	Lost       int                 `json:"lost"` // by a repair, not to be had from anywhere
	Wide       int                 `json:"wide"` // files and directories named that others can reach
}

// ExitCode is 0 when nothing is left damaged, else that of the gravest class;
// LostCode when a repair found something lost.
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

// Verify looks at everything that the archive keeps and reports each damage to
// found, as it is met. It can run beside the daemon; its memory does not grow
// with the archive. It fails only when it could not look: damage is no failure.
func (a *Archive) Verify(ctx context.Context, o VerifyOptions, found func(Damage)) (Verified, error) {
	c := &check{archive: a, options: o, sum: Verified{Damages: map[DamageClass]int{}}, found: found}
	steps := []struct {
		name string
		fn   func(ctx context.Context, o VerifyOptions, found func(Damage)) error
	}{
		{"databases", c.databases}, {"forgotten meetings", c.forgetting}, {"revisions", c.revisions},
		{"foreign keys", c.foreignKeys}, {"rows", c.rows}, {"recordings", c.media}, {"deliveries", c.deliveries}, {"modes", c.modes},
	}
	for _, s := range steps {
		if o.Progress != nil {
			o.Progress(s.name, 0, 0)
		}
		if c.sum.Damages[DamageDatabase] > 0 {
			o.Repair = false // a broken database would make good rows look bad
		}
		if err := damaged(s.fn(ctx, o, c.report)); errors.Is(err, ErrDamaged) {
			c.report(Damage{Class: DamageDatabase, What: fmt.Sprintf("its %s cannot be looked at: %v", s.name, err)})
		} else if err != nil {
			return c.sum, fmt.Errorf("verify %s: %w", s.name, err)
		}
	}
	return c.sum, nil
}

// check is one run of Verify.
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

func (c *check) progress(stage string, done, total int) {
	if c.options.Progress != nil {
		c.options.Progress(stage, done, total)
	}
}

// CheckCursor reports a follower's cursor that is beyond the change log of its own
// epoch. A cursor of another epoch is no damage: its owner starts over.
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

// DamageClass is a kind of damage that Verify names.
type DamageClass string

// The classes, the gravest first: it decides a command's exit code.
const (
	DamageDatabase    DamageClass = "database"     // SQLite's own check failed
	DamagePart        DamageClass = "part"         // a revision's bytes differ from those that arrived, or no longer parse
	DamageFileMissing DamageClass = "file-missing" // a row of a recording without its file
	DamageFile        DamageClass = "file"         // a recording's bytes differ from those that were fetched
	DamageDelivery    DamageClass = "delivery"     // a delivery's body cannot be read back
	DamageForeignKey  DamageClass = "foreign-key"  // a row refers to one that is not there
	DamageNoPart      DamageClass = "no-part"      // rows of a meeting without the part they come from
	DamageRows        DamageClass = "rows"         // parts or rows differ from those that the revisions give
	DamageForgetting  DamageClass = "forgetting"   // something of a forgotten meeting is still there
	DamageCursor      DamageClass = "cursor"       // a follower is ahead of the change log
	DamageIndex       DamageClass = "index"        // the search index is unreadable or behind
	DamageIndexExtra  DamageClass = "index-extra"  // the index has a meeting that the archive has not
	DamageFileExtra   DamageClass = "file-extra"   // a file that nothing refers to
	// DamageMode is a file or directory that others can reach. Nothing is damaged
	// yet, and someone may have meant it: it has no exit code and is not counted.
	DamageMode DamageClass = "mode"
)

// damageClasses in the order of gravity.
var damageClasses = [...]DamageClass{
	DamageDatabase, DamagePart, DamageFileMissing, DamageFile, DamageDelivery, DamageForeignKey, DamageNoPart,
	DamageRows, DamageForgetting, DamageCursor, DamageIndex, DamageIndexExtra, DamageFileExtra,
}

// ExitCode is the exit code of a command that found damage of the class: 10 for
// the gravest and rising; 9 for a class not known here, 0 for DamageMode.
func (c DamageClass) ExitCode() int {
	if c == DamageMode {
		return 0
	}
	for i, class := range damageClasses {
		if class == c {
			return 10 + i
		}
	}
	return 9
}

// Damage is one thing that is not as it should be.
type Damage struct {
	Class       DamageClass `json:"class"`
	Path        string      `json:"path,omitempty"` // whole path of the file or database
	RecordingID int64       `json:"recording_id,omitempty"`
	What        string      `json:"what"`
	Repaired    bool        `json:"repaired"`
	// Outcome says what a repair came to, where that is more than repaired, and
	// Aside where the bytes are that it could not read.
	Outcome string `json:"outcome,omitempty"`
	Aside   string `json:"aside,omitempty"`
	Lost    bool   `json:"lost,omitempty"` // no source has the damaged content
}

// LostCode is the exit code of a repair that found something lost.
const LostCode = 23

// String is a line for a person.
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
