package sync_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// TestFigureCurl fetches a recording over a connection of the machine's own, and then the
// same bytes by curl. Ours also hashes them; both sync the file.
func TestFigureCurl(t *testing.T) {
	testrun.SkipUnderRace(t)
	if os.Getenv("MINUTEBOOK_BENCH") == "" {
		t.Skip("only by make bench")
	}
	curl := testrun.Program(t, "curl")
	const size = 256 << 20
	var ours, theirs time.Duration
	for range 3 {
		a, link, server := fetchOurs(t, size)
		ours, theirs = ours+a, theirs+fetchByCurl(t, curl, link, server, size)
	}
	t.Logf("3 recordings of %d MB: %.2f s, by curl %.2f s (%.2f)", size>>20, ours.Seconds(), theirs.Seconds(), ours.Seconds()/theirs.Seconds())
}

// fetchOurs returns the time from the first call for a recording until it is in the
// archive, its link, and the address of the server.
func fetchOurs(t *testing.T, size int) (elapsed time.Duration, link, server string) {
	u := rig.NewUpstream(t, service.Options{Generation: time.Millisecond, Video: rig.File(size)}, rig.Meetings(1, time.Now().Add(-24*time.Hour), time.Hour))
	var mu sync.Mutex // guards link and began
	var began time.Time
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if strings.Contains(r.URL.Path, "/media/") && began.IsZero() {
			began, link = time.Now(), "http://service.test"+r.URL.String()
		}
		mu.Unlock()
		u.Wire.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	address := s.Listener.Addr().String()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	ar := rig.NewArchive(t, t.TempDir())
	calls, err := api.NewClient(api.ClientOptions{BaseURL: rig.BaseURL, Credential: api.APIKey(u.Key), HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	sy, err := syncer.New(syncer.Options{Archive: ar, MediaHTTP: client, Logger: zerolog.Nop(), Accounts: []syncer.Account{{Name: "ada", Client: calls, AllowPrivate: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := sy.Sync(t.Context(), syncer.Request{Media: true}, nil); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if media, err := ar.MediaOf(t.Context(), 1); err != nil || len(media) != 1 || media[0].Size != int64(size) {
		t.Fatal("the recording is not whole", media, err)
	}
	return time.Since(began), link, address
}

// fetchByCurl returns the time that curl takes, with the sync of its file.
func fetchByCurl(t *testing.T, curl, link, server string, size int) time.Duration {
	began, path := time.Now(), filepath.Join(t.TempDir(), "recording")
	out, err := exec.CommandContext(t.Context(), curl, "-sSf", "--connect-to", "service.test:80:"+server, "-o", path, link).CombinedOutput()
	if err != nil {
		t.Fatal(fmt.Errorf("curl: %w: %s", err, out))
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	elapsed := time.Since(began)
	if info, err := f.Stat(); err != nil || info.Size() != int64(size) {
		t.Fatal("curl's recording is not whole", err)
	}
	return elapsed
}
