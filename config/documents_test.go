package config

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
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

// TestReloadIsDocumented looks in docs/configuration.md for every table and setting that takes
// effect at once: each stands in the first cell, and not in the second.
func TestReloadIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| takes effect at once .*\n\| --- \| --- \|\n\| (.*) \| (.*) \|$`).FindStringSubmatch(string(text))
	if row == nil {
		t.Fatal("there is no table")
	}
	live := 0
	var walk func(t reflect.Type, prefix string)
	walk = func(typ reflect.Type, prefix string) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			name := settingName(f)
			if f.Tag.Get("reload") != "live" {
				if isTable(f.Type) {
					walk(f.Type, prefix+name+".")
				}
				continue
			}
			live++
			names := []string{"`[" + prefix + name + "]`", "`[[" + prefix + name + "]]`", "`" + prefix + name + "`"}
			if prefix != "" {
				names = append(names, "`"+name+"`", "`["+strings.TrimSuffix(prefix, ".")+"]` but for")
			}
			for cell, want := range []bool{true, false} {
				if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(row[cell+1], n) }) != want {
					t.Errorf("%s%s takes effect at once; that it stands in cell %d of the table is %t", prefix, name, cell+1, !want)
				}
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
	if live < 15 {
		t.Errorf("only %d settings were found", live)
	}
}

var update = flag.Bool("update", false, "write the list of variables of docs/configuration.md")

// TestVariablesAreDocumented has docs/configuration.md list the variable of every setting.
// `go test ./config -run TestVariablesAreDocumented -update` writes the list.
func TestVariablesAreDocumented(t *testing.T) {
	const path, begin, end = "../docs/configuration.md", "<!-- variables -->\n", "<!-- end -->\n"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(raw), begin)
	_, tail, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no %q", path, end)
	}
	list := "| variable | setting |\n| --- | --- |\n"
	add := func(key, variable string) {
		if variable != "" {
			list += "| `" + variable + "` | `" + key + "` |\n"
		}
	}
	eachSetting(reflect.TypeFor[Config](), "", envPrefix, add)
	eachSetting(reflect.TypeFor[Account](), "accounts.", accountVariable("name", ""), add)
	want := head + begin + list + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(raw) {
		t.Errorf("%s is not up to date: run this test with -update", path)
	}
}

// TestWhatHasNoVariableIsDocumented looks in docs/install.md for the tables that only a file
// can have.
func TestWhatHasNoVariableIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	eachSetting(reflect.TypeFor[Config](), "", envPrefix, func(key, variable string) {
		table := regexp.MustCompile(`^(\w+\.\w+)\.`).FindStringSubmatch(key)
		if variable == "" && !strings.HasPrefix(key, "accounts.") && (table == nil || !strings.Contains(string(text), "`[["+table[1]+"]]`")) {
			t.Errorf("%s has no variable, and docs/install.md does not say so", key)
		}
	})
}
