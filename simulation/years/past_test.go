package years

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/internal/residue"
	"minutebook/search"
)

// pastArchive is a copy of the archive, as it was at a quiet time.
type pastArchive struct {
	dir string
	at  time.Time
}

// keepCopy keeps a copy of the archive.
func (w *world) keepCopy() {
	if w.seed < firstStrict || w.house == nil {
		return
	}
	synctest.Wait()
	dir := filepath.Join(w.dir, fmt.Sprintf("past%d", len(w.past)))
	w.must(copyDir(w.house.dir, dir), "copy the archive")
	w.past = append(w.past, pastArchive{dir, w.now()})
}

// asked is a question of a person.
type asked struct {
	person *person
	query  string
}

// reply is the answer to a question.
type reply struct {
	Found  []int64
	Facets []search.Facet
}

func (a *answers) replies() (list []reply) {
	for _, q := range a.questions {
		found, facets := a.find(q.person, q.query)
		list = append(list, reply{found, facets})
	}
	return list
}

// compareFollowed has an index follow the archive through its copies to the end of the year, and
// compares its answers to the questions with those of the one that was built at the end.
func (a *answers) compareFollowed(t *testing.T) {
	w := a.w
	if len(w.past) == 0 {
		return
	}
	fresh, dir := a.replies(), filepath.Join(w.dir, "followed")
	for _, p := range w.past {
		ar, err := archive.Open(a.ctx, archive.Options{Dir: p.dir, Now: func() time.Time { return p.at }, Logger: zerolog.Nop()})
		w.must(err, "open a copy of the archive")
		index := a.follow(ar, dir)
		w.must(index.Close(), "close the index that followed")
		w.must(ar.Close(), "close a copy of the archive")
	}
	a.index = a.follow(a.archive, dir)
	defer a.index.Close()
	for i, got := range a.replies() {
		if q := a.questions[i]; !cmp.Equal(got, fresh[i]) {
			w.fail("%s finds by %q in an index that followed the year %v, and in a new one %v", q.person.name, q.query, got, fresh[i])
		}
	}
	var forgotten []string
	for id := range w.oracle.forgot {
		forgotten = append(forgotten, token(id))
	}
	if found := residue.FindAny(t, forgotten, dir); len(found) > 0 {
		w.fail("a word of a forgotten meeting is in %q, of an index that followed the year", found)
	}
}

// follow has the index of a folder catch up with an archive.
func (a *answers) follow(ar *archive.Archive, dir string) *search.Index {
	index, err := search.Open(a.ctx, search.Options{Archive: ar, Dir: dir, Now: ar.Now, Logger: zerolog.Nop()})
	a.w.must(err, "open the index that follows")
	a.w.must(index.CatchUp(a.ctx), "have the index follow")
	return index
}
