package generation

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"minutebook/internal/sqlite"
)

// Prefix begins the names of the directories of generations, and SnapshotPrefix
// those of backups of the first version.
const (
	Prefix         = "generation-"
	SnapshotPrefix = "snapshot-"
)

// Generation is one whole backup of a directory of backups.
type Generation struct {
	Manifest
	Dir    string `json:"-"`    // of backups
	Name   string `json:"name"` // below Dir
	Damage error  `json:"-"`    // why its manifest cannot be read
	Number int    `json:"-"`    // rising; 0: of the first version
}

// Path returns the directory of a generation. For the first version it is the
// directory of backups itself.
func (g Generation) Path() string { return filepath.Join(g.Dir, g.place()) }

// DirOf returns the directory of backups of the generation at path.
func DirOf(path string) string {
	if NumberIn(filepath.Base(path)) > 0 {
		return filepath.Dir(path)
	}
	return path
}

// place returns the directory of the manifest, below Dir.
func (g Generation) place() string {
	if g.Number == 0 {
		return ""
	}
	return g.Name
}

// List returns the whole generations of a directory, the oldest first. It leaves
// out a generation without a manifest, which was interrupted. It fails with
// [ErrNone] when there is none, and with [sqlite.ErrNewer].
func List(dir string) ([]Generation, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	var all []Generation
	for _, e := range entries {
		g := Generation{Dir: dir, Name: e.Name(), Number: NumberIn(e.Name())}
		if e.Name() != ManifestName && g.Number == 0 {
			continue
		}
		if g.Manifest, g.Damage = ReadManifest(dir, g.place()); errors.Is(g.Damage, ErrNone) {
			continue
		}
		if errors.Is(g.Damage, sqlite.ErrNewer) {
			return nil, g.Damage
		}
		at := slices.IndexFunc(g.Files, func(f File) bool { return strings.HasPrefix(f.Path, SnapshotPrefix) })
		if g.Number == 0 && at >= 0 {
			g.Name = path.Dir(g.Files[at].Path)
		}
		all = append(all, g)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read backup %s: %w", dir, ErrNone)
	}
	slices.SortFunc(all, func(a, b Generation) int { return cmp.Compare(a.Number, b.Number) })
	return all, nil
}

// NumberIn returns the number in the name of a generation, 0 for any other name.
func NumberIn(name string) int {
	digits, ok := strings.CutPrefix(name, Prefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return 0
	}
	return n
}

// Find returns the generation of a name or number, the newest when name is "". It
// fails with [ErrNone].
func Find(dir, name string) (Generation, error) {
	all, err := List(dir)
	if err != nil {
		return Generation{}, err
	}
	if name == "" {
		return all[len(all)-1], nil
	}
	var names []string
	for _, g := range all {
		if g.Name == name || g.Number > 0 && strconv.Itoa(g.Number) == name {
			return g, nil
		}
		names = append(names, g.Name)
	}
	return Generation{}, fmt.Errorf("find generation %q in %s: %w; there are %s", name, dir, ErrNone, strings.Join(names, ", "))
}
