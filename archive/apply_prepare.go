package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/internal/guard"
	"minutebook/internal/sqlite"
)

// preparedPart is a part of an observation with everything that can be computed before
// the write transaction.
type preparedPart struct {
	part    api.Part
	raw     json.RawMessage
	null    bool
	empty   bool
	hash    [32]byte
	rawHash int64
	known   bool // it was judged before, so that it is stored, or was about to be

	// Only for a version that is not stored yet: the compressed bytes and, for a
	// transcript, its entries.
	packed   []byte
	encoding int
	entries  []api.TranscriptEntry
}

// prepareAll prepares the parts of a batch on all processors.
func (a *Archive) prepareAll(ctx context.Context, batch []Observation) ([][]preparedPart, error) {
	prepared := make([][]preparedPart, len(batch))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range batch {
		g.Go(func() error {
			id := batch[i].RecordingID
			err := guard.Run(a.log, fmt.Sprint("observation of recording ", id), func() (err error) {
				if prepared[i], err = a.prepare(&batch[i]); err != nil {
					return err
				}
				return a.prepareAhead(ctx, id, prepared[i])
			})
			if errors.Is(err, guard.ErrPanic) { // over the content
				return &ObservationError{id, err}
			}
			return err
		})
	}
	return prepared, g.Wait()
}

// prepare checks an observation and hashes its parts, in the order of api.Parts.
func (a *Archive) prepare(o *Observation) ([]preparedPart, error) {
	if o.RecordingID <= 0 {
		return nil, &ObservationError{o.RecordingID, errors.New("recording_id is not positive")}
	}
	if !o.Source.valid() {
		return nil, &ObservationError{o.RecordingID, fmt.Errorf("unknown source %q", o.Source)}
	}
	parts := make([]preparedPart, 0, len(o.Parts))
	for _, p := range api.Parts() {
		raw := bytes.TrimSpace(o.Parts[p])
		if len(raw) == 0 {
			continue
		}
		if string(raw) == "null" {
			parts = append(parts, preparedPart{part: p, null: true, empty: true})
			continue
		}
		part := preparedPart{part: p, raw: raw}
		if !a.judge(&part) {
			return nil, &ObservationError{o.RecordingID, fmt.Errorf("part %s is not JSON", p)}
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// judgedKey names the bytes of a part.
type judgedKey struct {
	part api.Part
	sum  [32]byte
}

// judgement is the outcome of [api.JudgePart] for JSON.
type judgement struct {
	hash  [32]byte
	empty bool
}

// judge hashes a part and finds whether it is empty. Walks show the same bytes again and again,
// so it remembers the outcome for them. It reports whether they are JSON.
func (a *Archive) judge(p *preparedPart) bool {
	sum := sha256.Sum256(p.raw)
	p.rawHash = firstBytes(sum)
	key := judgedKey{p.part, sum}
	j, known := a.judged.get(key)
	if !known {
		var ok bool
		if j.hash, j.empty, ok = api.JudgePart(p.part, p.raw); !ok {
			return false
		}
		a.judged.put(key, j)
	}
	p.hash, p.empty, p.known = j.hash, j.empty, known
	return true
}

// prepareAhead compresses and decodes the parts that are not stored. If the answer is
// outdated by the time of the write transaction, that only costs time.
func (a *Archive) prepareAhead(ctx context.Context, id int64, parts []preparedPart) error {
	if !slices.ContainsFunc(parts, func(p preparedPart) bool { return !p.null && !p.known }) {
		return nil
	}
	stored := map[[32]byte]bool{}
	err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var hash []byte
		if err := rows.Scan(&hash); err != nil {
			return err
		}
		if len(hash) == 32 {
			stored[[32]byte(hash)] = true
		}
		return nil
	}, `SELECT hash FROM revisions WHERE recording_id = ?`, id)
	if err != nil {
		return fmt.Errorf("apply observation of %d: %w", id, err)
	}
	for i := range parts {
		s := &parts[i]
		if s.null || stored[s.hash] {
			continue
		}
		s.encoding, s.packed = a.codec.pack(s.raw)
		if s.part == api.PartTranscript {
			s.entries = readEntries(s.raw)
		}
	}
	return nil
}

// rawHash distinguishes spellings of the same content.
func rawHash(raw []byte) int64 { return firstBytes(sha256.Sum256(raw)) }

func firstBytes(sum [32]byte) int64 { return int64(binary.BigEndian.Uint64(sum[:8])) }

// Encodings of a body in the database.
const (
	plainBody = 0
	zstdBody  = 1
)

// codec compresses revisions. It is safe for concurrent use.
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// maxBody bounds the size that a damaged frame may claim, in bytes.
const maxBody = 1 << 30

// newCodec makes a codec that needs little memory. The encoder keeps a window for each
// thread: with windows of 8 MB it took 48 MB, and few texts are longer than 1 MB.
func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true), zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("start compressor: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBody))
	if err != nil {
		return nil, fmt.Errorf("start decompressor: %w", err)
	}
	return &codec{enc, dec}, nil
}

// pack returns the smaller of raw and its compressed form.
func (c *codec) pack(raw []byte) (encoding int, body []byte) {
	if len(raw) > 64 {
		if packed := c.enc.EncodeAll(raw, nil); len(packed) < len(raw) {
			return zstdBody, packed
		}
	}
	return plainBody, raw
}

// unpack is the reverse; it fails with ErrUnreadable on a damaged frame or an unknown encoding.
func (c *codec) unpack(encoding int, body []byte) ([]byte, error) {
	switch encoding {
	case plainBody:
		return body, nil
	case zstdBody:
		raw, err := c.dec.DecodeAll(body, nil)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		return raw, nil
	}
	return nil, fmt.Errorf("%w: unknown encoding %d", ErrUnreadable, encoding)
}
