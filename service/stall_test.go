package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"minutebook/api"
)

// stalling is a sandbox whose clients may keep it waiting for a moment only:
// for a body, and for their taking of an answer.
func stalling(t *testing.T, opts Options, answer time.Duration) (*sandbox, *httptest.Server) {
	t.Helper()
	opts.Video = func() (io.ReadSeeker, string) {
		return io.NewSectionReader(zeros{}, 0, 64<<20), "video/mp4"
	}
	s := newSandbox(t, opts, meeting(1))
	s.timeouts = timeouts{body: 100 * time.Millisecond, turn: time.Minute, answer: answer, stall: answer, judge: answer}
	server := httptest.NewUnstartedServer(s.Handler())
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		_ = conn.(*net.TCPConn).SetWriteBuffer(4 << 10) // so that an answer that is not read is soon noticed
		return ctx
	}
	server.Start()
	t.Cleanup(server.Close)
	s.base = server.URL + BasePath
	return s, server
}

// zeros is a file of nothing but zeros.
type zeros struct{}

// ReadAt fills p with zeros.
func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// mediaLink asks for a download and returns the path of its file.
func (s *sandbox) mediaLink() string {
	s.t.Helper()
	var d api.Download
	s.call(http.MethodPost, "/recordings/1/download", s.admin, "").decode(s.t, &d)
	s.get("/recordings/1/downloads/"+d.DownloadID, s.admin, 200).decode(s.t, &d)
	file, _ := d.Video.Get()
	u, err := url.Parse(file.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return u.RequestURI()
}

// dialTest connects to a server for at most five minutes.
func dialTest(t *testing.T, server *httptest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// stalledPaths are one path of each kind of route, by method.
func (s *sandbox) stalledPaths() []string {
	return []string{
		"POST " + BasePath + "/oauth2/token", "GET " + BasePath + "/oauth2/authorize", "POST " + BasePath + "/oauth2/authorize",
		"GET " + BasePath + "/openapi.yaml", "GET " + BasePath + "/directory.schema.json", "GET " + BasePath + "/meetings",
		"GET " + BasePath + "/teams", "GET " + BasePath + "/recordings/1/transcript", "POST " + BasePath + "/recordings/1/download",
		"POST " + BasePath + "/webhooks", "DELETE " + BasePath + "/webhooks/wh_1", "PUT " + BasePath + "/webhooks",
		"GET " + BasePath + "/media/dl_1/video.mp4", "HEAD " + BasePath + "/media/dl_1/video.mp4", "POST " + BasePath + "/nothing",
		"POST /", "POST /" + BasePath + "//meetings", "POST " + BasePath + "/" + strings.Repeat("x", maxURL), "GET " + s.mediaLink(),
	}
}

// A request whose body stops coming is answered and its connection closed,
// whatever it asks for and whoever asks, with any credential or none.
func TestARequestWhoseBodyStopsIsAnsweredAndClosed(t *testing.T) {
	t.Parallel()
	s, server := stalling(t, Options{}, time.Minute)
	paths := s.stalledPaths()
	var all sync.WaitGroup
	for _, body := range []string{
		"Content-Length: 100\r\n\r\ng", "Content-Length: 70000\r\n\r\n", "Content-Length: 99999999\r\n\r\ng",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nab", "Transfer-Encoding: chunked\r\n\r\n5",
		"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX:", "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n",
	} {
		for _, path := range paths {
			for _, key := range []string{"", "X-Api-Key: " + s.admin + "\r\n"} {
				conn := dialTest(t, server)
				all.Go(func() {
					fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\n%s%s", path, key, body)
					if err := refusedAndClosed(conn, path); err != nil {
						t.Errorf("%.40s with %q: %v", path, body, err)
					}
				})
			}
		}
	}
	all.Wait()
}

// refusedAndClosed reads an answer that is a refusal, or the file of a media
// link, and then the end of the connection.
func refusedAndClosed(conn net.Conn, path string) error {
	method, _, _ := strings.Cut(path, " ")
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, &http.Request{Method: method})
	if err == nil && resp.StatusCode == http.StatusContinue {
		resp, err = http.ReadResponse(in, &http.Request{Method: method})
	}
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	if resp.StatusCode < 400 {
		return fmt.Errorf("answered %d", resp.StatusCode)
	}
	if _, err := io.Copy(io.Discard, in); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("the connection stays open: %w", err)
	}
	return nil
}

// A reader that takes nothing of its answers is cut off.
func TestAReaderThatTakesNothingIsCutOff(t *testing.T) {
	t.Parallel()
	s, server := stalling(t, Options{}, 200*time.Millisecond)
	var all sync.WaitGroup
	for _, path := range s.stalledPaths() {
		if len(path) > maxURL {
			continue // more is asked than answered
		}
		conn := dialTest(t, server)
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		request := []byte(path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nX-Api-Key: " + s.admin + "\r\n\r\n")
		all.Go(func() {
			for {
				if _, err := conn.Write(request); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%.40s: the connection stays open", path)
				} else if err == nil {
					continue
				}
				return
			}
		})
	}
	all.Wait()
}

// The bound on the coming of a body bounds neither the work on it nor the next
// request of the connection.
func TestTheTimeOfABodyEndsWithTheBody(t *testing.T) {
	t.Parallel()
	s, server := stalling(t, Options{Latency: 300 * time.Millisecond}, time.Minute)
	conn := dialTest(t, server)
	in := bufio.NewReader(conn)
	const body = `{"destination_url": "http://127.0.0.1:9/", "triggered_for": ["my_recordings"], "include_summary": true}`
	for range 2 {
		fmt.Fprintf(conn, "POST %s/webhooks HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n\r\n%s", BasePath, s.admin, len(body), body)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusCreated {
			t.Fatalf("answered %d, %v", resp.StatusCode, err)
		}
	}
}
