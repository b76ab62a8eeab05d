package segment

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestFailedMergeHoldsUpTheNext merges into a folder that does not exist, as it would onto
// a disk without room: Bleve would try again at once, for ever.
func TestFailedMergeHoldsUpTheNext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent", "segment.zap")
	synctest.Test(t, func(t *testing.T) {
		merge := func(closed chan struct{}) time.Duration {
			began := time.Now()
			if _, _, err := (&plugin{}).MergeUsing(nil, nil, path, closed, nil, nil); err == nil {
				t.Fatal("it was merged")
			}
			return time.Since(began)
		}
		if waited := merge(make(chan struct{})); waited != mergePause {
			t.Errorf("a merge that failed returned after %v, want %v", waited, mergePause)
		}
		closed := make(chan struct{})
		close(closed)
		if waited := merge(closed); waited != 0 {
			t.Errorf("the merge of an index that closes returned after %v", waited)
		}
	})
}
