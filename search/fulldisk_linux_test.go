package search

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"minutebook/internal/testrun"
)

// TestAFullDiskKeepsNoProcessorBusy has nothing of a batch find room: the index tries
// again now and then, and is whole once there is room.
func TestAFullDiskKeepsNoProcessorBusy(t *testing.T) {
	testrun.SkipUnderRace(t)
	disk := testrun.SmallDisk(t, 8)
	h := &fixture{t: t, dir: t.TempDir()}
	if err := os.Symlink(disk.Dir, filepath.Join(h.dir, "index")); err != nil {
		t.Fatal(err)
	}
	h.open()
	t.Cleanup(h.close)
	h.index.room = func(string) (int64, error) { return roomLeft, nil } // else it would wait for more than the disk has
	h.catchUp()
	h.add(threeMeetings()...)
	disk.Fill()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_ = h.index.CatchUp(ctx)
	<-ctx.Done()
	for _, s := range []*store{h.index.serving.meetings, h.index.serving.moments} {
		index, err := s.index.Advanced()
		if err != nil {
			t.Fatal(err)
		}
		tries := func() uint64 { return index.(*scorch.Scorch).StatsMap()["TotPersistLoopErr"].(uint64) }
		for deadline := time.Now().Add(5 * time.Minute); tries() == 0 && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond) // a loaded machine comes to it later
		}
		if tried := tries(); tried == 0 || tried > 10 {
			t.Errorf("%s was tried %d times in two seconds", filepath.Base(s.path), tried)
		}
	}
	disk.Clear()
	h.catchUp()
	checkAnswers(h)
}
