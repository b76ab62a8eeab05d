package years

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/internal/bucket"
	"minutebook/internal/loopback"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// objects is the server of a bucket whose objects are files below a directory. It answers as
// a real one does, see TestObjectsAreLikeThoseOfARealServer.
type objects struct {
	dir   string
	mu    sync.Mutex // guards the fields below
	kinds map[string]string
	// away is how the server fails until a time, and onceStored how it does for an hour after it
	// has stored a recording; "" for not at all.
	away, onceStored string
	until            time.Time
	hit              time.Time // the last time that a fault hit a call
	owner            map[string]int64
}

func newObjects(dir string) *objects {
	return &objects{dir: dir, kinds: map[string]string{}, owner: map[string]int64{}}
}

// ServeHTTP is part of http.Handler.
func (o *objects) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	q, path := r.URL.Query(), filepath.Join(o.dir, key)
	info, err := os.Stat(path)
	isThere := err == nil && info.Mode().IsRegular()
	switch {
	case name != "recordings":
		s3test.Refuse(rw, http.StatusNotFound, "NoSuchBucket")
	case q.Has("versioning"):
		answerXML(rw, struct {
			XMLName xml.Name `xml:"VersioningConfiguration"`
		}{})
	case q.Has("uploads"): // nothing is as large as a part
		answerXML(rw, struct {
			XMLName xml.Name `xml:"ListMultipartUploadsResult"`
		}{})
	case key == "":
		o.list(rw, q.Get("prefix"), q.Get("delimiter"), q.Get("start-after")+q.Get("continuation-token"), q.Get("max-keys"))
	case r.Method == http.MethodPut && r.Header.Get("If-None-Match") == "*" && isThere:
		s3test.Refuse(rw, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		content, err := io.ReadAll(r.Body)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			panic(err)
		}
		o.kinds[key] = r.Header.Get("Content-Type")
		if o.onceStored != "" && filepath.Base(key) != "archive-id" {
			o.away, o.onceStored, o.until = o.onceStored, "", time.Now().Add(time.Hour)
		}
		rw.Header().Set("ETag", etag(content))
	case r.Method == http.MethodDelete:
		_ = os.Remove(path)
		rw.WriteHeader(http.StatusNoContent)
	case !isThere && r.Method == http.MethodHead:
		rw.WriteHeader(http.StatusNotFound)
	case !isThere:
		s3test.Refuse(rw, http.StatusNotFound, "NoSuchKey")
	default:
		content, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		var from int
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil && from >= len(content) {
			s3test.Refuse(rw, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
			return
		}
		rw.Header().Set("ETag", etag(content))
		rw.Header().Set("Content-Type", o.kinds[key])
		http.ServeContent(rw, r, "", firstDay, bytes.NewReader(content))
	}
}

func etag(content []byte) string {
	sum := md5.Sum(content)
	return strconv.Quote(hex.EncodeToString(sum[:]))
}

func answerXML(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/xml")
	if err := xml.NewEncoder(rw).Encode(v); err != nil {
		panic(err)
	}
}

// list answers with at most a few names after one.
func (o *objects) list(rw http.ResponseWriter, prefix, delimiter, after, most string) {
	type object struct {
		Key          string
		Size         int64
		ETag         string
		LastModified string
	}
	type folder struct{ Prefix string }
	var l struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Name, Prefix          string
		KeyCount              int
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []object
		CommonPrefixes        []folder
	}
	limit, err := strconv.Atoi(most)
	if err != nil || limit > 7 {
		limit = 7
	}
	l.Name, l.Prefix = "recordings", prefix
	last := ""
	for _, key := range o.keys() {
		name := key
		if i := strings.Index(strings.TrimPrefix(key, prefix), delimiter); delimiter != "" && i >= 0 {
			name = key[:len(prefix)+i+len(delimiter)]
		}
		if !strings.HasPrefix(key, prefix) || name <= after || name == last {
			continue
		}
		if l.KeyCount == limit {
			l.IsTruncated, l.NextContinuationToken = true, last
			break
		}
		l.KeyCount++
		if last = name; name != key {
			l.CommonPrefixes = append(l.CommonPrefixes, folder{name})
			continue
		}
		content, err := os.ReadFile(filepath.Join(o.dir, key))
		if err != nil {
			panic(err)
		}
		l.Contents = append(l.Contents, object{key, int64(len(content)), etag(content), firstDay.Format(time.RFC3339)})
	}
	answerXML(rw, l)
}

// keys are the names of all objects in their order.
func (o *objects) keys() (keys []string) {
	_ = filepath.WalkDir(o.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			key, err := filepath.Rel(o.dir, path)
			if err != nil {
				return err
			}
			keys = append(keys, filepath.ToSlash(key))
		}
		return nil
	})
	slices.Sort(keys)
	return keys
}

// TestObjectsAreLikeThoseOfARealServer asks a real server and the simulated one the same.
func TestObjectsAreLikeThoseOfARealServer(t *testing.T) {
	testrun.SkipUnderRace(t)
	server := s3test.Start(t)
	real := askBucket(t, server.URL("recordings", "p"), server.URL("elsewhere", ""), bucket.Line{})
	line := bucket.Line{Transport: &loopback.Transport{Handler: newObjects(t.TempDir())}}
	simulated := askBucket(t, "s3://recordings/p?region=here&endpoint=https://bucket.test", "s3://elsewhere?region=here&endpoint=https://bucket.test", line)
	if diff := cmp.Diff(real, simulated); diff != "" {
		t.Errorf("the real server (-) answers otherwise than the simulated one (+):\n%s", diff)
	}
}

// askBucket returns the answers to many questions about a bucket, and to one about a bucket
// that is not there.
func askBucket(t *testing.T, url, absent string, line bucket.Line) (answers []string) {
	ctx := t.Context()
	b, err := bucket.OpenWith(url, line)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := bucket.OpenWith(absent, line)
	if err != nil {
		t.Fatal(err)
	}
	note := func(what string, v any, err error) {
		text := fmt.Sprint(what, ": ", v, ", ", err)
		if hint := (*bucket.UnavailableError)(nil); errors.As(err, &hint) {
			text = fmt.Sprint(what, ": ", v, ", unavailable; ", hint.Hint)
		}
		answers = append(answers, text)
	}
	list := func(what string, objects iter.Seq2[bucket.Object, error]) {
		from := len(answers)
		for o, err := range objects {
			note(what, o, err)
		}
		slices.Sort(answers[from:]) // each page of folders and objects has an order of its own
	}
	put := func(name, content string) {
		n, err := b.Put(ctx, name, strings.NewReader(content), int64(len(content)), "video/mp4")
		note("put "+name, n, err)
	}
	list("an empty list", b.List(ctx, ""))
	for i := range 10 {
		put(fmt.Sprintf("a%d/a%d", i, i), strings.Repeat("x", i+1))
	}
	put("a1/b", "first")
	put("a1/b", "second, which is longer")
	for _, name := range []string{"new", "new", "a1/b"} {
		made, err := b.Create(ctx, name, []byte(name))
		note("create "+name, made, err)
	}
	for _, name := range []string{"a1/b", "a1", "none"} {
		o, err := b.Stat(ctx, name)
		note("stat "+name, o, err)
		content, err := b.ReadSmall(ctx, name, 100)
		note("read "+name, string(content), err)
	}
	r, _, err := b.Open(ctx, "a1/b")
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 6)
	for _, at := range []int64{0, 8, 20, 23, 40} {
		n, err := r.ReadAt(piece, at)
		note(fmt.Sprint("read at ", at), string(piece[:n]), err)
	}
	note("close", nil, r.Close())
	list("list", b.List(ctx, ""))
	list("list a1", b.List(ctx, "a1"))
	list("entries", b.Entries(ctx))
	for _, name := range []string{"a1/b", "a1/b", "none"} {
		note("remove "+name, nil, b.Remove(ctx, name))
		note("abort "+name, nil, b.Abort(ctx, name))
	}
	list("list a1", b.List(ctx, "a1"))
	note("versions", b.KeepsVersions(ctx), nil)
	note("sweep", nil, b.SweepUploads(ctx, time.Now(), func(string) bool { return true }))
	note("check", nil, b.Check(ctx))
	note("check elsewhere", nil, elsewhere.Check(ctx))
	_, err = elsewhere.Stat(ctx, "a")
	note("stat elsewhere", nil, err)
	return answers
}
