package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// TestLitestreamReplicaIsAdopted replicates the databases of a running daemon to a real
// S3 server by the real Litestream while deliveries come, ends Litestream, which syncs
// once more, and kills the daemon. The replicas are restored elsewhere and adopted:
// everything that was acknowledged before the last sync is there once, applied and
// found, and forgotten meetings stay forgotten.
func TestLitestreamReplicaIsAdopted(t *testing.T) {
	testrun.SkipUnderRace(t)
	testrun.OnlyLong(t)
	const module = "github.com/benbjohnson/litestream"
	program := testrun.Build(t, module, module+"/cmd/litestream", "v0.5.18")
	server := s3test.Start(t)
	t.Setenv("AWS_CA_BUNDLE", "") // which litestream refuses; the server here has no certificate
	s := newServed(t, "http://"+freePort(t)+"/external/v1", "mbk_nobody_answers_there")
	s.start()
	client := &http.Client{}
	next := int64(0)
	deliver := func(n int) (done []int64) {
		for range n {
			if next++; s.deliver(client, next) {
				done = append(done, next)
			}
		}
		return done
	}
	forgotten := deliver(1)
	eventually(t, time.Minute, "the first meeting can be forgotten", func() (bool, any) {
		out, err := exec.Command("minutebook", "forget", "-c", s.config, "--reason", "test", fmt.Sprint(forgotten[0])).CombinedOutput()
		return err == nil, string(out)
	})
	s.forgotten++
	data := filepath.Join(filepath.Dir(s.config), "data")
	settings, names := litestreamConfig(t, server, data)
	replicate := exec.Command(program, "replicate", "-config", settings)
	log := &strings.Builder{}
	replicate.Stdout, replicate.Stderr = log, log
	if err := replicate.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { replicate.Process.Kill(); replicate.Wait() })
	var done []int64
	for range 20 {
		done = append(done, deliver(10)...)
		time.Sleep(100 * time.Millisecond)
	}
	replicate.Process.Signal(syscall.SIGTERM)
	if err := replicate.Wait(); err != nil && !strings.Contains(err.Error(), "signal") {
		t.Fatalf("litestream: %v\n%s", err, log)
	}
	deliver(10) // after the last sync
	s.stop(syscall.SIGKILL)

	back := filepath.Join(t.TempDir(), "back")
	for _, name := range names {
		restore := exec.Command(program, "restore", "-config", settings, "-o", filepath.Join(back, name), filepath.Join(data, name))
		if out, err := restore.CombinedOutput(); err != nil {
			t.Fatalf("restore %s: %v\n%s\n%s", name, err, out, log)
		}
	}
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.config, []byte(strings.Replace(string(text), data, back, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	t.Log(run(t, "adopt", "-c", s.config))
	s.start()
	s.checkAll(done, rand.New(rand.NewPCG(1, 2)))
	if out, err := exec.Command("minutebook", "show", "-c", s.config, fmt.Sprint(forgotten[0])).CombinedOutput(); err == nil {
		t.Errorf("what was forgotten is back: %s", out)
	}
	run(t, "verify", "-c", s.config)
	s.stop(syscall.SIGINT)
	t.Logf("%d deliveries were acknowledged before the last sync", len(done))
}

// litestreamConfig writes the configuration for compose.yaml with another data directory, and
// returns its path and the names of the databases that are there.
func litestreamConfig(t *testing.T, server *s3test.Server, data string) (path string, names []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(data, "*.db"))
	if err != nil || len(all) < 2 {
		t.Fatalf("databases %q, %v", all, err)
	}
	for _, db := range all {
		names = append(names, filepath.Base(db))
	}
	text, err := os.ReadFile("../../packaging/litestream.yml")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "litestream.yml")
	if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte(" /data/"), []byte(" "+data+"/")), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"BUCKET": "recordings", "ENDPOINT": server.Endpoint(), "REGION": "", // the server is in the one that Litestream takes then
		"ACCESS_KEY_ID": os.Getenv("AWS_ACCESS_KEY_ID"), "SECRET_ACCESS_KEY": os.Getenv("AWS_SECRET_ACCESS_KEY")} {
		t.Setenv("LITESTREAM_"+name, value)
	}
	return path, names
}

// TestLitestreamHasEveryDatabase looks for each database in the configuration for compose.yaml
// and in that of docs/backup.md.
func TestLitestreamHasEveryDatabase(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	all := everyDatabase(t)
	for document, dir := range map[string]string{"packaging/litestream.yml": "/data", "docs/backup.md": "/var/lib/minutebook"} {
		text, err := os.ReadFile(filepath.Join("../..", document))
		if err != nil {
			t.Fatal(err)
		}
		for _, db := range all {
			line := "- path: " + dir + "/" + filepath.Base(db)
			if !regexp.MustCompile("(?m)^ *" + regexp.QuoteMeta(line) + "(?: +#.*)?$").Match(text) {
				t.Errorf("%s has no line %s", document, line)
			}
		}
	}
}

// everyDatabase starts a daemon that needs all databases, and returns their paths.
func everyDatabase(t *testing.T) []string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "config.toml")
	text := fmt.Sprintf("data_dir = %q\n[web]\naccess = \"people\"\npublic_url = \"https://minutes.example\"\n[service]\nenabled = true\n", data)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "serve", "--create", "-c", file)
	all, err := filepath.Glob(filepath.Join(data, "*.db"))
	if err != nil || len(all) < 5 {
		t.Fatalf("databases %q, %v", all, err)
	}
	return all
}
