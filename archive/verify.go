package archive

import (
	"context"
	"errors"
	"fmt"
)

// VerifyOptions say what Verify does.
type VerifyOptions struct {
	// Repair puts right what can be put right: rows are derived again; content is
	// taken from elsewhere in the archive, or from From, or taken out and asked for
	// again. What can be had from nowhere is named as lost. What cannot be read is
	// put aside.
	Repair bool
	// From, when not nil, is where a repair finds what is nowhere else.
	From *BackupSource
	// AskAgain has a meeting's content read again and returns the account that was
	// asked, "" when none is shown the meeting any more; nil: nobody can be asked.
	AskAgain func(ctx context.Context, id int64) (account string, err error)
	// SkipMedia leaves the bytes of recordings unread; that every file is there,
	// with its size, is looked at all the same.
	SkipMedia bool
	// Progress, when not nil, is told what is being looked at and how far it is.
	Progress func(stage string, done, total int)
}

// Verified is what Verify looked at and found.
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

// verifier is a room's own check.
type verifier struct {
	name string
	fn   func(ctx context.Context, o VerifyOptions, found func(Damage)) error
}

// OnVerify has Verify call fn too: the check of what a room keeps beside the
// archive, such as an index. fn reports each damage, repaired when it did.
func (a *Archive) OnVerify(name string, fn func(ctx context.Context, o VerifyOptions, found func(Damage)) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.verifiers = append(a.verifiers, verifier{name, fn})
}

// Verify looks at everything that the archive keeps and reports each damage to
// found, as it is met. It can run beside the daemon; its memory does not grow
// with the archive. It fails only when it could not look: damage is no failure.
func (a *Archive) Verify(ctx context.Context, o VerifyOptions, found func(Damage)) (Verified, error) {
	a.mu.Lock()
	rooms := append([]verifier(nil), a.verifiers...)
	a.mu.Unlock()
	c := &check{archive: a, options: o, sum: Verified{Damages: map[DamageClass]int{}}, found: found}
	steps := []verifier{
		{"databases", c.databases}, {"forgotten meetings", c.forgetting}, {"revisions", c.revisions},
		{"foreign keys", c.foreignKeys}, {"rows", c.rows}, {"recordings", c.media}, {"deliveries", c.deliveries}, {"modes", c.modes},
	}
	for _, s := range append(steps, rooms...) {
		if o.Progress != nil {
			o.Progress(s.name, 0, 0)
		}
		if c.sum.Damages[DamageDatabase] > 0 {
			o.Repair = false // by what a broken database shows, good rows would be taken for bad ones
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

// CheckCursor reports a follower's cursor that is beyond the change log of its
// own epoch; rooms call it from what they gave to OnVerify. A cursor of another
// epoch is no damage: its owner starts over.
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
