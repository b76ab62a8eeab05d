package web

import (
	"io/fs"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestScriptsLoseCommentsAlone compares the scripts as they are served with their source, line
// by line, of which no string runs over several.
func TestScriptsLoseCommentsAlone(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := fs.Glob(staticFiles, "static/*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%q, %v", scripts, err)
	}
	for _, name := range scripts {
		source, err := staticFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, line := range strings.SplitAfter(string(source), "\n") {
			line = strings.TrimLeft(line, " \t")
			if strings.HasPrefix(line, "//") {
				continue
			}
			want = append(want, line)
			if strings.Count(line, "`")%2 == 1 || strings.HasSuffix(line, "\\\n") {
				t.Errorf("%s: a string may run over lines (write a single backtick as \\x60): %s", name, line)
			}
		}
		address := a.address[strings.TrimPrefix(name, "static/")]
		if got := string(a.byPath[address].body); got != strings.Join(want, "") {
			t.Errorf("%s is served as\n%s", name, got)
		}
	}
}
