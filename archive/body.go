package archive

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

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

// maxBody bounds what a damaged frame may claim to hold, in bytes.
const maxBody = 1 << 30

func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true), zstd.WithEncoderLevel(zstd.SpeedDefault))
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

// unpack is the reverse; it fails on a damaged frame or an unknown encoding.
func (c *codec) unpack(encoding int, body []byte) ([]byte, error) {
	switch encoding {
	case plainBody:
		return body, nil
	case zstdBody:
		raw, err := c.dec.DecodeAll(body, nil)
		if err != nil {
			return nil, fmt.Errorf("decompress revision: %w", err)
		}
		return raw, nil
	}
	return nil, fmt.Errorf("decompress revision: unknown encoding %d", encoding)
}
