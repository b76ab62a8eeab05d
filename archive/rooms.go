package archive

import "context"

// rooms lists what Open opens after the archive itself, in this order: parts of
// the archive that have files of their own. Close closes their databases when
// they were opened with SideDB.
func rooms() []func(context.Context, *Archive) error {
	return nil
}
