package archive

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	gatewayVersion = "v1.8.0"
	testKey        = "minutebook-test"
	testSecret     = "not a secret, only long"
)

func TestS3StoreConforms(t *testing.T) {
	endpoint := startS3(t)
	n := 0
	testStore(t, func(t *testing.T) Store {
		n++
		partial := t.TempDir()
		s, err := openS3(t.Context(), fmt.Sprintf("s3://recordings/a prefix/%d?region=us-east-1&endpoint=%s", n, url.QueryEscape(endpoint)), partial)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if left, _ := os.ReadDir(partial); len(left) > 0 {
				t.Errorf("left %d files here", len(left))
			}
		})
		return s
	})
	if _, err := openS3(t.Context(), "s3://elsewhere?region=us-east-1&endpoint="+url.QueryEscape(endpoint), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no bucket elsewhere") {
		t.Errorf("a bucket that is not there: %v", err)
	}
}

func TestMediaURLs(t *testing.T) {
	dir := t.TempDir()
	for mediaURL, want := range map[string]string{
		"s3://":                             "not s3://bucket/prefix",
		"s3://key:secret@bucket/x":          "holds credentials",
		"s3://bucket?endpiont=x":            `unknown parameter "endpiont"`,
		"s3://bucket?endpoint=localhost":    "not an http or https URL",
		"ftp://host/path":                   "not a scheme known here",
		"file://host/path":                  "not file:///path",
		"file:":                             "",
		"file://" + filepath.Join(dir, "m"): "",
	} {
		_, err := openStore(t.Context(), dir, mediaURL)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", mediaURL, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: the error tells the secret", mediaURL)
		}
	}
}

// startS3 starts an S3 server with the bucket recordings and returns its
// address.
func startS3(t *testing.T) string {
	t.Helper()
	program := gateway(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	root := t.TempDir()
	for _, dir := range []string{"data", "meta"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "--port", address, "--quiet", "posix", "--sidecar", filepath.Join(root, "meta"), filepath.Join(root, "data"))
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+testKey, "ROOT_SECRET_KEY="+testSecret)
	log := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the S3 server says:\n%s", log)
		}
	})
	t.Setenv("AWS_ACCESS_KEY_ID", testKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", testSecret)
	client, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(testKey, testSecret, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for err = client.MakeBucket(ctx, "recordings", minio.MakeBucketOptions{}); err != nil; err = client.MakeBucket(ctx, "recordings", minio.MakeBucketOptions{}) {
		if ctx.Err() != nil {
			t.Fatalf("make bucket: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "http://" + address
}

// gateway returns versitygw, building it once a machine.
func gateway(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no place to build an S3 server: %v", err)
	}
	dir := filepath.Join(cache, "minutebook-test", "versitygw-"+gatewayVersion)
	path := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if testing.Short() {
		t.Skip("building an S3 server takes minutes")
	}
	cmd := exec.Command("go", "install", "github.com/versity/versitygw/cmd/versitygw@"+gatewayVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	cmd.Dir = t.TempDir() // outside of this module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no S3 server to test with: go install versitygw: %v\n%s", err, out)
	}
	return path
}
