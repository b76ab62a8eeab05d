package powercut

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// page is the number of bytes that a file system writes as a whole.
const page = 4096

// A Cut says which of the changes that were not synced a power cut keeps.
type Cut struct {
	Pages float64 // the share of their pages
	Names float64 // how likely a directory has its next change
}

// Kill is the end of a process on a machine that goes on.
var Kill = Cut{1, 1}

// A node is a file or, with names, a directory.
type node struct {
	names   map[string]*node // as processes see them
	durable map[string]*node // as they are after a power cut at this moment

	content []byte    // as it is synced
	pending []*change // to the content
	size    int64     // as processes see it
}

// A change is a write or, without data, a new size.
type change struct {
	at   int64
	data []byte
	done bool
}

// A renaming changes one or two names at once.
type renaming struct {
	sets []setting
	done bool
}

// A setting gives a node a name in a directory, or removes the name.
type setting struct {
	dir  *node
	name string
	to   *node
}

// A disk is the model.
type disk struct {
	log       *Log
	root      *node
	names     []*renaming // that are not durable
	positions map[string]int64
	appending map[string]bool
}

// Replay calls visit at moments of the log, in order, with a function that writes the files as
// a power cut leaves them to a directory. It fails where the files at the end of the log are not
// those of the recorded directory, which nothing may have changed since.
func (l *Log) Replay(moments []int, visit func(moment int, write func(dir string, c Cut, random *rand.Rand) error) error) error {
	root, err := load(l.before)
	if err != nil {
		return err
	}
	d := &disk{log: l, root: root, positions: map[string]int64{}, appending: map[string]bool{}}
	moments = slices.Sorted(slices.Values(moments))
	type end struct {
		line int
		do   func() error
	}
	var ends []end // of operations that have begun
	next := 0
	for line := 0; line <= len(l.times); line++ {
		for len(moments) > 0 && moments[0] == line {
			if err := visit(line, d.write); err != nil {
				return err
			}
			moments = moments[1:]
		}
		for ; next < len(l.operations) && l.operations[next].began == line; next++ {
			op := &l.operations[next]
			do, err := d.begin(op)
			if err != nil {
				return fmt.Errorf("replay line %d, %s: %w", line+1, op.call, err)
			}
			if do != nil {
				ends = append(ends, end{op.done, do})
			}
		}
		open := ends[:0]
		for _, e := range ends {
			if e.line != line {
				open = append(open, e)
				continue
			}
			if err := e.do(); err != nil {
				return fmt.Errorf("replay line %d: %w", line+1, err)
			}
		}
		ends = open
	}
	present, err := load(l.dir)
	if err != nil {
		return err
	}
	return d.root.compare(present, l.dir)
}

// compare fails unless processes see the same files in both, but for those that SQLite maps.
func (n *node) compare(want *node, path string) error {
	if n == nil || want == nil || (n.names == nil) != (want.names == nil) {
		return fmt.Errorf("replay %s: it is there in the model or on the disk alone, or of another kind", path)
	}
	if n.names == nil && !strings.HasSuffix(path, "-shm") && !bytes.Equal(n.after(Kill, nil), want.content) {
		return fmt.Errorf("replay %s: it has another content", path)
	}
	for _, names := range []map[string]*node{n.names, want.names} {
		for name := range names {
			if err := n.names[name].compare(want.names[name], filepath.Join(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// load reads a directory, all of it synced.
func load(path string) (*node, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	n := &node{}
	if info.Mode().IsRegular() {
		n.content, err = os.ReadFile(path)
		n.size = int64(len(n.content))
		return n, err
	}
	entries, err := os.ReadDir(path)
	n.names, n.durable = map[string]*node{}, map[string]*node{}
	for _, e := range entries {
		if !e.IsDir() && !e.Type().IsRegular() {
			continue // sockets
		}
		child, err := load(filepath.Join(path, e.Name()))
		if err != nil {
			return nil, err
		}
		n.names[e.Name()], n.durable[e.Name()] = child, child
	}
	return n, err
}

// find returns the node at a path, nil where there is none, and its directory and name. All
// are nil outside of the directory that is recorded.
func (d *disk) find(path string) (n, dir *node, name string) {
	rel, err := filepath.Rel(d.log.dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil, nil, ""
	}
	if rel == "." {
		return d.root, nil, ""
	}
	dir = d.root
	parts := strings.Split(rel, "/")
	for _, part := range parts[:len(parts)-1] {
		if dir = dir.names[part]; dir == nil {
			return nil, nil, ""
		}
	}
	name = parts[len(parts)-1]
	return dir.names[name], dir, name
}

// rename changes names when the call ends. Until then they may be changed.
func (d *disk) rename(sets ...setting) func() error {
	r := &renaming{sets: sets}
	d.names = append(d.names, r)
	return func() error {
		r.done = true
		for _, s := range sets {
			set(s.dir.names, s)
		}
		return nil
	}
}

func set(names map[string]*node, s setting) {
	if s.to == nil {
		delete(names, s.name)
	} else {
		names[s.name] = s.to
	}
}

// change changes a file's content or, without data, its size.
func (d *disk) change(n *node, at int64, data []byte) func() error {
	c := &change{at: at, data: data}
	n.pending = append(n.pending, c)
	return func() error {
		c.done = true
		if n.size = max(n.size, at+int64(len(data))); data == nil {
			n.size = at
		}
		return nil
	}
}

// sync makes the changes durable that were done before the call began.
func (d *disk) sync(n *node) func() error {
	changed := slices.DeleteFunc(slices.Clone(n.pending), func(c *change) bool { return !c.done })
	var renamed []*renaming
	if n.names != nil {
		renamed = d.before(n)
	}
	return func() error {
		for _, c := range changed {
			n.content = c.apply(n.content)
		}
		n.pending = slices.DeleteFunc(n.pending, func(c *change) bool { return slices.Contains(changed, c) })
		for _, r := range renamed {
			for _, s := range r.sets {
				set(s.dir.durable, s)
			}
		}
		d.names = slices.DeleteFunc(d.names, func(r *renaming) bool { return slices.Contains(renamed, r) })
		return nil
	}
}

// before returns the changes of names in a directory that are done, with the earlier ones that
// they depend on: those in the directories that they change as well.
func (d *disk) before(dir *node) (found []*renaming) {
	dirs := map[*node]bool{dir: true}
	for _, r := range slices.Backward(d.names) {
		if r.done && slices.ContainsFunc(r.sets, func(s setting) bool { return dirs[s.dir] }) {
			for _, s := range r.sets {
				dirs[s.dir] = true
			}
			found = append(found, r)
		}
	}
	slices.Reverse(found)
	return found
}

// apply returns the content after a change.
func (c *change) apply(content []byte) []byte {
	end := c.at + int64(len(c.data))
	if c.data == nil && int64(len(content)) > c.at {
		return slices.Clip(content[:c.at])
	}
	if missing := end - int64(len(content)); missing > 0 {
		content = append(content, make([]byte, missing)...)
	}
	copy(content[c.at:], c.data)
	return content
}

// pages divides a write at the ends of pages.
func (c *change) pages() (parts []*change) {
	if c.data == nil {
		return []*change{c}
	}
	for at, data := c.at, c.data; len(data) > 0; {
		n := min(page-at%page, int64(len(data)))
		parts = append(parts, &change{at: at, data: data[:n]})
		at, data = at+n, data[n:]
	}
	return parts
}

// keep draws whether something is kept. It draws nothing where that is certain.
func keep(share float64, random *rand.Rand) bool {
	return share >= 1 || share > 0 && random.Float64() < share
}

// after returns the content of a file after a power cut.
func (n *node) after(c Cut, random *rand.Rand) []byte {
	content := slices.Clone(n.content)
	for _, change := range n.pending {
		for _, part := range change.pages() {
			if keep(c.Pages, random) {
				content = part.apply(content)
			}
		}
	}
	return content
}

// write writes the files that a power cut leaves to a new directory.
func (d *disk) write(to string, c Cut, random *rand.Rand) error {
	names := map[*node]map[string]*node{}
	stopped := map[*node]bool{}
	for _, r := range d.names {
		if !keep(c.Names, random) || slices.ContainsFunc(r.sets, func(s setting) bool { return stopped[s.dir] }) {
			for _, s := range r.sets {
				stopped[s.dir] = true
			}
			continue
		}
		for _, s := range r.sets {
			if names[s.dir] == nil {
				names[s.dir] = maps.Clone(s.dir.durable)
			}
			set(names[s.dir], s)
		}
	}
	var put func(n *node, path string) error
	put = func(n *node, path string) error {
		if n.names == nil {
			return os.WriteFile(path, n.after(c, random), 0o600)
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
		entries := names[n]
		if entries == nil {
			entries = n.durable
		}
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			if err := put(entries[name], filepath.Join(path, name)); err != nil {
				return err
			}
		}
		return nil
	}
	return put(d.root, to)
}
