package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/internal/bucket"
	"minutebook/internal/durable"
	"minutebook/internal/pause"
	"minutebook/internal/seal"
)

// tableNames are the folders of the tables.
var tableNames = [...]string{"meetings", "entries", "people", "action_items"}

// tableListName is the file beside the tables that says which archive they are of. It is
// written before the first table, before a table is replaced, and after the last one.
const tableListName = ".minutebook-tables.json"

const tableListVersion = 1

// tableList is the content of that file.
type tableList struct {
	Version int                  `json:"version"`
	Lineage []string             `json:"lineage"` // of the archive; see [archive.Archive.Lineage]
	Files   map[string]tableFile `json:"files"`   // by their names
}

// tableFile is a file that an export wrote.
type tableFile struct {
	SHA256 string `json:"sha256"` // before encryption
	Size   int64  `json:"size"`   // in bytes, as stored
	// Recipients tells for whom it is encrypted; see recipientsID.
	Recipients string `json:"recipients,omitempty"`
}

// tableRun is one run of [Run] for [Parquet], into a directory or a bucket.
type tableRun struct {
	Options
	archive *archive.Archive
	place   generation.Place
	sizes   map[string]int64 // of the files that are there
	list    tableList
	written map[string]bool // the files of months that have meetings, by their names
	result  Result
}

// runTables writes the tables, a file for each month, and removes those of months without
// meetings. A month in which nothing has changed gives the same bytes, and its files are
// not touched.
func runTables(ctx context.Context, a *archive.Archive, o Options) (_ Result, err error) {
	x := &tableRun{Options: o, archive: a, sizes: map[string]int64{}, written: map[string]bool{}}
	if x.place, err = generation.OpenPlace(o.Dir); err != nil {
		return Result{}, err
	}
	unlock, err := x.lock(ctx)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := x.prepare(ctx); err != nil {
		return Result{}, err
	}
	err = settle(ctx, a, &x.result, func(ctx context.Context) error {
		clear(x.written)
		if err := x.writeMonths(ctx); err != nil {
			return err
		}
		return x.removeOthers(ctx)
	})
	if !bucket.IsUnavailable(err) { // the files written are recorded even when the run was interrupted
		ctx, end := pause.Grace(ctx)
		defer end()
		err = errors.Join(err, x.writeList(ctx))
	}
	return x.result, err
}

// lock keeps other exports away. A bucket has no locks: there, only this archive's
// process makes one export at a time.
func (x *tableRun) lock(ctx context.Context) (unlock func() error, err error) {
	dir := generation.LocalDir(x.place)
	if dir == "" {
		unlock, ok := x.archive.LockBuckets("export")
		if !ok {
			return nil, errors.New("another export into a bucket is running; try again when it is done")
		}
		return unlock, nil
	}
	if err := durable.MkdirAll(dir); err != nil {
		return nil, err
	}
	l, err := openLedger(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := sweepUnfinished(dir); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l.close, nil
}

// prepare reads the list of tables, or claims the place for this archive where there is
// none, and finds the files there.
func (x *tableRun) prepare(ctx context.Context) error {
	lineage, err := x.archive.Lineage(ctx)
	if err != nil {
		return err
	}
	switch found, err := x.readList(ctx); {
	case err != nil:
		return err
	case found:
		if err := refuseForeign(x.list.Lineage, lineage); err != nil {
			return err
		}
		x.list.Lineage = lineage
	default:
		x.list = tableList{Version: tableListVersion, Lineage: lineage, Files: map[string]tableFile{}}
		raw, err := json.Marshal(x.list)
		if err == nil {
			err = x.place.Create(ctx, tableListName, raw)
		}
		if err != nil {
			return err
		}
	}
	for _, table := range tableNames {
		sizes, err := x.place.Files(ctx, table)
		if err != nil {
			return fmt.Errorf("list the tables that are there: %w", err)
		}
		for name, size := range sizes {
			x.sizes[name] = size
		}
	}
	return x.place.SweepWrites(ctx, func(name string) bool { return name == tableListName || isTable(name) })
}

// refuseForeign fails where the tables are of another archive, or of another copy of it:
// its months would be replaced and removed.
func refuseForeign(theirs, own []string) error {
	if len(theirs) > 0 && len(theirs) <= len(own) && slices.Equal(theirs, own[:len(theirs)]) {
		return nil
	}
	return fmt.Errorf("the tables there are of another archive, or of another copy of this one (%s, and this is %s); "+
		"name a place of its own, or empty that one", strings.Join(theirs, ", then "), strings.Join(own, ", then "))
}

func (x *tableRun) readList(ctx context.Context) (found bool, err error) {
	r, err := x.place.Open(ctx, tableListName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", tableListName, err)
	}
	if err := json.Unmarshal(raw, &x.list); err != nil || x.list.Version != tableListVersion || x.list.Files == nil {
		return false, fmt.Errorf("%s is not the list of an export of this version; remove it to have all tables written again", tableListName)
	}
	return true, nil
}

func (x *tableRun) writeList(ctx context.Context) error {
	raw, err := json.Marshal(x.list)
	if err != nil {
		return err
	}
	return x.place.Write(ctx, tableListName, func(w io.Writer) error { _, err := io.Copy(w, bytes.NewReader(raw)); return err })
}

// isTable reports whether a name is one of a month of a table.
func isTable(name string) bool {
	parts := strings.Split(name, "/")
	return len(parts) == 3 && slices.Contains(tableNames[:], parts[0]) && strings.HasPrefix(parts[1], "month=") &&
		strings.TrimSuffix(parts[2], ".age") == parts[0]+".parquet"
}

// writeTable writes the file of a table's month, unless it is there as it would be
// written.
func writeTable[T any](ctx context.Context, x *tableRun, table, month string, fill func(*parquet.GenericWriter[T]) error) error {
	name := path.Join(table, "month="+month, table+".parquet")
	if len(x.Recipients) > 0 {
		name += ".age"
	}
	temp, err := os.CreateTemp(x.archive.Dir(), durable.TempPrefix+"*")
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	defer temp.Close()
	if err := os.Remove(temp.Name()); err != nil { // the open file has no name any more, and ends with the process
		return fmt.Errorf("write file: %w", err)
	}
	plaintext, err := renderTo(temp, x.Recipients, func(to io.Writer) error {
		w := parquet.NewGenericWriter[T](to, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(1<<17))
		if err := fill(w); err != nil {
			return err
		}
		return w.Close()
	})
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	x.written[name] = true
	last, recorded := x.list.Files[name]
	now := tableFile{SHA256: plaintext.SHA256(), Size: x.sizes[name], Recipients: recipientsID(x.Recipients)}
	if _, there := x.sizes[name]; there && recorded && last == now {
		x.result.Unchanged++
		return nil
	}
	size, err := temp.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if recorded { // a kill before the list is written again must not leave the old entry with the new file
		delete(x.list.Files, name)
		if err := x.writeList(ctx); err != nil {
			return err
		}
	}
	err = x.place.Write(ctx, name, func(w io.Writer) error {
		_, err := seal.Copy(ctx, w, io.NewSectionReader(temp, 0, size))
		return err
	})
	if err != nil {
		return err
	}
	now.Size = size
	x.list.Files[name], x.sizes[name] = now, size
	x.result.Written++
	return nil
}

// removeOthers removes the files of months without meetings, and those that were written
// with or without encryption when it is now the other way.
func (x *tableRun) removeOthers(ctx context.Context) error {
	for name := range x.sizes {
		if x.written[name] || !isTable(name) {
			continue
		}
		if err := x.place.Remove(ctx, name); err != nil {
			return err
		}
		delete(x.list.Files, name)
		delete(x.sizes, name)
		x.result.Removed++
	}
	return nil
}
