package syncer

import (
	"maps"
	"slices"
	"sync"
)

// problems are the reasons why parts of the sync do not work at present, such
// as a full disk.
type problems struct {
	mu      sync.Mutex // guards the fields below
	current map[string]string
}

// reportHealth records a part's error, and logs it once; nil says that the part
// works again.
func (s *Syncer) reportHealth(part string, err error) {
	t := &s.problems
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		if _, repeated := t.current[part]; repeated {
			s.log.Info().Str("part", part).Msg("works again")
			delete(t.current, part)
		}
		return
	}
	if t.current == nil {
		t.current = map[string]string{}
	}
	if t.current[part] != err.Error() {
		s.log.Error().Str("part", part).Err(err).Msg("does not work at present")
		t.current[part] = err.Error()
	}
}

// list returns one line for each part that does not work.
func (t *problems) list() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, part := range slices.Sorted(maps.Keys(t.current)) {
		out = append(out, part+": "+t.current[part])
	}
	return out
}
