package bucket

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"minutebook/internal/s3test"
)

// TestAServerThatContradictsItself asks for an object that the server's list has, and whose
// own call it answers with 404, as a proxy does while it starts. The object is not taken for
// absent: a repair would give it up.
func TestAServerThatContradictsItself(t *testing.T) {
	server := s3test.Start(t)
	starting := server.Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	b, err := Open(starting.URL("recordings", "p"))
	if err == nil {
		_, err = b.Put(t.Context(), "ab/x", strings.NewReader("a recording"), 11, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Stat(t.Context(), "ab/x"); !IsUnavailable(err) || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "its list has ab/x") {
		t.Errorf("of an object that is there: %v", err)
	}
	for _, absent := range []string{"ab/y", "ab", "ab/"} {
		if _, err := b.Stat(t.Context(), absent); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of an object that is not there: %v", err)
		}
	}
}

// TestAnAnswerOfAnotherServer asks where no S3 server is, but a page that answers everything.
func TestAnAnswerOfAnotherServer(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "someone")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "not a secret")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>\n<body>Sign in<br></body></html>")
	}))
	defer server.Close()
	b, err := Open("s3://minutes/office?region=us-east-1&endpoint=" + url.QueryEscape(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	_, stat := b.Stat(t.Context(), "x")
	for name, err := range map[string]error{"stat": stat, "check": b.Check(t.Context())} {
		if !IsUnavailable(err) || !strings.HasSuffix(err.Error(), ": its answer is not that of an S3 server; correct the endpoint in its address, or see what is in between") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAListThatRepeatsItselfEnds reads the list of a server that sends one page again and again. A
// long list without repetition is read whole.
func TestAListThatRepeatsItselfEnds(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "someone")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "not a secret")
	const pages = 40
	for name, next := range map[string]func(page int) int{
		"the first page": func(int) int { return 0 },
		"a later page":   func(page int) int { return min(page+1, 7) },
		"some pages":     func(page int) int { return (page + 1) % 5 },
		"nothing":        func(page int) int { return page + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(r.URL.Query().Get("continuation-token"))
				fmt.Fprint(w, "<ListBucketResult>")
				for i := range 10 {
					fmt.Fprintf(w, "<Contents><Key>office/%04d</Key><Size>1</Size></Contents>", page*10+i)
				}
				fmt.Fprintf(w, "<IsTruncated>%t</IsTruncated><NextContinuationToken>%d</NextContinuationToken></ListBucketResult>", page+1 < pages, next(page))
			}))
			defer server.Close()
			b, err := Open("s3://minutes/office?region=us-east-1&endpoint=" + url.QueryEscape(server.URL))
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, err = range b.List(t.Context(), "") {
				if found++; err != nil || found > 20*pages {
					break
				}
			}
			switch {
			case name == "nothing" && (err != nil || found != 10*pages):
				t.Errorf("%d of %d objects, %v", found, 10*pages, err)
			case name != "nothing" && (!IsUnavailable(err) || !strings.Contains(err.Error(), "its list repeats office/")):
				t.Errorf("after %d objects: %v", found, err)
			}
		})
	}
}

// TestALostAnswerIsNoOtherWriter loses the answer to a call that has created an object. The
// library tries again, and the object that is there then is its own; another one is not.
func TestALostAnswerIsNoOtherWriter(t *testing.T) {
	var lost atomic.Bool
	server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && lost.CompareAndSwap(false, true) {
				server.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
			server.ServeHTTP(w, r)
		})
	})
	b, err := Open(server.URL("recordings", "p"))
	if err != nil {
		t.Fatal(err)
	}
	if created, err := b.Create(t.Context(), "manifest.json", []byte("whole")); err != nil || !created || !lost.Load() {
		t.Errorf("created %t, %v; an answer was lost: %t", created, err, lost.Load())
	}
	for content, want := range map[string]bool{"whole": true, "other": false, "longer ones": false} {
		if created, err := b.Create(t.Context(), "manifest.json", []byte(content)); err != nil || created != want {
			t.Errorf("%s: created %t, %v", content, created, err)
		}
	}
}

// TestAnAnswerOfAnotherServerIsNoRemoval removes an object where a proxy answers, as one does
// while it starts: the object is still there, and the error says so.
func TestAnAnswerOfAnotherServerIsNoRemoval(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"404": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"404 page": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, "404 page not found\n")
		},
		"200 page":  func(w http.ResponseWriter) { io.WriteString(w, "<html><body>Sign in</body></html>") },
		"200 empty": func(w http.ResponseWriter) {},
	} {
		t.Run(name, func(t *testing.T) {
			server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodDelete {
						answer(w)
						return
					}
					server.ServeHTTP(w, r)
				})
			})
			b, err := Open(server.URL("recordings", "p"))
			if err == nil {
				_, err = b.Put(t.Context(), "ab/x", strings.NewReader("a recording"), 11, "")
			}
			if err != nil {
				t.Fatal(err)
			}
			err = b.Remove(t.Context(), "ab/x")
			if _, absent := b.Stat(t.Context(), "ab/x"); absent != nil || !IsUnavailable(err) || !strings.Contains(err.Error(), "its list has ab/x") {
				t.Errorf("removed: %v; there: %v", err, absent)
			}
			if err := b.Remove(t.Context(), "ab"); err != nil {
				t.Errorf("of an object that is not there: %v", err)
			}
		})
	}
}

// TestAnAnswerOfAnotherServerIsNoUpload uploads where a sign-in page answers with 200.
func TestAnAnswerOfAnotherServerIsNoUpload(t *testing.T) {
	server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				io.Copy(io.Discard, r.Body)
				io.WriteString(w, "<html>\n<body>Sign in<br></body></html>")
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	b, err := Open(server.URL("recordings", "p"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Put(t.Context(), "ab/x", strings.NewReader("a recording"), 11, ""); !IsUnavailable(err) || !strings.Contains(err.Error(), "not that of an S3 server; correct") {
		t.Errorf("put: %v", err)
	}
	if created, err := b.Create(t.Context(), "id", []byte("x")); created || !IsUnavailable(err) {
		t.Errorf("created %t: %v", created, err)
	}
}

// TestAnotherRangeIsNotTheOneAsked reads the end of an object where something answers with another
// part of it, such as a cache that knows no ranges: a recording is not played from elsewhere.
func TestAnotherRangeIsNotTheOneAsked(t *testing.T) {
	const content = "a recording"
	for name, answer := range map[string]func(http.Header, int) int{
		"whole": func(http.Header, int) int { return http.StatusOK },
		"other part": func(h http.Header, size int) int {
			h.Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", size-1, size))
			return http.StatusPartialContent
		},
		"no place": func(http.Header, int) int { return http.StatusPartialContent },
	} {
		t.Run(name, func(t *testing.T) {
			server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodGet || r.Header.Get("Range") == "" {
						server.ServeHTTP(w, r)
						return
					}
					h := w.Header()
					h.Set("ETag", `"x"`)
					h.Set("Last-Modified", "Sat, 28 Nov 2026 05:00:00 GMT")
					h.Set("Content-Length", strconv.Itoa(len(content)))
					w.WriteHeader(answer(h, len(content)))
					io.WriteString(w, content)
				})
			})
			b, err := Open(server.URL("recordings", "p"))
			if err == nil {
				_, err = b.Put(t.Context(), "ab/x", strings.NewReader(content), int64(len(content)), "")
			}
			if err != nil {
				t.Fatal(err)
			}
			r, _, err := b.Open(t.Context(), "ab/x")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if _, err := r.Seek(2, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 4)
			n, err := io.ReadFull(r, got)
			if !IsUnavailable(err) || !strings.Contains(err.Error(), "another part") {
				t.Errorf("%q, %v", got[:n], err)
			}
			if n, err = r.ReadAt(got, 2); !IsUnavailable(err) {
				t.Errorf("%q at a place, %v", got[:n], err)
			}
		})
	}
}
