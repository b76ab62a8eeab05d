package media

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// testPart is the smallest part that S3 allows, in bytes.
const testPart = 5 << 20

var errBroken = errors.New("disk pulled out")

func TestFileStoreConforms(t *testing.T) {
	testStore(t, func(t *testing.T) Store {
		dir := filepath.Join(t.TempDir(), "media")
		return openFiles(dir, dir)
	})
}

// testStore checks the promises of [Store], which all stores keep. open makes an
// empty store.
func testStore(t *testing.T, open func(*testing.T) Store) {
	for name, fn := range map[string]func(*testing.T, Store){
		"put": storePut, "import": storeImport, "failing": storeFailing, "absent": storeAbsent, "walk": storeWalk,
		"read": storeRead, "serve": storeServe, "large": storeLarge, "at once": storeAtOnce,
		"damaged": storeDamaged} {
		t.Run(name, func(t *testing.T) { fn(t, open(t)) })
	}
}

func putBlob(t *testing.T, s Store, content string) Blob {
	t.Helper()
	b, err := s.Put(t.Context(), strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func blobs(t *testing.T, s Store) []string {
	t.Helper()
	var all []string
	err := s.Walk(t.Context(), func(b Blob) error {
		if b.Size <= 0 {
			t.Errorf("walked over %+v", b)
		}
		all = append(all, b.SHA256)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func storePut(t *testing.T, s Store) {
	sum := sha256.Sum256([]byte("a recording"))
	b := putBlob(t, s, "a recording")
	if b.SHA256 != hex.EncodeToString(sum[:]) || b.Size != 11 || !strings.HasPrefix(b.ContentType, "text/plain") {
		t.Errorf("put %+v", b)
	}
	if again := putBlob(t, s, "a recording"); again != b || len(blobs(t, s)) != 1 {
		t.Errorf("put again %+v", again)
	}
	if stored, err := s.Stat(t.Context(), b.SHA256); err != nil || stored != b {
		t.Errorf("stat %+v, %v", stored, err)
	}
	for range 2 {
		if err := s.Delete(t.Context(), b.SHA256); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Stat(t.Context(), b.SHA256); !errors.Is(err, ErrNotFound) {
		t.Errorf("stat of what was deleted: %v", err)
	}
}

func storeImport(t *testing.T, s Store) {
	path := filepath.Join(t.TempDir(), "recording")
	for range 2 { // the second time it is held already
		if err := os.WriteFile(path, []byte("\x00\x00\x00\x18ftypM4A sound"), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := s.Import(t.Context(), path)
		if err != nil || b.ContentType != "audio/mp4" || exists(path) {
			t.Errorf("import %+v, %v", b, err)
		}
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), path); err == nil || !exists(path) {
		t.Errorf("import of an empty file: %v", err)
	}
	if _, err := s.Import(t.Context(), path+"-none"); err == nil {
		t.Error("imported what is not there")
	}
}

// storeDamaged damages a blob without changing its length, and brings the same
// recording once more.
func storeDamaged(t *testing.T, s Store) {
	b := putBlob(t, s, "a recording")
	switch s := s.(type) {
	case *fileStore:
		if err := errors.Join(os.Chmod(s.path(b.SHA256), 0o600), os.WriteFile(s.path(b.SHA256), []byte("a rec0rding"), 0o600)); err != nil {
			t.Fatal(err)
		}
	case *s3Store:
		_, err := s.bucket.Put(t.Context(), s.key(b.SHA256), strings.NewReader("a rec0rding"), 11, "")
		if err != nil {
			t.Fatal(err)
		}
	}
	if again := putBlob(t, s, "a recording"); again != b {
		t.Errorf("put again %+v", again)
	}
	r, _, err := s.Open(t.Context(), b.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != "a recording" {
		t.Errorf("after the damaged one was brought again: %q, %v", got, err)
	}
}

func storeFailing(t *testing.T, s Store) {
	if _, err := s.Put(t.Context(), io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errBroken))); !errors.Is(err, errBroken) {
		t.Errorf("put of a failing reader: %v", err)
	}
	if _, err := s.Put(t.Context(), strings.NewReader("")); err == nil {
		t.Error("put of nothing was taken for a recording")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ctx, strings.NewReader("late")); !errors.Is(err, context.Canceled) {
		t.Errorf("put with an ended context: %v", err)
	}
	if all := blobs(t, s); len(all) != 0 {
		t.Errorf("left %v", all)
	}
}

func storeAbsent(t *testing.T, s Store) {
	for _, sha := range []string{strings.Repeat("0", 64), "", "x", "../../../etc/passwd", strings.Repeat("Z", 64)} {
		if _, err := s.Stat(t.Context(), sha); !errors.Is(err, ErrNotFound) {
			t.Errorf("stat %q: %v", sha, err)
		}
		if _, _, err := s.Open(t.Context(), sha); !errors.Is(err, ErrNotFound) {
			t.Errorf("open %q: %v", sha, err)
		}
		if err := s.Delete(t.Context(), sha); err != nil {
			t.Errorf("delete %q: %v", sha, err)
		}
	}
}

func storeWalk(t *testing.T, s Store) {
	var want []string
	for i := range 7 {
		want = append(want, putBlob(t, s, fmt.Sprint("recording ", i)).SHA256)
	}
	slices.Sort(want)
	if got := blobs(t, s); !slices.Equal(got, want) {
		t.Errorf("walked over %v of %v", got, want)
	}
	calls := 0
	err := s.Walk(t.Context(), func(Blob) error { calls++; return errBroken })
	if !errors.Is(err, errBroken) || calls != 1 {
		t.Errorf("went on after a failure: %d calls, %v", calls, err)
	}
}

func storeRead(t *testing.T, s Store) {
	content := strings.Repeat("0123456789", 30) // each byte is a call to the server
	b := putBlob(t, s, content)
	r, got, err := s.Open(t.Context(), b.SHA256)
	if err != nil || got != b {
		t.Fatalf("open %+v, %v", got, err)
	}
	if err := iotest.TestReader(r, []byte(content)); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Read(make([]byte, 1)); err == nil {
		t.Error("read after Close")
	}
}

func storeServe(t *testing.T, s Store) {
	content := strings.Repeat("abcdefghij", 500)
	b := putBlob(t, s, content)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r, _, err := s.Open(req.Context(), b.SHA256)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer r.Close()
		http.ServeContent(w, req, "", time.Time{}, r)
	}))
	defer srv.Close()
	for asked, want := range map[string]string{"": content, "bytes=10-19": content[10:20], "bytes=-5": content[len(content)-5:], "bytes=4990-": content[4990:]} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
		if asked != "" {
			req.Header.Set("Range", asked)
		}
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || string(body) != want {
			t.Errorf("%q: %d bytes, %v", asked, len(body), err)
		}
	}
}

// storeLarge goes beyond the size at which an upload is made of parts.
func storeLarge(t *testing.T, s Store) {
	content := make([]byte, 2*testPart+12345)
	rand.NewChaCha8([32]byte{1}).Read(content)
	b := putBlob(t, s, string(content))
	r, _, err := s.Open(t.Context(), b.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h := sha256.New()
	if n, err := io.Copy(h, r); err != nil || n != int64(len(content)) || hex.EncodeToString(h.Sum(nil)) != b.SHA256 {
		t.Errorf("read %d bytes, %v", n, err)
	}
	at := make([]byte, 1000)
	if _, err := r.ReadAt(at, testPart-500); err != nil || !bytes.Equal(at, content[testPart-500:testPart+500]) {
		t.Errorf("read across parts: %v", err)
	}
}

func storeAtOnce(t *testing.T, s Store) {
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := s.Put(t.Context(), strings.NewReader(fmt.Sprint("recording ", i%3))); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if all := blobs(t, s); len(all) != 3 {
		t.Errorf("%d blobs of 3", len(all))
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
