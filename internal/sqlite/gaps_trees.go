package sqlite

import (
	"encoding/binary"
	"errors"
	"slices"
)

// errTree is the failure of a walk through pages that are no tree.
var errTree = errors.New("its pages are damaged; run minutebook verify")

// eraseTrees erases the gaps between two offsets in pages of the trees with these roots.
func (p pages) eraseTrees(roots []int64, from, to int64) (end int64, changed bool, err error) {
	end = max(from, min(to, p.count*int64(p.size)))
	var found []int64 // pages of the trees, by their offsets
	met := int64(0)   // pages of the trees
	for _, root := range roots {
		height, err := p.measureTree(root)
		if err == nil {
			err = p.walkTree(root, height, func(page int64) error {
				if met++; met > p.count { // damaged pages that lead to each other would never end
					return errTree
				}
				if at := (page - 1) * int64(p.size); at >= from && at < end {
					found = append(found, at)
				}
				return nil
			})
		}
		if err != nil {
			return from, false, err
		}
	}
	slices.Sort(found)
	buf := make([]byte, p.usable)
	for _, at := range found {
		if _, err := p.ReadAt(buf, at); err != nil {
			return from, changed, err
		}
		erased, err := p.erase(buf, at)
		if err != nil {
			return from, changed, err
		}
		changed = changed || erased
	}
	return end, changed, nil
}

// measureTree returns how many levels a tree has. All its leaves are at the same level.
func (p pages) measureTree(root int64) (levels int, err error) {
	for levels = 1; ; levels++ {
		children, err := p.readChildren(root)
		if err != nil || len(children) == 0 {
			return levels, err
		}
		if root = children[0]; levels > 20 {
			return 0, errTree
		}
	}
}

// walkTree calls fn for every page of a tree until it fails. It reads no leaves.
func (p pages) walkTree(page int64, levels int, fn func(page int64) error) error {
	if err := fn(page); err != nil || levels == 1 {
		return err
	}
	children, err := p.readChildren(page)
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := p.walkTree(child, levels-1, fn); err != nil {
			return err
		}
	}
	return nil
}

// readChildren returns the pages below a page of a tree; none for a leaf.
func (p pages) readChildren(page int64) (children []int64, err error) {
	if page < 1 || page > p.count {
		return nil, errTree
	}
	buf := make([]byte, p.usable)
	if _, err := p.ReadAt(buf, (page-1)*int64(p.size)); err != nil {
		return nil, err
	}
	head := buf
	if page == 1 {
		head = buf[100:]
	}
	switch head[0] {
	case leafOfIndex, leafOfTable:
		return nil, nil
	case innerOfIndex, innerOfTable:
	default:
		return nil, errTree
	}
	for i := range int(binary.BigEndian.Uint16(head[3:])) {
		if 12+2*i+2 > len(head) {
			return nil, errTree
		}
		cell := int(binary.BigEndian.Uint16(head[12+2*i:]))
		if cell+4 > len(buf) {
			return nil, errTree
		}
		children = append(children, int64(binary.BigEndian.Uint32(buf[cell:])))
	}
	return append(children, int64(binary.BigEndian.Uint32(head[8:]))), nil
}
