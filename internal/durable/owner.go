package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// GiveToOwner gives the files that root has created in a directory of another user to that
// user, who could not open them: all, or those of the given names, with slashes, and the
// folders they are in. Other users create only files of their own. The owner may change
// names there at any moment, so each file is opened below the directory, and given away by its
// descriptor: never one that another place has a name of.
func GiveToOwner(dir string, names ...string) error {
	info, err := os.Lstat(dir)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	give := func(name string) error {
		err := giveFile(root, filepath.FromSlash(name), owner)
		if err == nil || errors.Is(err, fs.ErrNotExist) { // it was there a moment ago
			return nil
		}
		return fmt.Errorf("give the file to the owner of %s, with chown: %w", dir, err)
	}
	for _, name := range names {
		for ; name != "." && err == nil; name = path.Dir(name) {
			err = give(name)
		}
	}
	if len(names) > 0 {
		return err
	}
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && (e.IsDir() || e.Type().IsRegular()) {
			err = give(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
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
