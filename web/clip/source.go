package clip

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
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

// input is a recording as ffmpeg finds it.
type input struct {
	address, protocols string
	environment        []string     // of ffmpeg's process
	end                func() error // to be called when ffmpeg has ended
}

// input makes a recording readable for ffmpeg.
func (s Source) input(ctx context.Context) (input, error) {
	if s.Path != "" {
		return input{"file:" + s.Path, "file", nil, func() error { return nil }}, nil
	}
	o := &offer{source: s}
	proxy, err := o.begin(ctx)
	if err != nil {
		return input{}, fmt.Errorf("offer the recording to ffmpeg: %w", err)
	}
	return input{"http://" + offerHost + "/", "http,tcp", []string{"http_proxy=" + proxy}, o.end}, nil
}

// offerHost is the name of the recording's host behind the proxy that an offer is. No other
// host is found there.
const offerHost = "recording"

// offer offers a recording to ffmpeg until it ends. It is a proxy on loopback whose address
// has a password, because ffmpeg takes a proxy's address from its environment, which only
// its own user may read, and all users may read the arguments of a program.
type offer struct {
	source        Source
	authorization string
	server        *http.Server
	cancel        context.CancelFunc // ends the requests
	served        chan struct{}

	mu  sync.Mutex
	err error // the first error of opening or reading the recording
}

// begin begins the offer and returns the proxy's address.
func (o *offer) begin(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	user := url.UserPassword("ffmpeg", rand.Text())
	o.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(user.String()))
	ctx, o.cancel = context.WithCancel(ctx)
	o.server = &http.Server{Handler: o, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	o.served = make(chan struct{})
	go func() {
		defer close(o.served)
		if err := o.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			o.note(err)
		}
	}()
	return (&url.URL{Scheme: "http", User: user, Host: l.Addr().String()}).String(), nil
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
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Proxy-Authorization")), []byte(o.authorization)) == 0 {
		w.Header().Set("Proxy-Authenticate", `Basic realm="minutebook"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if r.URL.Hostname() != offerHost || r.URL.Path != "/" || r.Method != http.MethodGet {
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
