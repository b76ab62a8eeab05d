package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/residue"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// TestKilledWhileABucketIsUsed kills the daemon, and the commands that run then, while
// recordings are imported into a real S3 server, in parts where they are large, and backed up
// into it, and meetings are forgotten and verified. What was imported is there with its
// recording, also in a backup, nothing is left of forgotten meetings, and the bucket has no
// object that nobody knows.
func TestKilledWhileABucketIsUsed(t *testing.T) {
	testrun.SkipUnderRace(t)
	server := s3test.Start(t)
	service, key := sandbox(t, t.TempDir())
	s := newServed(t, service.url+"/external/v1", key)
	appendTo(t, s.config, fmt.Sprintf("\n[media]\nurl = %q\nmin_free_bytes = 0\ndownload = false\n", server.URL("recordings", "minutes")))
	l := &bucketLoad{load: newLoad(s, t.TempDir()), place: server.URL("recordings", "backups"), imported: map[int]bool{}, dropped: map[int]bool{}}
	for range kills(2, 100) {
		l.start()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); l.run(ctx) }()
		time.Sleep(time.Duration(rand.Int64N(int64(4 * time.Second))))
		l.cmd.Process.Signal(syscall.SIGKILL)
		stop()
		<-ended
		l.cmd.Wait()
	}
	l.start()
	run(t, "import", "-c", l.config, l.folder(l.last+1))
	l.imported[l.last+1] = true
	l.check(t, server)
	t.Logf("%d meetings imported, %d forgotten, commands that ended well %v, the last failures %v", len(l.imported), len(l.dropped), l.done, l.failed)
}

// bucketLoad is a load on a bucket, of meetings by their numbers.
type bucketLoad struct {
	*load
	place    string       // of the backups
	last     int          // the newest meeting
	imported map[int]bool // by a command that ended well
	dropped  map[int]bool // meetings that a command was begun to forget
}

// talk returns the recording of a meeting. One in four is uploaded in parts.
func talk(n int) []byte {
	size := 1 + n*7919%300_000
	if n%4 == 0 {
		size = 33<<20 + n
	}
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(b)
	copy(b, spoken(n))
	return b
}

// spoken is the word that only one meeting has, in its recording too.
func spoken(n int) string { return fmt.Sprintf("zq%dqz", 900_000+n) }

// folder writes a meeting with a recording as files.
func (l *bucketLoad) folder(n int) string {
	dir := filepath.Join(l.dir, fmt.Sprint(n))
	for name, content := range map[string][]byte{
		"meeting.toml": fmt.Appendf(nil, "key = \"load/%d\"\ntitle = %q\nstart = 2026-03-01T10:00:00Z\nrecorded_by = \"Ada <ada@company.example>\"\n", n, "Talk "+spoken(n)),
		"talk.vtt":     fmt.Appendf(nil, "WEBVTT\n\n00:01.000 --> 00:05.000\n<v Ada>%s said\n", spoken(n)),
		"talk.mp3":     talk(n),
	} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			l.t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			l.t.Error(err)
		}
	}
	return dir
}

// run goes on until ctx ends, which kills the commands.
func (l *bucketLoad) run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, step := range []func(context.Context){l.importNext, l.importNext, l.forgetOne,
		func(ctx context.Context) { l.command(ctx, "backup", "--keep", "2", l.place) },
		func(ctx context.Context) { l.command(ctx, "verify", "--repair") },
	} {
		wg.Go(func() {
			for ctx.Err() == nil {
				step(ctx)
				sleep(ctx, 100*time.Millisecond)
			}
		})
	}
	wg.Wait()
}

func (l *bucketLoad) importNext(ctx context.Context) {
	l.mu.Lock()
	l.last++
	n := l.last
	l.mu.Unlock()
	if _, ok := l.command(ctx, "import", l.folder(n)); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.imported[n] = true
	}
}

// forgetOne forgets a meeting that was imported, or is being imported.
func (l *bucketLoad) forgetOne(ctx context.Context) {
	l.mu.Lock()
	n := 1 + rand.IntN(l.last+1)
	l.mu.Unlock()
	id := l.find(ctx, n)
	if id == 0 {
		return
	}
	l.mu.Lock()
	l.dropped[n] = true
	l.mu.Unlock()
	l.command(ctx, "forget", "--reason", "load", fmt.Sprint(id))
}

// find returns the id of a meeting, or 0.
func (l *bucketLoad) find(ctx context.Context, n int) int64 {
	var found control.SearchResult
	if out, ok := l.command(ctx, "search", "--json", spoken(n)); !ok || json.Unmarshal(out, &found) != nil || len(found.Meetings) == 0 {
		return 0
	}
	return found.Meetings[0].RecordingID
}

// check checks the daemon, the bucket and a backup.
func (l *bucketLoad) check(t *testing.T, server *s3test.Server) {
	t.Helper()
	for n := range l.dropped { // once more where it was cut off
		eventually(t, "a meeting is forgotten", func() (bool, any) {
			id := l.find(t.Context(), n)
			if id != 0 {
				l.command(t.Context(), "forget", "--reason", "load", fmt.Sprint(id))
			}
			return id == 0, l.failed
		})
	}
	run(t, "verify", "--repair", "-c", l.config)
	run(t, "verify", "-c", l.config)
	sums, wanted := map[string]int{}, map[string]bool{}
	for n := 1; n <= l.last+1; n++ {
		sum := fmt.Sprintf("%x", sha256.Sum256(talk(n)))
		if sums[sum] = n; l.imported[n] && !l.dropped[n] {
			wanted[sum] = true
			if l.find(t.Context(), n) == 0 {
				t.Errorf("meeting %d was imported and is not found", n)
			}
		}
	}
	for _, name := range server.Objects(t, "minutes/") {
		n, known := sums[path.Base(name)]
		if delete(wanted, path.Base(name)); !known || l.dropped[n] {
			t.Errorf("the bucket has %s, of meeting %d, forgotten %t", name, n, l.dropped[n])
		}
	}
	if len(wanted) > 0 {
		t.Errorf("the recordings %v were imported and are not in the bucket", slices.Collect(maps.Keys(wanted)))
	}
	run(t, "backup", "--keep", "1", l.place, "-c", l.config)
	for _, name := range server.Uploads(t) { // those of recordings go when they are a day old
		if n, known := sums[path.Base(name)]; !known || l.dropped[n] {
			t.Errorf("an upload of %s was left, of meeting %d", name, n)
		}
	}
	back := filepath.Join(t.TempDir(), "back")
	run(t, "restore", "--data", back, l.place)
	run(t, "verify", "--data", back)
	var words []string
	for n := range l.dropped {
		words = append(words, spoken(n))
	}
	if len(words) == 0 {
		return
	}
	if found := residue.FindAny(t, words, filepath.Join(filepath.Dir(l.config), "data"), back, server.Root()); len(found) > 0 {
		t.Errorf("words of forgotten meetings are in %q", found)
	}
}

// appendTo appends text to a file.
func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
