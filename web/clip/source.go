package clip

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Source is a recording to cut from.
type Source struct {
	// Path is its file, or "" for a recording elsewhere.
	Path string

	// Open opens a recording without a file, of which only the parts that a clip needs
	// are read.
	Open func(context.Context) (io.ReadSeekCloser, error)
}

// input returns the recording as ffmpeg finds it, and the protocols by which it does. The
// caller calls end when ffmpeg has ended.
func (s Source) input(ctx context.Context) (address, protocols string, end func() error, err error) {
	if s.Path != "" {
		return "file:" + s.Path, "file", func() error { return nil }, nil
	}
	o := &offer{source: s, path: "/" + rand.Text()}
	if address, err = o.begin(ctx); err != nil {
		return "", "", nil, fmt.Errorf("offer the recording to ffmpeg: %w", err)
	}
	return address, "http,tcp", o.end, nil
}

// offer offers one recording on loopback, at a path that nobody but ffmpeg is told, until
// it ends.
type offer struct {
	source Source
	path   string
	server *http.Server
	cancel context.CancelFunc // ends the requests
	served chan struct{}

	mu  sync.Mutex
	err error // the first error of opening or reading the recording
}

// begin begins the offer and returns its address.
func (o *offer) begin(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	ctx, o.cancel = context.WithCancel(ctx)
	o.server = &http.Server{Handler: o, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	o.served = make(chan struct{})
	go func() {
		defer close(o.served)
		if err := o.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			o.note(err)
		}
	}()
	return "http://" + l.Addr().String() + o.path, nil
}

// endTime is how long requests may take to end when ffmpeg has.
const endTime = 5 * time.Second

// end ends the offer, and returns the error that kept it from reading the recording.
func (o *offer) end() error {
	o.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	err := o.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, o.server.Close())
	}
	<-o.served
	o.mu.Lock()
	defer o.mu.Unlock()
	return errors.Join(o.err, err)
}

// note keeps the first error.
func (o *offer) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}

// ServeHTTP answers ffmpeg's requests for parts of the recording.
func (o *offer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != o.path || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	recording, err := o.source.Open(r.Context())
	if err != nil {
		if r.Context().Err() == nil {
			o.note(err)
		}
		http.Error(w, "the recording cannot be read", http.StatusServiceUnavailable)
		return
	}
	defer recording.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, watchedReader{recording, r.Context(), o})
}

// watchedReader notes the error that kept a recording from being read to its end, unless
// the request was ended.
type watchedReader struct {
	io.ReadSeeker
	ctx   context.Context
	offer *offer
}

func (r watchedReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && r.ctx.Err() == nil {
		r.offer.note(err)
	}
	return n, err
}
