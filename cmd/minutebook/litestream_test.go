package main

import (
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
// found, and forgotten meetings stay forgotten. The configuration is that for compose.yaml, and
// that of docs/backup.md, whose commands then restore and adopt.
func TestLitestreamReplicaIsAdopted(t *testing.T) {
	testrun.SkipUnderRace(t)
	testrun.OnlyLong(t)
	const module = "github.com/benbjohnson/litestream"
	program := testrun.Build(t, module, module+"/cmd/litestream", "v0.5.18")
	server := s3test.Start(t)
	t.Setenv("AWS_CA_BUNDLE", "") // which litestream refuses; the server here has no certificate
	t.Run("compose.yaml", func(t *testing.T) { adoptReplica(t, program, composeReplica(t, server)) })
	t.Run("docs/backup.md", func(t *testing.T) { adoptReplica(t, program, pageReplica(t, server)) })
}

// replica is a documented way to replicate databases.
type replica struct {
	settings string // of Litestream, for the databases in from
	from     string
	// commands restore the databases of data that names has to the directory back, and adopt them.
	commands func(settings, data, back string, names []string) string
	oldData  bool // the commands name the former data directory
}

// composeReplica is the way of compose.yaml.
func composeReplica(t *testing.T, server *s3test.Server) replica {
	t.Helper()
	text, err := os.ReadFile("../../packaging/litestream.yml")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"BUCKET": "recordings", "ENDPOINT": server.Endpoint(), "REGION": "", // the server is in the one that Litestream takes then
		"ACCESS_KEY_ID": os.Getenv("AWS_ACCESS_KEY_ID"), "SECRET_ACCESS_KEY": os.Getenv("AWS_SECRET_ACCESS_KEY")} {
		t.Setenv("LITESTREAM_"+name, value)
	}
	return replica{string(text), "/data/", func(settings, data, back string, names []string) (lines string) {
		for _, name := range names {
			lines += fmt.Sprintf("litestream restore -config %s -o %s/%s %s/%[3]s\n", settings, back, name, data)
		}
		return lines + "minutebook adopt --data " + back
	}, false}
}

// pageReplica is the way of docs/backup.md, with the address of a server that is not Amazon's.
func pageReplica(t *testing.T, server *s3test.Server) replica {
	t.Helper()
	url := regexp.MustCompile(`s3://bucket/([a-z/]+)`)
	address := "s3://recordings/page/$1?endpoint=" + server.Endpoint() + "&region=us-east-1&forcePathStyle=true"
	settings := documentedBlock(t, "backup.md", "## Litestream beside it", "yaml")
	lines := strings.Split(strings.TrimSpace(documentedBlock(t, "backup.md", "To restore, put all databases", "")), "\n")
	return replica{url.ReplaceAllString(settings, address), "/var/lib/minutebook/", func(_, data, back string, names []string) string {
		var all []string
		for _, name := range names { // "and so for each database"
			all = append(all, strings.ReplaceAll(lines[0], "archive", strings.TrimSuffix(name, ".db")))
		}
		text := url.ReplaceAllString(strings.Join(append(all, lines[1:]...), "\n"), "'"+address+"'")
		return strings.NewReplacer("/srv/minutes", back, "/var/lib/minutebook", data).Replace(text)
	}, true}
}

// adoptReplica replicates the databases of a daemon, and goes on with those that it restores.
func adoptReplica(t *testing.T, program string, way replica) {
	t.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	s := newServed(t, "http://"+testrun.FreeAddress(t)+"/external/v1", "mbk_nobody_answers_there")
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
	forget := func(id int64) {
		t.Helper()
		eventually(t, "the meeting can be forgotten", func() (bool, any) {
			out, err := exec.Command("minutebook", "forget", "-c", s.config, "--reason", "test", fmt.Sprint(id)).CombinedOutput()
			return err == nil, string(out)
		})
		s.forgotten++
	}
	forgotten := deliver(1)
	forget(forgotten[0])
	names := databasesIn(t, s.data)
	settings := filepath.Join(t.TempDir(), "litestream.yml")
	if err := os.WriteFile(settings, []byte(strings.ReplaceAll(way.settings, " "+way.from, " "+s.data+"/")), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if way.oldData {
		forget(done[0])
		forgotten, done = append(forgotten, done[0]), done[1:]
	}
	s.stop(syscall.SIGKILL)

	back := filepath.Join(t.TempDir(), "back")
	if !way.oldData {
		if err := os.RemoveAll(s.data); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(shell(t, way.commands(settings, s.data, back, names)))
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.config, []byte(strings.Replace(string(text), s.data, back, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.data = back
	s.start()
	s.checkAll(done, rand.New(rand.NewPCG(1, 2)))
	for _, id := range forgotten {
		if out, err := exec.Command("minutebook", "show", "-c", s.config, fmt.Sprint(id)).CombinedOutput(); err == nil {
			t.Errorf("what was forgotten is back: %s", out)
		}
	}
	run(t, "verify", "-c", s.config)
	s.stop(syscall.SIGINT)
	t.Logf("%d deliveries were acknowledged before the last sync", len(done))
}

// databasesIn returns the names of the databases in a data directory.
func databasesIn(t *testing.T, data string) (names []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(data, "*.db"))
	if err != nil || len(all) < 2 {
		t.Fatalf("databases %q, %v", all, err)
	}
	for _, path := range all {
		names = append(names, filepath.Base(path))
	}
	return names
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
