package years

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/loopback"
	"minutebook/service"
)

const (
	host    = "http://service.test"
	baseURL = host + "/external/v1"
)

// upstream is the real service as a sandbox with the organisation.
type upstream struct {
	org     *org
	archive *archive.Archive
	service *service.Service
	carrier *loopback.Transport
	count   counter
}

func recordingBytes() (io.ReadSeeker, string) { return bytes.NewReader(sandboxFilm), "video/mp4" }

// sandboxFilm is every recording of the sandbox.
var sandboxFilm = bytes.Repeat([]byte("minutebook"), 300)

func newUpstream(dir string, o *org, w *world) (*upstream, error) {
	ctx := context.Background()
	ar, err := archive.Open(ctx, archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	u := &upstream{org: o, archive: ar}
	window := service.WindowFixed
	if w.traits.sliding {
		window = service.WindowSliding
	}
	u.service, err = service.New(ctx, service.Options{Archive: ar, Sandbox: true, PublicURL: host, Generation: 35 * time.Second,
		Video: recordingBytes, Audio: recordingBytes, Window: window, Logger: zerolog.Nop(), Rand: newReader(w.seed)})
	if err != nil {
		return nil, err
	}
	archivetest.KeepOpen(ar) // and service.db, which is open by now
	if err := u.putDirectory(ctx); err != nil {
		return nil, err
	}
	handler := u.service.Handler()
	u.carrier = &loopback.Transport{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		u.count.arrive(r, w.app.nameOf(r))
		handler.ServeHTTP(rw, r)
	})}
	return u, nil
}

func (u *upstream) putDirectory(ctx context.Context) error {
	return u.service.LoadDirectory(ctx, bytes.NewReader(u.org.directory()), "simulated")
}

// put stores meetings as they are now. A deleted one belongs to somebody unknown, and
// nobody sees it.
func (u *upstream) put(ctx context.Context, meetings ...*meeting) error {
	time.Sleep(2 * time.Millisecond) // of two changes the later one counts
	var batch []archive.Observation
	for _, m := range meetings {
		shown := *m
		if m.deleted {
			nobody := *m.recorder
			nobody.email, nobody.address, nobody.team = "nobody@gone.invalid", "", ""
			shown.recorder, shown.sharing = &nobody, "no_teams"
		}
		ob, err := archive.FromMeeting(archive.LocalAccount, archive.SourceImport, time.Now(), shown.object())
		if err != nil {
			return err
		}
		ob.Query = "edits" // the plain list would decide who is inside the organisation
		batch = append(batch, ob)
	}
	_, err := u.archive.Apply(ctx, batch)
	return err
}

// counter is an independent count of the calls that reached the service, by key, connection
// or app.
type counter struct {
	mu      sync.Mutex // guards the fields below
	arrived map[string][]time.Time
	total   int
	classed map[string]int // all calls, by key and class
	over    []string
}

// nominal are the limits of section 8 for a window of 60 seconds.
var nominal = map[string]int{"global": 60, "heavy": 30, "download": 30, "token": 60}

// arrive counts a call in the classes of section 8. In no 60 seconds may there be more
// than the limit.
func (c *counter) arrive(r *http.Request, key string) {
	path := strings.TrimPrefix(r.URL.Path, "/external/v1")
	if key == "" || strings.HasPrefix(path, "/media/") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total++
	for _, class := range classes(r.Method, path, r.URL.Query().Get("include_transcript") == "true" || r.URL.Query().Get("include_summary") == "true") {
		name := key + " " + class
		if c.arrived == nil {
			c.arrived, c.classed = map[string][]time.Time{}, map[string]int{}
		}
		c.classed[name]++
		list, now := c.arrived[name], time.Now()
		for len(list) > 0 && now.Sub(list[0]) >= time.Minute {
			list = list[1:]
		}
		list = append(list, now)
		c.arrived[name] = list
		if len(list) > nominal[class] {
			c.over = append(c.over, fmt.Sprintf("%s: %d %s calls within %s", now.UTC().Format(time.DateTime), len(list), class, now.Sub(list[0])))
		}
	}
}

// byClass returns how many calls of a key were ever made, by their classes.
func (c *counter) byClass(key string) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := map[string]int{}
	for class := range nominal {
		calls[class] = c.classed[key+" "+class]
	}
	return calls
}

// classes returns the limits that a call counts against.
func classes(method, path string, inline bool) []string {
	switch {
	case path == tokenPath:
		return []string{"token"}
	case method == http.MethodPost && strings.HasSuffix(path, "/download"):
		return []string{"global", "download"}
	case inline, strings.HasSuffix(path, "/transcript"), strings.HasSuffix(path, "/summary"):
		return []string{"global", "heavy"}
	}
	return []string{"global"}
}

// excess returns the first time that a limit was exceeded, "" when none was.
func (c *counter) excess() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.over) == 0 {
		return ""
	}
	return c.over[0]
}

// newReader is a source of the service's secrets that depends on the seed alone.
func newReader(seed uint64) io.Reader { return &randomReader{r: newDice(seed)} }

type randomReader struct {
	mu sync.Mutex // guards r's order
	r  *dice
}

// Read fills p.
func (r *randomReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.r.roll("bytes")
	for i := range p {
		p[i] = byte(g.Uint32())
	}
	return len(p), nil
}
