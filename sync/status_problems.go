package syncer

import (
	"maps"
	"slices"
	"sync"
)

// troubles are what keeps a part of the sync from working right now, such as a
// full disk.
type problems struct {
	mu      sync.Mutex // guards what follows
	current map[string]string
}

// trouble notes, logs once, or with nil clears, what is wrong with a part.
func (s *Syncer) reportHealth(part string, err error) {
	t := &s.problems
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		if _, was := t.current[part]; was {
			s.log.Info().Str("part", part).Msg("goes on")
			delete(t.current, part)
		}
		return
	}
	if t.current == nil {
		t.current = map[string]string{}
	}
	if t.current[part] != err.Error() {
		s.log.Error().Str("part", part).Err(err).Msg("paused")
		t.current[part] = err.Error()
	}
}

func (t *problems) list() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, part := range slices.Sorted(maps.Keys(t.current)) {
		out = append(out, part+": "+t.current[part])
	}
	return out
}
