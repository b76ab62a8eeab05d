package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
	"minutebook/search/segment"
)

// filesOf lists the index's files whose names end so.
func filesOf(t *testing.T, dir, suffix string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(dir, "index"), func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, suffix) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no file ends in %s: %v", suffix, err)
	}
	return found
}

func rewriteFiles(t *testing.T, paths []string, change func([]byte) []byte) {
	t.Helper()
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err == nil {
			err = os.WriteFile(p, change(bytes.Clone(raw)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamage breaks the files of a closed index in every way there is a name
// for: it must open, and answer right once it has caught up.
func TestDamage(t *testing.T) {
	testrun.SkipUnderRace(t)
	half := func(b []byte) []byte { return b[:len(b)/2] }
	for name, breakIt := range map[string]func(t *testing.T, dir string){
		"everything gone":   func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "index")) },
		"a segment missing": func(t *testing.T, dir string) { os.Remove(filesOf(t, dir, ".zap")[0]) },
		"segments cut":      func(t *testing.T, dir string) { rewriteFiles(t, filesOf(t, dir, ".zap"), half) },
		"segments empty": func(t *testing.T, dir string) {
			rewriteFiles(t, filesOf(t, dir, ".zap"), func([]byte) []byte { return nil })
		},
		"root cut": func(t *testing.T, dir string) { rewriteFiles(t, filesOf(t, dir, "root.bolt"), half) },
		"root cut a little": func(t *testing.T, dir string) {
			rewriteFiles(t, filesOf(t, dir, "root.bolt"), func(b []byte) []byte { return b[:len(b)*3/4] })
		},
		"root garbage": func(t *testing.T, dir string) {
			rewriteFiles(t, filesOf(t, dir, "root.bolt"), func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) })
		},
		"description missing": func(t *testing.T, dir string) { os.Remove(filesOf(t, dir, "index_meta.json")[0]) },
		"description garbage": func(t *testing.T, dir string) { rewriteFiles(t, filesOf(t, dir, "index_meta.json"), half) },
		"moments missing": func(t *testing.T, dir string) {
			os.RemoveAll(filepath.Join(dir, "index", generationName{format, 1}.String(), momentsFolder))
		},
		"of an older format": func(t *testing.T, dir string) {
			os.Rename(filepath.Join(dir, "index", generationName{format, 1}.String()), filepath.Join(dir, "index", "v0-000001"))
		},
		"a stranger's folder": func(t *testing.T, dir string) { os.MkdirAll(filepath.Join(dir, "index", "notes"), 0o700) },
		"an empty generation": func(t *testing.T, dir string) {
			os.MkdirAll(filepath.Join(dir, "index", generationName{format, 2}.String()), 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			h.add(threeMeetings()...)
			h.catchUp()
			h.close()
			breakIt(t, h.dir)
			h.open()
			h.catchUp()
			checkAnswers(h)
		})
	}
}

func checkAnswers(h *fixture) {
	h.t.Helper()
	for query, want := range map[string]string{"": "3 2 1", "budget": "1", `"were cut"`: "1", "vertrag": "3", "marketing": "1 2"} {
		if got := hitIDs(h.search(Request{Query: query})); got != want {
			h.t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	if err := h.index.Check(context.Background()); err != nil {
		h.t.Error(err)
	}
}

// TestFlippedByte flips a byte in the middle of a segment, which opening does
// not notice: the check does, and the index is built anew.
func TestFlippedByte(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	h.close()
	rewriteFiles(t, filesOf(t, h.dir, ".zap"), func(b []byte) []byte { b[len(b)/3] ^= 0x20; return b })
	h.open()
	h.catchUp()
	if err := h.index.Check(context.Background()); !errors.Is(err, errUnsound) {
		t.Fatalf("check of a damaged index: %v", err)
	}
	h.catchUp()
	checkAnswers(h)
	if h.index.serving.number != 2 {
		t.Errorf("generation %d answers, want 2", h.index.serving.number)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "index", generationName{format, 1}.String())); !os.IsNotExist(err) {
		t.Errorf("the damaged index is still there: %v", err)
	}
}

// TestAnUnreadableMeetingIsNotMissing builds the index while a meeting is damaged in the archive:
// building it once more would not help.
func TestAnUnreadableMeetingIsNotMissing(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	archivetest.Damage(t, filepath.Join(h.dir, "archive.db"), `UPDATE bodies SET body = zeroblob(length(body)) WHERE revision_id IN (SELECT revision_id FROM parts WHERE recording_id = 2)`)
	h.catchUp()
	if got := hitIDs(h.search(Request{})); got != "3 1" {
		t.Fatalf("the index has %q", got)
	}
	if absent, extra, err := h.index.Compare(t.Context()); err != nil || len(absent)+len(extra) > 0 {
		t.Errorf("absent %d, extra %d, %v", absent, extra, err)
	}
}

// TestSecondOpener is refused and leaves the first one's index alone.
func TestSecondOpener(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	if x, err := Open(context.Background(), Options{Archive: h.archive}); err == nil {
		x.Close()
		t.Fatal("a second opener is let in")
	}
	checkAnswers(h)
}

// TestDamageWhileBuilding cuts the files of an index that is being built: it is
// built anew from the beginning.
func TestDamageWhileBuilding(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	for id := range int64(buildMeetings + 10) {
		h.add(meeting(id+1, "Weekly", "en", day(1), []utterance{{0, "Anna", "we said hello"}}, nil))
	}
	g := h.index.next
	c, err := h.index.readChunk(t.Context(), g, g.buildState())
	if err == nil {
		err = h.index.writeChunk(t.Context(), g, c)
	}
	if err == nil {
		err = g.flush(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range filesOf(t, h.dir, ".zap") {
		if strings.Contains(path, momentsFolder) {
			if err := os.Truncate(path, 50); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.catchUp()
	if a := h.search(Request{Query: "hello"}); a.Total != buildMeetings+10 || h.index.serving.number != 2 || a.Progress.Rebuilding {
		t.Errorf("generation %d finds %d meetings: %+v", h.index.serving.number, a.Total, a.Progress)
	}
}

// TestLeftoverGeneration builds anew although an attempt that failed left files
// in the new generation's folder.
func TestLeftoverGeneration(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	left := filepath.Join(h.dir, "index", generationName{format, 2}.String(), meetingsFolder)
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "index_meta.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.index.Rebuild()
	h.catchUp()
	checkAnswers(h)
}

// TestCheckKnowsEveryWord checks meetings whose longest words are of every kind:
// a sound index passes, and so is not built anew at the next start.
func TestCheckKnowsEveryWord(t *testing.T) {
	testrun.SkipUnderRace(t)
	words := strings.Fields("½ 2½ Ⅳ² ﷽ don't l'd l'homme o'o'o ABC-123 1,000 10.0.0.1 ﬁne İstanbul Straße العربية ไทยภาษา 日本語テスト ー々 𝔸𝔹 ㍿ ﾊﾝｶｸ ខ្មែរ ❤ a_b__c x@y.example ʻokina rock’n’roll " +
		strings.Repeat("kraftfahrzeug", 8) + " " + strings.Repeat("ha", 3000))
	h := newFixture(t)
	for i, w := range words {
		h.add(meeting(int64(i+1), "Weekly", "en", day(1), []utterance{{0, "Anna", w}}, nil))
	}
	h.catchUp()
	for i, w := range words {
		if err := h.index.checkMeeting(t.Context(), int64(i+1)); err != nil {
			t.Errorf("%q: %v", w, err)
		}
	}
}

// spoilCounts makes endless numbers of the counts of a segment's words, and
// says of how many. The file is in zapx's format: the dictionary leads to a
// word's list, which begins with the place of its counts: their number, their
// ends, and the counts.
func spoilCounts(t *testing.T, path string) (spoiled int) {
	opened, err := (&zap.ZapPlugin{}).Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	file := opened.(*zap.Segment)
	raw := bytes.Clone(file.Data())
	at, err := file.DictAddr(segment.FieldText)
	if err != nil {
		t.Fatal(err)
	}
	size, n := binary.Uvarint(raw[at:])
	dict, err := vellum.Load(raw[int(at)+n:][:size])
	if err != nil {
		t.Fatal(err)
	}
	for it, err := dict.Iterator(nil, nil); err == nil; err = it.Next() {
		_, list := it.Current()
		if list&zap.FSTValEncodingMask == zap.FSTValEncoding1Hit {
			continue
		}
		counts, _ := binary.Uvarint(raw[list:])
		chunks, n := binary.Uvarint(raw[counts:])
		rest := raw[int(counts)+n:]
		end := uint64(0)
		for range chunks {
			end, n = binary.Uvarint(rest)
			rest = rest[n:]
		}
		copy(rest, bytes.Repeat([]byte{0x80}, int(end)))
		spoiled++
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return spoiled
}

// TestSpoiledCounts searches an index of which only the counts of words are
// damaged: the search says so, and the index is built anew.
func TestSpoiledCounts(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, workers := range []int{1, 4} {
		h := newFixture(t)
		for _, m := range threeMeetings() { // a segment for each
			h.add(m)
			h.catchUp()
		}
		h.close()
		spoiled := 0
		for _, path := range filesOf(t, h.dir, ".zap") {
			if strings.Contains(path, meetingsFolder) {
				spoiled += spoilCounts(t, path)
			}
		}
		if spoiled == 0 {
			t.Fatal("nothing is damaged")
		}
		h.open()
		h.index.workers = workers
		_, err := h.index.Search(context.Background(), Request{Query: "the", Viewer: everyone})
		if err == nil {
			_, err = h.index.Search(context.Background(), Request{Query: "budget", Viewer: everyone})
		}
		if err != segment.ErrDamaged {
			t.Fatalf("search with damaged counts: %v", err)
		}
		if p := h.index.Progress(); !p.Damaged || !p.Rebuilding || p.Reason == "" {
			t.Errorf("before it is built anew: %+v", p)
		}
		h.catchUp()
		checkAnswers(h)
		if p := h.index.Progress(); p.Damaged || p.Rebuilding {
			t.Errorf("built anew: %+v", p)
		}
		if h.index.serving.number != 2 {
			t.Errorf("generation %d answers, want 2", h.index.serving.number)
		}
	}
}

// TestTheFolderIsRemoved removes the files of an open index: it is built anew for the next
// change, and closing it does not wait for the disk.
func TestTheFolderIsRemoved(t *testing.T) {
	h := newFixture(t)
	// Bleve adds files at any moment, so the folder leaves its place before it is emptied.
	remove := func() {
		gone := filepath.Join(t.TempDir(), "gone")
		if err := errors.Join(os.Rename(filepath.Join(h.dir, "index"), gone), os.RemoveAll(gone)); err != nil {
			t.Fatal(err)
		}
	}
	meetings := threeMeetings()
	h.add(meetings[0])
	h.catchUp()
	for _, raw := range meetings[1:] {
		remove()
		h.add(raw)
		h.catchUp()
	}
	checkAnswers(h)
	remove()
	if err := h.index.Close(); err != nil && !errors.Is(err, segment.ErrDamaged) {
		t.Error(err)
	}
}

// TestARequestedRebuildWakesTheFollower requests rebuilds while the archive does not change.
func TestARequestedRebuildWakesTheFollower(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.index.Follow(ctx) }()
	for number := 2; number < 5; number++ {
		h.index.Rebuild()
		for deadline := time.Now().Add(5 * time.Minute); h.index.Progress().Rebuilding; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("generation %d is not built", number)
			}
		}
	}
	stop()
	if err := <-done; err != nil || h.index.serving.number < 4 {
		t.Errorf("generation %d answers; %v", h.index.serving.number, err)
	}
}

// TestARequestedRebuildOutlivesTheProgram builds the indexes anew although the program
// ended between the request and the next CatchUp, and does it once.
func TestARequestedRebuildOutlivesTheProgram(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	h.index.Rebuild()
	for range 2 {
		h.close()
		h.open()
		h.catchUp()
		if n := h.index.serving.number; n != 2 {
			t.Fatalf("generation %d answers; want the second", n)
		}
	}
	checkAnswers(h)
}

// TestADamagedMeetingHidesNoOther damages the stored summary of a meeting: queries that the
// meeting answers, and an index that is built anew, work without it. After a repair its words are found.
func TestADamagedMeetingHidesNoOther(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	archivetest.Damage(t, filepath.Join(h.dir, "archive.db"), `UPDATE bodies SET encoding = 1, body = x'00'
		WHERE revision_id IN (SELECT id FROM revisions WHERE recording_id = 1 AND part = 'default_summary')`)
	if got := hitIDs(h.search(Request{Query: "marketing"})); got != "1 2" {
		t.Errorf("with the index of before %q are found", got)
	}
	h.close()
	if err := os.RemoveAll(filepath.Join(h.dir, "index")); err != nil {
		t.Fatal(err)
	}
	h.open()
	h.catchUp()
	if got := hitIDs(h.search(Request{Query: "marketing"})); got != "2" {
		t.Errorf("with a new index %q are found", got)
	}
	if _, err := h.archive.Verify(t.Context(), archive.VerifyOptions{Repair: true}, func(archive.Damage) {}); err != nil {
		t.Fatal(err)
	}
	h.catchUp()
	if got := hitIDs(h.search(Request{Query: "marketing"})); got != "2 1" {
		t.Errorf("after a repair %q are found", got)
	}
}
