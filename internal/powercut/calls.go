package powercut

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

// begin begins a call. The function that it returns, if any, ends it.
func (d *disk) begin(op *operation) (func() error, error) {
	switch op.call {
	case "openat":
		return d.open(op)
	case "write", "pwrite64":
		return d.writeFile(op)
	case "lseek":
		at, err := op.value()
		fd, _, failed := op.descriptor(0)
		d.positions[fd] = at
		return nil, cmp.Or(err, failed)
	case "ftruncate":
		n, err := d.file(op, 0)
		size, failed := op.number(1)
		if n == nil || err != nil || failed != nil {
			return nil, cmp.Or(err, failed)
		}
		return d.change(n, size, nil), nil
	case "fsync", "fdatasync":
		n, err := d.file(op, 0)
		if n == nil || err != nil {
			return nil, err
		}
		return d.sync(n), nil
	case "mkdir", "mkdirat":
		return d.link(op, &node{names: map[string]*node{}, durable: map[string]*node{}})
	case "unlink", "unlinkat", "rmdir":
		path, err := op.path(placeOfPath(op, 0))
		if _, dir, name := d.find(path); dir != nil && err == nil {
			return d.rename(setting{dir, name, nil}), nil
		}
		return nil, err
	case "rename", "renameat", "renameat2", "link", "linkat":
		return d.move(op)
	case "copy_file_range":
		return d.copy(op)
	}
	// The others are known in order to be refused.
	if strings.Contains(strings.Join(op.args, " "), hexOf(d.log.dir)) {
		return nil, fmt.Errorf("the model has no such call")
	}
	return nil, nil
}

func hexOf(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}

// placeOfPath is the place of the i-th path among the arguments: calls that end in at, and
// renameat2, have a directory before each.
func placeOfPath(op *operation, i int) int {
	if strings.HasSuffix(op.call, "at") || op.call == "renameat2" {
		return 2*i + 1
	}
	return i
}

// file is the node of a descriptor, nil outside of the directory.
func (d *disk) file(op *operation, i int) (*node, error) {
	_, path, err := op.descriptor(i)
	if path == "" || err != nil {
		return nil, err
	}
	n, _, _ := d.find(path)
	return n, nil
}

func (d *disk) open(op *operation) (func() error, error) {
	path, err := op.path(1)
	if err != nil {
		return nil, err
	}
	flags := op.args[2]
	n, dir, name := d.find(path)
	var ends []func() error
	switch {
	case n == nil && dir == nil:
		return nil, nil
	case n == nil && strings.Contains(flags, "O_CREAT"):
		n = &node{}
		ends = append(ends, d.rename(setting{dir, name, n}))
	case n != nil && strings.Contains(flags, "O_TRUNC"):
		ends = append(ends, d.change(n, 0, nil))
	}
	fd, _, _ := strings.Cut(op.result, "<")
	return func() error {
		d.positions[fd], d.appending[fd] = 0, strings.Contains(flags, "O_APPEND")
		for _, end := range ends {
			if err := end(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (d *disk) writeFile(op *operation) (func() error, error) {
	n, err := d.file(op, 0)
	if n == nil || err != nil {
		return nil, err
	}
	data, err := op.text(1)
	count, failed := op.value()
	if err != nil || failed != nil {
		return nil, cmp.Or(err, failed)
	}
	if data = data[:count]; op.call == "pwrite64" {
		at, err := op.number(3)
		return d.change(n, at, []byte(data)), err
	}
	return d.append(op, 0, n, []byte(data)), nil
}

// append writes at the position of a descriptor.
func (d *disk) append(op *operation, i int, n *node, data []byte) func() error {
	fd, _, _ := op.descriptor(i)
	at := d.positions[fd]
	if d.appending[fd] {
		at = n.size
	}
	end := d.change(n, at, data)
	return func() error {
		d.positions[fd] = at + int64(len(data))
		return end()
	}
}

// link gives a new node its name.
func (d *disk) link(op *operation, n *node) (func() error, error) {
	path, err := op.path(placeOfPath(op, 0))
	if _, dir, name := d.find(path); dir != nil && err == nil {
		return d.rename(setting{dir, name, n}), nil
	}
	return nil, err
}

func (d *disk) move(op *operation) (func() error, error) {
	from, err1 := op.path(placeOfPath(op, 0))
	to, err2 := op.path(placeOfPath(op, 1))
	n, dir, name := d.find(from)
	_, toDir, toName := d.find(to)
	switch {
	case err1 != nil || err2 != nil:
		return nil, cmp.Or(err1, err2)
	case n == nil && toDir == nil:
		return nil, nil
	case op.call == "renameat2" && op.args[4] != "0" && op.args[4] != "RENAME_NOREPLACE":
		return nil, fmt.Errorf("the model has no %s", op.args[4])
	case n == nil || toDir == nil:
		return nil, fmt.Errorf("%s becomes %s: one of them is not in the directory", from, to)
	}
	sets := []setting{{toDir, toName, n}}
	if strings.HasPrefix(op.call, "rename") {
		sets = append(sets, setting{dir, name, nil})
	}
	return d.rename(sets...), nil
}

// copy copies from the position of one descriptor to that of another.
func (d *disk) copy(op *operation) (func() error, error) {
	n, err := d.file(op, 2)
	if n == nil || err != nil {
		return nil, err
	}
	count, err := op.value()
	if err != nil || op.args[1] != "NULL" || op.args[3] != "NULL" {
		return nil, cmp.Or(err, fmt.Errorf("positions beside the descriptors"))
	}
	fd, path, err := op.descriptor(0)
	if err != nil {
		return nil, err
	}
	var content []byte
	if from, _, _ := d.find(path); from != nil {
		content = from.after(Kill, nil)
	} else if content, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	at := d.positions[fd]
	end := d.append(op, 2, n, content[at:at+count])
	return func() error {
		d.positions[fd] = at + count
		return end()
	}, nil
}
