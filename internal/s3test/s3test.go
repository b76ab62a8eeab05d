// Package s3test starts a real S3 server for tests: versitygw, which is built once
// on each machine. The server's data is deleted after each test.
package s3test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"minutebook/internal/testrun"
)

const (
	module  = "github.com/versity/versitygw"
	version = "v1.8.0"
	key     = "minutebook-test"
	secret  = "not a secret, only long"
	region  = "us-east-1"
)

// Server is a running S3 server.
type Server struct{ address, root string }

// Start starts a server with the bucket recordings, and sets its credentials in
// the environment. The server ends with the test.
func Start(t *testing.T) *Server {
	t.Helper()
	program := testrun.Build(t, module, module+"/cmd/versitygw", version)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	s := &Server{address: l.Addr().String(), root: root}
	l.Close()
	for _, dir := range []string{"data", "meta", "versions"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "--port", s.address, "--quiet", "posix", "--sidecar", filepath.Join(root, "meta"),
		"--versioning-dir", filepath.Join(root, "versions"), filepath.Join(root, "data"))
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+key, "ROOT_SECRET_KEY="+secret)
	output := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the S3 server says:\n%s", output)
		}
	})
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	s.makeBucket(t)
	return s
}

func (s *Server) client(t *testing.T) *minio.Client {
	t.Helper()
	client, err := minio.New(s.address, &minio.Options{Creds: credentials.NewStaticV4(key, secret, ""), Region: region})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (s *Server) makeBucket(t *testing.T) {
	t.Helper()
	client := s.client(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for {
		err := client.MakeBucket(ctx, "recordings", minio.MakeBucketOptions{})
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("make bucket: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// KeepVersions has the bucket keep versions of its objects from now on.
func (s *Server) KeepVersions(t *testing.T) {
	t.Helper()
	if err := s.client(t).EnableVersioning(t.Context(), "recordings"); err != nil {
		t.Fatal(err)
	}
}

// URL returns the value of [media] url for a prefix in a bucket of the server.
func (s *Server) URL(bucket, prefix string) string {
	return "s3://" + bucket + "/" + prefix + "?region=" + region + "&endpoint=" + url.QueryEscape("http://"+s.address)
}

// Behind puts a handler between the server and those who ask for its [Server.URL].
// change returns the handler; its argument is the way to the server.
func (s *Server) Behind(t *testing.T, change func(server http.Handler) http.Handler) *Server {
	t.Helper()
	to := &url.URL{Scheme: "http", Host: s.address}
	proxy := httptest.NewServer(change(&httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }, // the host is signed
		ErrorLog: log.New(io.Discard, "", 0),
	}))
	t.Cleanup(proxy.Close)
	t.Cleanup(proxy.CloseClientConnections)
	return &Server{address: strings.TrimPrefix(proxy.URL, "http://"), root: s.root}
}

// BreakingOff returns a way to the server on which the answers to GET break off while isCut is true.
func (s *Server) BreakingOff(t *testing.T, isCut *atomic.Bool) *Server {
	t.Helper()
	return s.Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && isCut.Load() {
				panic(http.ErrAbortHandler)
			}
			server.ServeHTTP(w, r)
		})
	})
}

// Refuse answers as an S3 server does that refuses a call.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}

// Root returns the folder of the server's data, which has the bytes of all objects.
func (s *Server) Root() string { return s.root }

// Endpoint returns the URL of the server, for other programs.
func (s *Server) Endpoint() string { return "http://" + s.address }

// Objects lists the names of the recordings under a prefix.
func (s *Server) Objects(t *testing.T, prefix string) []string {
	t.Helper()
	var names []string
	for o := range s.client(t).ListObjectsIter(t.Context(), "recordings", minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		if path.Base(o.Key) != "archive-id" {
			names = append(names, o.Key)
		}
	}
	return names
}

// LeavePart begins an upload of an object and leaves it, as a crash does. S3 takes parts
// from 5 MiB.
func (s *Server) LeavePart(t *testing.T, key string, part []byte) {
	t.Helper()
	core := minio.Core{Client: s.client(t)}
	id, err := core.NewMultipartUpload(t.Context(), "recordings", key, minio.PutObjectOptions{})
	if err == nil {
		_, err = core.PutObjectPart(t.Context(), "recordings", key, id, 1, bytes.NewReader(part), int64(len(part)), minio.PutObjectPartOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Uploads lists the names of the objects whose uploads are unfinished.
func (s *Server) Uploads(t *testing.T) (names []string) {
	t.Helper()
	for u := range s.client(t).ListIncompleteUploads(t.Context(), "recordings", "", true) {
		if u.Err != nil {
			t.Fatal(u.Err)
		}
		names = append(names, u.Key)
	}
	return names
}

// Abort ends the unfinished uploads of an object.
func (s *Server) Abort(t *testing.T, key string) {
	t.Helper()
	if err := s.client(t).RemoveIncompleteUpload(t.Context(), "recordings", key); err != nil {
		t.Fatal(err)
	}
}
