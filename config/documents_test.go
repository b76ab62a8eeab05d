package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedSettingsExist decodes every piece of a configuration in the documents: an
// unknown key or a value of another type fails.
func TestDocumentedSettingsExist(t *testing.T) {
	block := regexp.MustCompile("(?s)```toml\n(.*?)```")
	decoded := 0
	for _, pattern := range []string{"../README.md", "../docs/*.md", "../docs/how-to/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range block.FindAllStringSubmatch(string(text), -1) {
				if strings.Contains(path, "import.md") && !strings.Contains(b[1], "[import]") {
					continue // the metadata of a recording
				}
				decoded++
				if _, err := decode([]byte(b[1])); err != nil {
					t.Errorf("%s: %v in\n%s", path, err, b[1])
				}
			}
		}
	}
	if decoded < 15 {
		t.Errorf("only %d pieces were found", decoded)
	}
}
