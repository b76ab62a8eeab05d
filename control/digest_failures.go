package control

import (
	"cmp"
	"context"
	"errors"

	"minutebook/archive"
)

// digestClass is the class of digests that could not be sent in the ledger of failures.
const digestClass = "digest"

// readerName names a reader to the owner.
func (r DigestReader) readerName() string { return cmp.Or(r.Person, r.Channel.Name()) }

// recordFailure notes in the ledger that a reader's digest could not be sent, until one is.
func (d *Digests) recordFailure(ctx context.Context, r DigestReader, err error) error {
	if ctx.Err() != nil {
		return nil // the daemon ends
	}
	return d.Deps.Archive.RecordFailure(ctx, archive.Failure{Class: digestClass, What: r.readerName(), Reason: err.Error(), NextTry: d.Failed[r.Channel.Name()]})
}

// CloseDigestFailures closes the failures of digests but for those of some readers, which
// are tried again.
func (h Deps) CloseDigestFailures(ctx context.Context, stay ...DigestReader) error {
	open, err := h.Archive.Failures(ctx, true)
	if err != nil {
		return err
	}
	failing := map[string]bool{}
	for _, r := range stay {
		failing[r.readerName()] = true
	}
	var failures []error
	for _, f := range open {
		if f.Class == digestClass && !failing[f.What] {
			failures = append(failures, h.Archive.ResolveFailure(ctx, f.Account, f.Class, f.What))
		}
	}
	return errors.Join(failures...)
}
