package strict

import (
	"encoding/json"
	"hash/maphash"
	"sync"

	"minutebook/api"
)

// Cache remembers, by part and hash, contents that were found strict, so that a
// transcript is looked through once and not for every page. It is safe for
// concurrent use.
type Cache struct {
	seed maphash.Seed

	mu   sync.Mutex // guards seen
	seen map[uint64]struct{}
}

// New returns an empty Cache.
func New() *Cache {
	return &Cache{seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}
}

// maxStrict bounds the memory of a Cache: 8 bytes and the map's overhead for each
// content.
const maxStrict = 200_000

// isStrict reports whether a part was found strict before, or is so by the function.
func (c *Cache) isStrict(p api.Part, raw json.RawMessage, strict func(json.RawMessage) bool) bool {
	sum := maphash.Bytes(c.seed, raw) ^ maphash.String(c.seed, string(p))
	c.mu.Lock()
	_, ok := c.seen[sum]
	c.mu.Unlock()
	if ok || !strict(raw) {
		return ok
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) >= maxStrict {
		clear(c.seen)
	}
	c.seen[sum] = struct{}{}
	return true
}
