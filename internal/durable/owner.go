package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// GiveToOwner gives the files that root has created in a directory of another user to that
// user, who could not open them: all, or those of the given names, with slashes, and the
// folders they are in. Other users create only files of their own. The owner may change
// names there at any moment, so each file is opened below the directory, and given away by its
// descriptor: never one that another place has a name of.
func GiveToOwner(dir string, names ...string) error {
	g, err := openGiver(dir, dir)
	if g == nil || err != nil {
		return err
	}
	defer g.root.Close()
	if len(names) == 0 {
		return g.giveAll(func(string) bool { return true })
	}
	for _, name := range names {
		for ; name != "." && err == nil; name = path.Dir(name) {
			err = g.give(name)
		}
	}
	return err
}

// GiveOutside does for a folder outside of a directory, to which a link in the directory or a
// setting leads, as GiveToOwner does for the directory, with the files and folders whose names
// match the patterns and all that is in these. The directory's owner may have chosen the folder:
// nothing is given away in the folder of somebody else, unless root has made it, which made says.
func GiveOutside(dir, folder string, made fs.FileInfo, patterns ...string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	real, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	base, failed := filepath.EvalSymlinks(dir)
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("look at %s: %w", folder, err)
	}
	if strings.HasPrefix(real, base+string(filepath.Separator)) {
		return nil
	}
	g, err := openGiver(dir, real)
	if g == nil || err != nil {
		return err
	}
	defer g.root.Close()
	info, err := g.root.Stat(".")
	if err != nil {
		return fmt.Errorf("look at %s: %w", folder, err)
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	isMade := made != nil && os.SameFile(made, info)
	if !ok || is.Uid != g.owner.Uid && !isMade {
		return nil
	}
	return g.giveAll(func(first string) bool {
		return first == "." && isMade || slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(pattern, first)
			return ok && err == nil
		})
	})
}

// giver gives files below a folder to the owner of a directory.
type giver struct {
	dir   string
	root  *os.Root
	owner *syscall.Stat_t
}

// openGiver opens the giver for a folder. It is nil where nothing is to be given: the process is
// not root's, or the directory is.
func openGiver(dir, folder string) (*giver, error) {
	info, err := os.Lstat(dir)
	if err != nil || os.Geteuid() != 0 {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return &giver{dir, root, owner}, nil
}

// giveAll gives the files away of which the first part of the name is chosen. It follows no link.
func (g *giver) giveAll(chosen func(first string) bool) error {
	return fs.WalkDir(g.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		first, _, _ := strings.Cut(name, "/")
		switch isChosen := err == nil && chosen(first); {
		case err == nil && !isChosen && e.IsDir() && name != ".":
			return fs.SkipDir
		case isChosen && (e.IsDir() || e.Type().IsRegular()):
			err = g.give(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func (g *giver) give(name string) error {
	err := giveFile(g.root, filepath.FromSlash(name), g.owner)
	if err == nil || errors.Is(err, fs.ErrNotExist) { // it was there a moment ago
		return nil
	}
	return fmt.Errorf("give the file to the owner of %s, with chown: %w", g.dir, err)
}

func giveFile(root *os.Root, path string, owner *syscall.Stat_t) error {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok || is.Uid != 0 || is.Nlink > 1 && !info.IsDir() {
		return nil
	}
	return f.Chown(int(owner.Uid), int(owner.Gid))
}
