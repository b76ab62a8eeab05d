// Package browsertest drives a real Chromium in tests. It fails a test whose pages
// send a request to another host or write an error to the console.
package browsertest

import (
	"context"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"minutebook/internal/testrun"
)

// Browser is a window of [Chromium] that records forbidden requests and errors.
type Browser struct {
	// Context is for calls of chromedp that this package has no method for.
	Context context.Context

	t testing.TB

	mu       sync.Mutex // guards the fields below
	requests int
	allowed  []string // see Allow
	wrong    []string // foreign requests, console errors, exceptions
}

// Chromium is a running Chromium, which the tests of a package share.
type Chromium struct{ ctx context.Context }

// Start starts Chromium until the test ends, or skips the test where there is none.
// The headless shell comes first: it takes a third of the processor's time, since it
// has no windows and no process for their pictures.
func Start(t testing.TB) *Chromium {
	t.Helper()
	path := testrun.Program(t, "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
	ctx, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(newProfile(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true), chromedp.Flag("mute-audio", true),
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"),
		chromedp.Flag("js-flags", "--no-opt"))...) // pages live for a second: optimizing their scripts takes longer than it saves
	t.Cleanup(stop)
	ctx, leave := chromedp.NewContext(ctx)
	t.Cleanup(leave)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return &Chromium{ctx}
}

// Open opens a window without cookies and storage of other tests. When the test
// ends it fails on every console error and on every request to another place
// than homes, such as http://127.0.0.1:8080. A step that does not end is cut a minute
// before the tests of the package are, so that the test can name it.
func (c *Chromium) Open(t testing.TB, homes ...string) *Browser {
	t.Helper()
	ctx, leave := chromedp.NewContext(c.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(leave)
	if limited, is := t.(interface{ Deadline() (time.Time, bool) }); is {
		if deadline, has := limited.Deadline(); has {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, deadline.Add(-time.Minute))
			t.Cleanup(cancel)
		}
	}
	b := &Browser{t: t, Context: ctx}
	b.Do(chromedp.EmulateViewport(1280, 850))
	if err := chromedp.Listen(ctx, func(ev any) { b.record(ev, homes) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.reportFaults)
	return b
}

// newProfile makes a folder for Chromium. It is removed after the test, once
// Chromium's child processes have closed their files.
func newProfile(t testing.TB) string {
	dir, err := os.MkdirTemp("", "minutebook-browser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 50 {
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return dir
}

func (b *Browser) record(ev any, homes []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests++
		u, err := url.Parse(e.Request.URL)
		own := err == nil && (u.Scheme == "data" || slices.Contains(homes, u.Scheme+"://"+u.Host)) // data: the player's own icons
		if !own {
			b.wrong = append(b.wrong, "request to "+e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, "exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" {
			b.wrong = append(b.wrong, "console error")
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" && !slices.ContainsFunc(b.allowed, func(fault string) bool {
			return slices.ContainsFunc([]string{"status of ", "net::", `directive: "`}, func(before string) bool { return strings.Contains(e.Entry.Text, before+fault) })
		}) {
			b.wrong = append(b.wrong, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

func (b *Browser) reportFaults() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.requests == 0 {
		b.t.Error("no request was seen: the test does not look")
	}
	if len(b.wrong) > 0 {
		b.t.Errorf("the pages did forbidden things:\n%s", strings.Join(b.wrong, "\n"))
	}
}

// For returns the same browser for a subtest, so that the subtest fails and not
// its parent.
func (b *Browser) For(t testing.TB) *Browser { return &Browser{Context: b.Context, t: t} }

// Allow lets requests end with statuses, such as "404", network errors, such as
// "ERR_CONNECTION_REFUSED", and refusals by the page's own policy, such as "connect-src",
// that the console calls errors.
func (b *Browser) Allow(faults ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = faults
}

// Do runs steps; the test ends when one fails.
func (b *Browser) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.Context, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// Press types keys as a keyboard does: the browser's own action for a key, such as
// scrolling, happens only where the page does not prevent it. chromedp.KeyEvent
// sends the character in both cases.
func (b *Browser) Press(keys string) {
	b.t.Helper()
	b.Do(chromedp.KeyEvent(keys, func(p *input.DispatchKeyEventParams) {
		if p.Type == input.DispatchKeyEventTypeKeyDown {
			p.Type = input.DispatchKeyEventTypeRawKeyDown
		}
	}))
}

// WaitFor evaluates an expression until it is true on a page that has loaded. A page
// that is still being parsed has no rows to count, and a page whose scripts have not
// run yet does not listen to keys. WaitFor polls from outside the page, because a page
// without scripts cannot poll itself.
func (b *Browser) WaitFor(expression string) {
	b.t.Helper()
	var err error
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var is bool
		if is, err = chromedp.Run(b.Context, chromedp.Evaluate[bool](`document.readyState === "complete" && !!(`+expression+`)`)); is {
			return
		}
	}
	state, _ := chromedp.Run(b.Context, chromedp.Evaluate[string](
		`location.href + ", recording at " + document.querySelector("#media")?.currentTime + ", " + document.activeElement?.outerHTML?.slice(0, 200)`))
	b.t.Fatalf("never became true: %s (%v); %s", expression, err, state)
}

// Evaluate returns the value of an expression in the page, and waits for the one of a promise.
// The test ends when the expression throws.
func Evaluate[T any](b *Browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.Context, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}
