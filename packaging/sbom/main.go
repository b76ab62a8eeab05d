// Sbom lists the modules of a program as CycloneDX JSON on standard output, and copies
// their licences: sbom [-version V] [-glibc V] [-licenses DIR] PROGRAM.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Purl    string `json:"purl,omitempty"`
}

type bom struct {
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Version  int    `json:"version"`
	Metadata struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components []component `json:"components"`
}

func main() {
	version := flag.String("version", "", "of the program")
	glibc := flag.String("glibc", "", "version of the C library in the program, if any")
	licenses := flag.String("licenses", "", "the `directory` for the modules' licences")
	flag.Parse()
	if err := run(flag.Arg(0), *version, *glibc, *licenses); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(program, version, glibc, licenses string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read modules: %w", err)
	}
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1}
	b.Metadata.Component = component{Type: "application", Ref: "minutebook", Name: "minutebook", Version: version}
	b.Components = []component{{Type: "library", Ref: "std", Name: "std", Version: info.GoVersion, Purl: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}
	if glibc != "" {
		b.Components = append(b.Components, component{Type: "library", Ref: "glibc", Name: "glibc", Version: glibc, Purl: "pkg:generic/glibc@" + glibc})
	}
	if licenses != "" {
		// The program has parts of Go's library, whose licence asks for its text.
		if err := copyLicenses(filepath.Join(licenses, "std"), "env", "GOROOT"); err != nil {
			return fmt.Errorf("copy the licence of Go: %w", err)
		}
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		b.Components = append(b.Components, component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, Purl: purl})
		if licenses != "" {
			if err := copyLicenses(filepath.Join(licenses, filepath.FromSlash(m.Path)), "list", "-m", "-f", "{{.Dir}}", m.Path); err != nil {
				return fmt.Errorf("copy the licence of %s: %w", m.Path, err)
			}
		}
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// licenseName is the name of a file that has to be passed on with a module.
var licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([.-].*)?$`)

// copyLicenses copies the licences of a module, which has at least one. The go command
// answers the arguments with the module's folder.
func copyLicenses(dir string, args ...string) error {
	root, err := exec.Command("go", args...).Output()
	if err != nil {
		return fmt.Errorf("find it: %w", err)
	}
	from := strings.TrimSpace(string(root))
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenseName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), text, 0o644); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return fmt.Errorf("there is none in %s", from)
	}
	return nil
}
