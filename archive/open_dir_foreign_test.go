package archive

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// TestNoArchiveIsMixedWithOtherFiles creates archives in directories that hold something.
func TestNoArchiveIsMixedWithOtherFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files []string // folders end in a slash
		want  string   // in the error; "": the archive is created
	}{
		"nothing":                      {nil, ""},
		"a disk of its own":            {[]string{"lost+found/", "media/lost+found/"}, ""},
		"a configuration and its keys": {[]string{"config.toml", "ada.key", ".env"}, ""},
		"an interrupted first start":   {[]string{"lock", "archive.db-journal"}, ""},
		"other archives":               {[]string{"sales/lock", "legal/"}, ""},
		"letters":                      {[]string{"letter.odt"}, "(letter.odt)"},
		"a folder of films":            {[]string{"media/holiday.mp4"}, "(media)"},
		"a folder of that name":        {[]string{"proof/exhibit.txt", "index/index.html"}, "(index, proof)"},
		"a home":                       {[]string{".profile", "a/x", "b/x", "c/x", "d/x", "e"}, "(a, b, c and 2 more)"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range c.files {
				path := filepath.Join(dir, file)
				must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				if strings.HasSuffix(file, "/") {
					must(t, os.MkdirAll(path, 0o700))
				} else {
					must(t, os.WriteFile(path, []byte("something"), 0o600))
				}
			}
			before, err := os.ReadDir(dir)
			must(t, err)
			a, err := Open(t.Context(), Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
			if c.want == "" {
				must(t, err)
				must(t, a.Close())
				return
			}
			if !errors.Is(err, ErrForeignFiles) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
			if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
				t.Errorf("%v, %v; want the directory untouched", after, err)
			}
		})
	}
}
