package archive

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

	"minutebook/internal/durable"
)

// generationPrefix begins the names of the directories of generations, and
// snapshotPrefix that of the databases of a backup of the first version.
const (
	generationPrefix = "generation-"
	snapshotPrefix   = "snapshot-"
)

// Generation is one whole backup of a directory of backups.
type Generation struct {
	Manifest
	Dir    string `json:"-"`    // of backups
	Name   string `json:"name"` // below Dir
	Damage error  `json:"-"`    // why its manifest cannot be read
	number int    // rising; 0: of the first version
}

// Path is where a generation lies, which for one of the first version is the
// directory of backups itself.
func (g Generation) Path() string { return filepath.Join(g.Dir, g.place()) }

// place is the directory of the manifest, below Dir.
func (g Generation) place() string {
	if g.number == 0 {
		return ""
	}
	return g.Name
}

// Generations lists the whole backups of a directory, the oldest first. One
// without a manifest was interrupted and is left out. It fails with ErrNoBackup
// when there is none, and with ErrNewer.
func Generations(dir string) ([]Generation, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	var all []Generation
	for _, e := range entries {
		g := Generation{Dir: dir, Name: e.Name(), number: numberIn(e.Name())}
		if e.Name() != manifestName && g.number == 0 {
			continue
		}
		if g.Manifest, g.Damage = readManifest(dir, g.place()); errors.Is(g.Damage, ErrNoBackup) {
			continue
		}
		if errors.Is(g.Damage, ErrNewer) {
			return nil, g.Damage
		}
		at := slices.IndexFunc(g.Files, func(f ManifestFile) bool { return strings.HasPrefix(f.Path, snapshotPrefix) })
		if g.number == 0 && at >= 0 {
			g.Name = path.Dir(g.Files[at].Path)
		}
		all = append(all, g)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read backup %s: %w", dir, ErrNoBackup)
	}
	slices.SortFunc(all, func(a, b Generation) int { return cmp.Compare(a.number, b.number) })
	return all, nil
}

// numberIn is the number in the name of a generation, 0 in any other name.
func numberIn(name string) int {
	digits, ok := strings.CutPrefix(name, generationPrefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return 0
	}
	return n
}

// pick chooses a generation by name or number, the newest when which is "".
func pick(dir, which string) (Generation, error) {
	all, err := Generations(dir)
	if err != nil {
		return Generation{}, err
	}
	if which == "" {
		return all[len(all)-1], nil
	}
	var names []string
	for _, g := range all {
		if g.Name == which || g.number > 0 && strconv.Itoa(g.number) == which {
			return g, nil
		}
		names = append(names, g.Name)
	}
	return Generation{}, fmt.Errorf("find generation %q in %s: %w; there are %s", which, dir, ErrNoBackup, strings.Join(names, ", "))
}

// backupDir is a directory of backups that this process alone changes.
type backupDir struct {
	path string
	lock *dirLock
	all  []Generation
}

func openBackupDir(path string) (*backupDir, error) {
	if err := durable.MkdirAll(path); err != nil {
		return nil, err
	}
	lock, err := lockDir(path)
	if errors.Is(err, ErrInUse) {
		return nil, errors.New("another process is making a backup there; try again when it is done")
	}
	if err != nil {
		return nil, err
	}
	d := &backupDir{path: path, lock: lock}
	if d.all, err = Generations(path); err != nil && !errors.Is(err, ErrNoBackup) {
		return nil, errors.Join(err, lock.release())
	}
	return d, nil
}

// remove deletes a generation, its manifest first: without that it is none. The
// recordings are left to sweep.
func (d *backupDir) remove(g Generation) error {
	if err := durable.Remove(filepath.Join(g.Path(), manifestName)); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(d.path, g.Name)); err != nil {
		return fmt.Errorf("remove generation: %w", err)
	}
	d.all = slices.DeleteFunc(d.all, func(other Generation) bool { return other.Name == g.Name })
	return durable.SyncDir(d.path)
}

// sweep removes what belongs to no generation: what an interrupted backup or
// removal left, and recordings that nothing names any more. While a manifest
// cannot be read nobody knows what it names, and all recordings stay.
func (d *backupDir) sweep() error {
	keep, readable := map[string]bool{}, true
	for _, g := range d.all {
		keep[g.Name] = true
		readable = readable && g.Damage == nil
		for _, f := range g.Files {
			keep[filepath.FromSlash(f.Path)] = true
		}
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("list backups: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		ours := numberIn(name) > 0 || strings.HasPrefix(name, snapshotPrefix) && readable || strings.HasPrefix(name, durable.TempPrefix)
		if !ours || keep[name] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(d.path, name)); err != nil {
			return fmt.Errorf("remove what an interrupted backup left: %w", err)
		}
	}
	if readable {
		err = d.sweepMedia(keep)
	}
	return errors.Join(err, durable.SyncDir(d.path))
}

func (d *backupDir) sweepMedia(keep map[string]bool) error {
	paths, err := fs.Glob(os.DirFS(d.path), "media/??/*")
	if err != nil {
		return fmt.Errorf("list recordings of the backup: %w", err)
	}
	for _, path := range paths {
		rel := filepath.FromSlash(path)
		if keep[rel] {
			continue
		}
		if err := durable.Remove(filepath.Join(d.path, rel)); err != nil {
			return err
		}
	}
	return nil
}
