package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProgramHoldsTheTimeZones reads the program. Go looks for the zone of the variable TZ in
// the system's files and in the program alone, and the image, as a small Debian, has no files.
func TestProgramHoldsTheTimeZones(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if name := strings.Join([]string{"America", "Argentina", "ComodRivadavia"}, "/"); !bytes.Contains(program, []byte(name)) {
		t.Errorf("%s is not in the program", name)
	}
}

// TestTheMachinesZoneHasItsName reads the zone's name from the link to its file, and from TZ.
func TestTheMachinesZoneHasItsName(t *testing.T) {
	dir := t.TempDir()
	link := func(target string) string {
		path := filepath.Join(dir, filepath.Base(target))
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := filepath.Join(dir, "localtime")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	nepal := link("../usr/share/zoneinfo/Asia/Kathmandu")
	for _, c := range []struct{ local, link, want string }{
		{"Local", nepal, "Asia/Kathmandu"},
		{"Local", link("/usr/share/zoneinfo/Nowhere"), time.Local.String()},
		{"Local", file, time.Local.String()},
		{"Local", filepath.Join(dir, "none"), time.Local.String()},
		{"/usr/share/zoneinfo/Asia/Tokyo", nepal, "Asia/Tokyo"},
		{"Europe/Berlin", nepal, time.Local.String()},
	} {
		if got := namedZone(c.local, c.link).String(); got != c.want {
			t.Errorf("%s with %s is %s, want %s", c.local, c.link, got, c.want)
		}
	}
}
