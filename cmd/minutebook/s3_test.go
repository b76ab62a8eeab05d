package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"minutebook/control"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// bucketConfig writes a configuration whose recordings are in a bucket.
func bucketConfig(t *testing.T, dir, mediaURL, rest string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	text := fmt.Sprintf("data_dir = %q\n[media]\nurl = %q\nmin_free_bytes = 0\n%s", dir, mediaURL, rest)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestServeWithABucket runs the daemon with its recordings in a real S3 server:
// they are fetched into it, played out of it by ranges, backed up, restored into
// another place of it or found where they are, and deleted by a rule.
func TestServeWithABucket(t *testing.T) {
	testrun.SkipUnderRace(t)
	bucket := s3test.Start(t)
	service, key := sandbox(t, t.TempDir())
	dir := t.TempDir()
	config := bucketConfig(t, dir, bucket.URL("recordings", "minutes"),
		fmt.Sprintf("[[accounts]]\nname = \"ada\"\nbase_url = \"%s/external/v1\"\napi_key = %q\nallow_private = true\n", service.url, key))
	serve := start(t, "serve", "--create", "-c", config)
	eventually(t, "the recordings are in the bucket", func() (bool, any) {
		s := status(t, dir)
		return s.WithRecording > 3 && s.Indexed == s.Meetings, s
	})
	objects := bucket.Objects(t, "minutes/") // the service has one recording, for all of them
	if left := blobsBelow(t, filepath.Join(dir, "media")); len(left) > 0 || len(objects) == 0 {
		t.Errorf("on this disk are %v, in the bucket %v", left, objects)
	}
	playsByRanges(t, serve.url, dir)
	usb, lean := filepath.Join(t.TempDir(), "usb"), filepath.Join(t.TempDir(), "lean")
	run(t, "backup", "-c", config, usb) // while the daemon fetches
	run(t, "backup", "-c", config, "--without-media", lean)
	serve.stop()
	run(t, "verify", "-c", config)

	const old = "[[retention.rules]]\nmedia_after_days = 1\n"
	other := bucketConfig(t, filepath.Join(t.TempDir(), "back"), bucket.URL("recordings", "restored"), old)
	run(t, "restore", "-c", other, usb)
	run(t, "verify", "-c", other)
	if n := len(bucket.Objects(t, "restored/")); n != len(objects) {
		t.Errorf("%d recordings restored of %d", n, len(objects))
	}
	same := bucketConfig(t, filepath.Join(t.TempDir(), "lean-back"), bucket.URL("recordings", "minutes"), "")
	run(t, "restore", "-c", same, lean)
	run(t, "verify", "-c", same)

	deleted := runJSON[control.RetentionResult](t, "retention", "--apply", "-c", other)
	if left := bucket.Objects(t, "restored/"); deleted.Recordings == 0 || len(left) != 0 {
		t.Errorf("after the retention rules, %+v, the bucket has %v", deleted, left)
	}
	run(t, "verify", "-c", other)
}

// playsByRanges asks the page for a recording and for a part of it.
func playsByRanges(t *testing.T, url, dir string) {
	t.Helper()
	found := searchUntilFound(t, dir, "the")
	id := withRecording(t, url, found)
	page := get(t, fmt.Sprintf("%s/meetings/%d", url, id))
	media := regexp.MustCompile(`src="(/api/v1/meetings/[0-9]+/media/[^"]+)"`).FindStringSubmatch(page)
	if media == nil {
		t.Fatal("the meeting's page has no recording")
	}
	whole := get(t, url+strings.ReplaceAll(media[1], "&amp;", "&"))
	req, err := http.NewRequest(http.MethodGet, url+strings.ReplaceAll(media[1], "&amp;", "&"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=100-199")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	part, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusPartialContent || string(part) != whole[100:200] {
		t.Errorf("a range of the recording: %s, %d bytes, %v", resp.Status, len(part), err)
	}
}

// blobsBelow lists the files that are named by a hash.
func blobsBelow(t *testing.T, dir string) []string {
	t.Helper()
	var blobs []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && len(d.Name()) == 64 && !d.IsDir() {
			blobs = append(blobs, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return blobs
}
