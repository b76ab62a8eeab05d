package receiver

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	firstBuffer = 4 << 10  // a slow sender holds no more
	usualBuffer = 64 << 10 // fits most deliveries; kept for the next one
	largeBody   = 1 << 20
	// largeTogether is how many bytes of large bodies are verified at a time.
	largeTogether = 32 << 20
	slowest       = 64 << 10 // bytes a second, after BodyTime
)

// memory counts the bytes of bodies that are not committed yet.
type memory struct {
	used atomic.Int64
	max  int64
}

func (m *memory) reserve(n int64) bool {
	if m.used.Add(n) > m.max {
		m.used.Add(-n)
		return false
	}
	return true
}

// body is a request's body in memory that memory has counted.
type body struct {
	bytes []byte
	r     *Receiver
	taken int64
	usual *[usualBuffer]byte // from the pool, nil: bytes is not
}

func (b *body) release() {
	b.r.memory.used.Add(-b.taken)
	if b.usual != nil {
		b.r.buffers.Put(b.usual)
	}
	*b = body{r: b.r}
}

// readBody reads a body as it arrives. It reserves memory for the bytes that have
// arrived and not for the announced length, so that a sender cannot occupy memory by a
// number alone. The server bounds the time of a small body together with its headers; the time
// of a larger one grows with each piece that arrives.
func (r *Receiver) readBody(req *http.Request, rc *http.ResponseController) (*body, refusal) {
	b := &body{r: r}
	if !r.memory.reserve(firstBuffer) {
		return nil, crowded
	}
	b.taken = firstBuffer
	b.bytes = make([]byte, 0, firstBuffer)
	started := time.Now()
	var end [1]byte // where the buffer has all that is allowed, read the end into this
	for {
		if len(b.bytes) == cap(b.bytes) && int64(len(b.bytes)) < r.o.MaxBody {
			if f := b.grow(req.ContentLength); f != none {
				b.release()
				return nil, f
			}
		}
		if len(b.bytes) >= firstBuffer {
			rc.SetReadDeadline(started.Add(r.o.BodyTime + time.Duration(len(b.bytes))*time.Second/slowest))
		}
		free := b.bytes[len(b.bytes):cap(b.bytes)]
		if len(free) == 0 {
			free = end[:]
		}
		n, err := req.Body.Read(free)
		if int64(len(b.bytes)+n) > r.o.MaxBody {
			b.release()
			return nil, tooLarge
		}
		b.bytes = b.bytes[:len(b.bytes)+n]
		if errors.Is(err, io.EOF) {
			rc.SetReadDeadline(time.Time{})
			return b, none
		}
		if err != nil {
			b.release()
			return nil, fromRead(err)
		}
	}
}

// grow makes the buffer larger: the usual size first, then double, up to the announced
// and the allowed length. It does not count the old buffer together with the new one,
// since then a body of half the memory could never be read.
func (b *body) grow(announced int64) refusal {
	size := max(usualBuffer, 2*int64(cap(b.bytes)))
	if size > usualBuffer && announced > int64(len(b.bytes)) {
		size = min(size, announced+1) // one more, to read the end
	}
	size = min(size, b.r.o.MaxBody)
	if !b.r.memory.reserve(size - b.taken) {
		return crowded
	}
	from := *b
	if size == usualBuffer {
		if b.usual, _ = b.r.buffers.Get().(*[usualBuffer]byte); b.usual == nil {
			b.usual = new([usualBuffer]byte)
		}
		b.bytes = b.usual[:len(from.bytes)]
	} else {
		b.bytes, b.usual = make([]byte, len(from.bytes), size), nil
	}
	copy(b.bytes, from.bytes)
	b.taken = size
	if from.usual != nil {
		b.r.buffers.Put(from.usual)
	}
	return none
}
