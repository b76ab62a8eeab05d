package archive

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive/media"
	"minutebook/internal/testrun"
)

// TestWiderModesAreReported opens an archive that others can read.
func TestWiderModesAreReported(t *testing.T) {
	dir := t.TempDir()
	open := func() string {
		var log bytes.Buffer
		a, err := Open(t.Context(), Options{Dir: dir, Create: true, Logger: zerolog.New(&log)})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open()
	if log := open(); strings.Contains(log, "others can reach") {
		t.Fatalf("what Open makes is reported: %s", log)
	}
	if err := os.MkdirAll(filepath.Join(dir, "index"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".", "media", "index", "media/partial", "archive.db", "inbox.db", "lock"} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, info.Mode()|0o040); err != nil {
			t.Fatal(err)
		}
		if log := open(); !strings.Contains(log, `"path":"`+path+`"`) {
			t.Errorf("%s is readable for the group, and the log says %q", name, log)
		}
		if err := os.Chmod(path, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVerifyNamesWhatOthersCanReach opens files deep in the directory to others;
// none of that is damage.
func TestVerifyNamesWhatOthersCanReach(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := filledArchive(t)
	if err := os.Chmod(a.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if v, damages := verify(t, a, VerifyOptions{}); v.Wide != 0 || damages != nil {
		t.Fatalf("what the archive makes is named: %v", damages)
	}
	m, err := a.MediaOf(t.Context(), 2)
	if err != nil || len(m) != 1 {
		t.Fatal(m, err)
	}
	blob := media.Path(a.media, m[0].SHA256)
	if err := os.Chmod(blob, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(blob), 0o755); err != nil {
		t.Fatal(err)
	}
	v, found := verify(t, a, VerifyOptions{SkipMedia: true})
	if v.Wide != 2 || len(found) != 2 || len(v.Damages) != 0 || v.ExitCode() != 0 {
		t.Fatalf("%+v: %v", v, found)
	}
	if got := found[1].String(); got != "mode: "+blob+": others can reach this (-r--r--r--); chmod 400 would close it" {
		t.Errorf("it reads %s", got)
	}
	for i := range 2 * modesNamed {
		if err := os.WriteFile(filepath.Join(filepath.Dir(blob), ".DS_Store"+string(rune('a'+i))), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var last Damage
	v, err = a.Verify(t.Context(), VerifyOptions{}, func(d Damage) { last = d })
	if err != nil || v.Wide != modesNamed+1 || !strings.Contains(last.What, "52 files and directories more") {
		t.Errorf("%d named, the last %v, %v", v.Wide, last, err)
	}
}

// TestEveryDamageHasAHowTo looks for each class, with its exit code, in the table of
// docs/how-to/failures.md.
func TestEveryDamageHasAHowTo(t *testing.T) {
	text, err := os.ReadFile("../docs/how-to/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "|")
		if len(columns) != 6 || !strings.Contains(columns[1], "`") {
			continue
		}
		given := strings.Split(strings.TrimSpace(columns[2]), ", ")
		for i, name := range strings.Split(strings.Trim(strings.TrimSpace(columns[1]), "`"), "`, `") {
			if i < len(given) && strings.TrimSpace(columns[3]) != "" && strings.TrimSpace(columns[4]) != "" {
				codes[name] = given[i]
			}
		}
	}
	for _, class := range append(slices.Clone(damageClasses[:]), DamageMode) {
		if codes[string(class)] != strconv.Itoa(class.ExitCode()) {
			t.Errorf("%s has the exit code %d, and in failures.md %q", class, class.ExitCode(), codes[string(class)])
		}
	}
	if row := fmt.Sprintf("\n| something is lost | %d | ", LostCode); !strings.Contains(string(text), row) {
		t.Errorf("failures.md has no row %q", row)
	}
}
