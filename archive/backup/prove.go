package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"filippo.io/age"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/internal/durable"
)

// ProofOptions say which directory of backups to prove, and where.
type ProofOptions struct {
	From string // the directory of backups: a path, or the address of a bucket
	// Scratch is a directory for the restored databases. It is emptied before and
	// removed after the proof.
	Scratch string
	// OldData is the data directory of the archive, whose forgotten meetings are not
	// restored.
	OldData    string
	Identities []age.Identity
	Now        func() time.Time // time.Now when nil
}

// Proof is the result of [Prove].
type Proof struct {
	Generation string    `json:"generation"`
	TakenAt    time.Time `json:"taken_at"`
	Meetings   int       `json:"meetings"`
	// Restored is false for an encrypted backup without a key: its files were only
	// compared with their hashes.
	Restored bool `json:"restored"`
}

// Prove shows that the newest generation can be restored: it compares every file with
// its hash, restores the databases into the scratch directory, opens the archive there
// and verifies it. The recordings are read where they are and not copied. It fails
// with a [generation.DamagedError] for a damaged generation.
func Prove(ctx context.Context, o ProofOptions) (p Proof, err error) {
	defer func() {
		if err != nil {
			err = generation.WrapError("prove the backup", o.From, err)
		}
	}()
	g, err := generation.Find(ctx, o.From, "")
	if err != nil {
		return p, err
	}
	if g.Damage != nil {
		return p, g.Damage
	}
	p = Proof{Generation: g.Name, TakenAt: g.TakenAt, Meetings: g.Meetings}
	if g.Encrypted && len(o.Identities) == 0 {
		return p, g.Check(ctx)
	}
	if err := os.RemoveAll(o.Scratch); err != nil {
		return p, fmt.Errorf("empty the scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Scratch)) }()
	if err := durable.MkdirAll(o.Scratch); err != nil {
		return p, err
	}
	_, err = Restore(ctx, RestoreOptions{From: o.From, Generation: g.Name, Dir: o.Scratch, DatabasesOnly: true, OldData: []string{o.OldData},
		Identities: o.Identities, Logger: zerolog.Nop(), Now: o.Now})
	if err != nil {
		return p, err
	}
	p.Restored = true
	return p, verifyRestored(ctx, o)
}

// verifyRestored opens and verifies the archive in the scratch directory.
func verifyRestored(ctx context.Context, o ProofOptions) (err error) {
	a, err := archive.Open(ctx, archive.Options{Dir: o.Scratch, Logger: zerolog.Nop(), Now: o.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.FinishForgetting(ctx); err != nil {
		return err
	}
	var lines []string
	v, err := a.Verify(ctx, archive.VerifyOptions{WithoutMedia: true}, func(d archive.Damage) {
		if d.Class != archive.DamageMode && len(lines) < 5 {
			lines = append(lines, d.String())
		}
	})
	if err == nil && v.ExitCode() != 0 {
		err = &generation.DamagedError{Dir: o.From, Damage: lines}
	}
	return err
}
