package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestACommandThatIsEndedIsNotDone ends commands by a signal while a bucket answers nothing.
// They say so, and their exit code is not that of work that is done.
func TestACommandThatIsEndedIsNotDone(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	l, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	silent := fmt.Sprintf("s3://recordings/p?region=here&endpoint=http://%s", l.Addr())
	var work sync.WaitGroup
	for _, args := range [][]string{
		{"restore", silent, "--data", filepath.Join(t.TempDir(), "new")}, {"restore", silent, "--list"}, {"doctor"}, {"backup", silent},
		{"export", "--format", "parquet", "--to", silent}, {"verify"},
	} {
		config := bucketConfig(t, t.TempDir(), silent, "")
		if args[0] != "restore" {
			args = append(args, "-c", config)
		}
		work.Go(func() {
			if code := (&Main{Stdout: io.Discard, Stderr: io.Discard}).Run(t.Context(), []string{"init", "-c", config}); code != 0 {
				t.Error("init ends with", code)
			}
			var out, errs bytes.Buffer
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(4*time.Second, cancel) // after the archive is open
			code := (&Main{Stdout: &out, Stderr: &errs}).Run(ctx, args)
			cancel()
			if code != 1 || !strings.HasSuffix(errs.String(), "minutebook: interrupted\n") || out.Len() > 0 {
				t.Errorf("%v ends with %d, %q%q", args, code, out.String(), errs.String())
			}
		})
	}
	work.Wait()
}
