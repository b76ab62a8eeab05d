package seal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
)

// Digest counts and hashes the bytes that are written to it.
type Digest struct {
	hash hash.Hash
	size int64
}

// NewDigest returns a digest of nothing.
func NewDigest() *Digest { return &Digest{hash: sha256.New()} }

// Write is part of io.Writer.
func (d *Digest) Write(p []byte) (int, error) {
	d.size += int64(len(p))
	return d.hash.Write(p)
}

// Size returns the number of bytes.
func (d *Digest) Size() int64 { return d.size }

// SHA256 returns the hash in hexadecimal.
func (d *Digest) SHA256() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// FileDigest returns the digest of a file.
func FileDigest(ctx context.Context, path string) (*Digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("hash file: %w", err)
	}
	defer f.Close()
	d := NewDigest()
	if _, err := Copy(ctx, d, f); err != nil {
		return nil, fmt.Errorf("hash file: %w", err)
	}
	return d, nil
}
