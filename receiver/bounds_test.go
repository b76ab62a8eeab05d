package receiver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"minutebook/archive/inbox"
	"minutebook/internal/testrun"
)

// raw opens a connection, writes text and leaves it open.
func raw(t *testing.T, addr, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(5 * time.Minute))
	return c
}

// head is a request's head whose headers pass every check before the body.
func head(extra string) string {
	return "POST /webhooks/anna HTTP/1.1\r\nHost: h\r\nWebhook-Id: msg_1\r\nWebhook-Timestamp: " + fmt.Sprint(time.Now().Unix()) +
		"\r\nWebhook-Signature: v1," + strings.Repeat("A", 44) + "\r\n" + extra + "\r\n\r\n"
}

func statusOf(t *testing.T, c net.Conn) int {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

func TestBodyTooLarge(t *testing.T) {
	r := start(t, Options{MaxBody: 1000})
	if got := r.deliver(t, "msg_1", strings.Repeat(" ", 1000)); got != 200 {
		t.Errorf("a body of the limit: %d", got)
	}
	if got := r.deliver(t, "msg_2", strings.Repeat(" ", 1001)); got != 413 {
		t.Errorf("a body over the limit: %d", got)
	}
	// The answer comes without the body being asked for.
	c := raw(t, r.addr, head("Expect: 100-continue\r\nContent-Length: 1001"))
	if got := statusOf(t, c); got != 413 {
		t.Errorf("announced: %d, want 413 and no 100", got)
	}
	c = raw(t, r.addr, head("Transfer-Encoding: chunked")+"3e8\r\n"+strings.Repeat(" ", 1000)+"\r\n1\r\n \r\n0\r\n\r\n")
	if got := statusOf(t, c); got != 413 {
		t.Errorf("chunked: %d", got)
	}
	if n := len(r.pending(t)); n != 1 {
		t.Errorf("%d are kept", n)
	}
}

// A body of allowed size is taken by an idle receiver, however its length is said, and
// a larger one is refused for good.
func TestEverySizeThatIsAllowedIsTaken(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, limit := range []int{40_000, 3 << 20, 32 << 20, 64 << 20} {
		r := start(t, Options{MaxBody: int64(limit), CommitTime: time.Minute}) // a busy machine is slow to commit 64 MiB
		for _, size := range []int{limit/2 + 1, limit, limit + 1} {
			for _, chunked := range []bool{false, true} {
				if limit > 32<<20 && size < limit && !chunked {
					continue // enough of large ones
				}
				id := fmt.Sprintf("msg_%d_%t", size, chunked)
				req := signedRequest(t, r.url, "anna", secretA, id, time.Now(), bytes.Repeat([]byte(" "), size))
				if chunked {
					req.ContentLength = -1
				}
				want := 200
				if size > limit {
					want = 413
				}
				if got := send(t, req); got.status != want {
					t.Errorf("limit %d, %d bytes, chunked %t: %d, want %d", limit, size, chunked, got.status, want)
				}
			}
		}
		if used := r.memory.used.Load(); used != 0 {
			t.Errorf("limit %d: %d bytes are still counted", limit, used)
		}
	}
}

func TestNoBodyIsReadForWhatCannotSucceed(t *testing.T) {
	r := start(t, Options{})
	for name, c := range map[string]struct {
		head string
		want int
	}{
		"old":       {strings.Replace(head("Expect: 100-continue\r\nContent-Length: 10"), "Webhook-Timestamp: 1", "Webhook-Timestamp: ", 1), 401},
		"malformed": {strings.Replace(head("Expect: 100-continue\r\nContent-Length: 10"), "msg_1", "msg.1", 1), 400},
		"encoded":   {head("Expect: 100-continue\r\nContent-Encoding: gzip\r\nContent-Length: 10"), 415},
		"token":     {"POST /callbacks/summary/nothing HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n", 401},
		"method":    {"PUT /webhooks/anna HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n", 405},
	} {
		if got := statusOf(t, raw(t, r.addr, c.head)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestSlowSenders(t *testing.T) {
	t.Parallel()
	r := start(t, Options{BodyTime: time.Second})
	if got := statusOf(t, raw(t, r.addr, head("Content-Length: 1000")+"{")); got != 408 {
		t.Errorf("a body that does not come: %d, want 408", got)
	}
	if got := statusOf(t, raw(t, r.addr, head("Transfer-Encoding: chunked")+"1\r\n{\r\n")); got != 408 {
		t.Errorf("chunks that do not come: %d, want 408", got)
	}
	c := raw(t, r.addr, head("Content-Length: 1000")+"{")
	c.(*net.TCPConn).CloseWrite()
	if got := statusOf(t, c); got != 400 {
		t.Errorf("a body that ends early: %d, want 400", got)
	}
	if got := r.deliver(t, "msg_1", meeting); got != 200 {
		t.Errorf("a right one afterwards: %d", got)
	}
	if used := r.memory.used.Load(); used != 0 {
		t.Errorf("%d bytes are still counted", used)
	}
}

// sendSlowly sends a delivery whose body comes as write writes it, to a receiver that gives
// small bodies a second, and returns the status of the answer.
func sendSlowly(t *testing.T, id string, size int, write func(w io.Writer, body []byte)) int {
	t.Helper()
	r := start(t, Options{BodyTime: time.Second})
	whole := bytes.Repeat([]byte(" "), size)
	body, w := io.Pipe()
	req := signedRequest(t, r.url, "anna", secretA, id, time.Now(), whole)
	req.Body, req.ContentLength = body, int64(size)
	go func() {
		write(w, whole)
		w.Close()
	}()
	return send(t, req).status
}

// A large body may take longer than BodyTime: a second more for each 64 KiB that have come.
func TestASlowLargeBodyIsTaken(t *testing.T) {
	t.Parallel()
	got := sendSlowly(t, "slow", 512<<10, func(w io.Writer, body []byte) {
		_, _ = w.Write(body[:500<<10])
		time.Sleep(1200 * time.Millisecond) // a sender that is slower than BodyTime
		_, _ = w.Write(body[500<<10:])
	})
	if got != 200 {
		t.Errorf("a large body that comes slowly: %d, want 200", got)
	}
}

// A sender that is faster than 64 KiB a second is never too slow, whatever memory its body has
// at the moment.
func TestASteadyLargeBodyIsTaken(t *testing.T) {
	t.Parallel()
	got := sendSlowly(t, "steady", 256<<10, func(w io.Writer, body []byte) {
		for begun, sent := time.Now(), 0; sent < len(body); {
			time.Sleep(20 * time.Millisecond)
			due := min(int(time.Since(begun)*(78<<10)/time.Second), len(body))
			_, _ = w.Write(body[sent:due])
			sent = due
		}
	})
	if got != 200 {
		t.Errorf("a large body that comes steadily: %d, want 200", got)
	}
}

func TestSlowHeadersAreCut(t *testing.T) {
	t.Parallel()
	r := start(t, Options{HeaderTime: time.Second})
	c := raw(t, r.addr, "POST /webhooks/anna HTTP/1.1\r\nHost: h\r\nWebhook-")
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("reading until the server closes: %v", err)
	}
}

// A refused sender is answered without its body: only a delivery may wait for a body.
func TestARefusedBodyIsNotWaitedFor(t *testing.T) {
	r := start(t, Options{BodyTime: time.Minute}) // longer than this test reads
	c := raw(t, r.addr, strings.Replace(head("Content-Length: 1000"), "msg_1", "msg.1", 1)+"{")
	if got := statusOf(t, c); got != 400 {
		t.Errorf("status %d", got)
	}
}

func TestMemoryIsCapped(t *testing.T) {
	r := start(t, Options{MaxBody: 1 << 20, MaxMemory: 1 << 20})
	half := strings.Repeat(" ", 500<<10)
	c := raw(t, r.addr, head(fmt.Sprint("Content-Length: ", 1<<20))+half)
	waitFor(t, func() bool { return r.memory.used.Load() > 500<<10 })
	req := signedRequest(t, r.url, "anna", secretA, "msg_2", time.Now(), bytes.Repeat([]byte(" "), 600<<10))
	got := send(t, req)
	if got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("beyond the cap: %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
	if got := r.deliver(t, "msg_3", meeting); got != 200 {
		t.Errorf("a small one beside it: %d", got)
	}
	c.Close()
	waitFor(t, func() bool { return r.memory.used.Load() == 0 })
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for range 300_000 { // milliseconds
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("it did not come")
}

func TestUnwritableInboxIs503(t *testing.T) {
	var mu sync.Mutex
	var fail error
	r := startOn(t, filepath.Join(t.TempDir(), "inbox.db"), inbox.Options{
		Fault: func(inbox.Step, bool) error { mu.Lock(); defer mu.Unlock(); return fail },
	}, Options{})
	for _, err := range []error{inbox.ErrDisk, errors.New("database is locked")} {
		mu.Lock()
		fail = err
		mu.Unlock()
		got := send(t, signedRequest(t, r.url, "anna", secretA, "msg_1", time.Now(), []byte(meeting)))
		if got.status != 503 || got.header.Get("Retry-After") == "" {
			t.Errorf("%v: %d, Retry-After %q", err, got.status, got.header.Get("Retry-After"))
		}
		if got := r.Obstacle(); got != "deliveries cannot be stored" {
			t.Errorf("%v: the obstacle is %q", err, got)
		}
	}
	r.o.Now = func() time.Time { return time.Now().Add(2 * failureNoted) }
	if got := r.Obstacle(); got != "" { // nobody may deliver to a receiver that is not ready
		t.Errorf("long after the failure the obstacle is %q", got)
	}
	r.o.Now = time.Now
	mu.Lock()
	fail = nil
	mu.Unlock()
	if got := r.deliver(t, "msg_1", meeting); got != 200 {
		t.Errorf("afterwards: %d", got)
	}
	if n, obstacle := len(r.pending(t)), r.Obstacle(); n != 1 || obstacle != "" {
		t.Errorf("%d are kept, the obstacle is %q", n, obstacle)
	}
}

func TestFullDiskIs503BeforeTheBody(t *testing.T) {
	r := start(t, Options{MinFree: 1 << 62})
	if got := statusOf(t, raw(t, r.addr, head("Expect: 100-continue\r\nContent-Length: 10"))); got != 503 {
		t.Errorf("status %d", got)
	}
	if got := r.Obstacle(); got != "the disk is full" {
		t.Errorf("the obstacle is %q", got)
	}
}

func TestSlowConnectionsMakeWay(t *testing.T) {
	r := start(t, Options{MaxConnsPerAddr: 20})
	good := raw(t, r.addr, "") // opened first, and kept by delivering
	send := func(id string) int {
		req := signedRequest(t, r.url, "anna", secretA, id, time.Now(), []byte(meeting))
		if err := req.Write(good); err != nil {
			t.Fatal(err)
		}
		return statusOf(t, good)
	}
	if got := send("msg_1"); got != 200 {
		t.Fatalf("status %d", got)
	}
	for n := range 60 {
		raw(t, r.addr, head("Content-Length: 1000"))
		if n%10 == 0 { // an answer to a new connection says that those before it were accepted
			if got := statusOf(t, raw(t, r.addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")); got != 404 {
				t.Errorf("a new connection after %d slow ones: %d", n, got)
			}
			if got := send(fmt.Sprint("msg_kept_", n)); got != 200 {
				t.Errorf("the good connection after %d slow ones: %d", n, got)
			}
			if got := r.deliver(t, fmt.Sprint("msg_new_", n), meeting); got != 200 {
				t.Errorf("a delivery after %d slow connections: %d", n, got)
			}
		}
	}
}
