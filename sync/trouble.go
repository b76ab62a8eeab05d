package syncer

import (
	"maps"
	"slices"
	"sync"
)

// troubles are what keeps a part of the sync from working right now, such as a
// full disk.
type troubles struct {
	mu  sync.Mutex // guards what follows
	now map[string]string
}

// trouble notes, logs once, or with nil clears, what is wrong with a part.
func (s *Syncer) trouble(part string, err error) {
	t := &s.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		if _, was := t.now[part]; was {
			s.log.Info().Str("part", part).Msg("goes on")
			delete(t.now, part)
		}
		return
	}
	if t.now == nil {
		t.now = map[string]string{}
	}
	if t.now[part] != err.Error() {
		s.log.Error().Str("part", part).Err(err).Msg("paused")
		t.now[part] = err.Error()
	}
}

func (t *troubles) list() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, part := range slices.Sorted(maps.Keys(t.now)) {
		out = append(out, part+": "+t.now[part])
	}
	return out
}
