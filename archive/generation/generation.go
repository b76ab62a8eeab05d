package generation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"minutebook/internal/bucket"
	"minutebook/internal/durable"
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
	Place  Place  `json:"-"`    // the directory of backups
	Name   string `json:"name"` // below Place
	Damage error  `json:"-"`    // why its manifest cannot be read
	Number int    `json:"-"`    // rising; 0: of the first version
}

// Path returns the path or address of a generation. For the first version it is that of
// the directory of backups itself.
func (g Generation) Path() string {
	if g.folder() == "" {
		return g.Place.String()
	}
	return joinPath(g.Place.String(), g.Name)
}

// MayHaveMeeting reports whether a generation may have content of a meeting. One without a manifest
// that names its meetings may have any.
func (g Generation) MayHaveMeeting(id int64) bool {
	return g.Damage != nil || g.Version == FirstVersion || slices.Contains(g.IDs, id) || slices.Contains(g.DeliveredIDs, id)
}

// ManifestFile returns the name of the manifest's file.
func (g Generation) ManifestFile() string { return path.Join(g.folder(), ManifestName) }

// folder returns the folder of the manifest, below Place.
func (g Generation) folder() string {
	if g.Number == 0 {
		return ""
	}
	return g.Name
}

// recordingName matches the names of recordings, and those of files that a killed backup
// was writing.
var recordingName = regexp.MustCompile(`^media/[0-9a-f]{2}/([0-9a-f]{64}((\.[0-9a-f]{8})?\.age)?|\.tmp-[0-9]+)$`)

// IsRecording reports whether a name below a directory of backups is as a backup names a
// recording, or a file that is still being written. Other files there are other people's.
func IsRecording(name string) bool {
	dir, base := path.Split(name)
	return recordingName.MatchString(name) && (strings.HasPrefix(base, durable.TempPrefix) || strings.HasPrefix(base, path.Base(dir)))
}

// IsOwn reports whether a name below a directory of backups is of a backup.
func IsOwn(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return NumberIn(top) > 0 || IsRecording(name) || name == forgottenName
}

// List returns the whole generations of the directory of backups at a path or an
// address, as [Generations] does.
func List(ctx context.Context, dir string) ([]Generation, error) {
	place, err := OpenPlace(dir)
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	return Generations(ctx, place)
}

// Generations returns the whole generations of a place, the oldest first. It leaves
// out a generation without a manifest, which was interrupted. It fails with
// [ErrNone] when there is none, with [sqlite.ErrNewer] for one of a later version, and with a
// [bucket.UnavailableError].
func Generations(ctx context.Context, place Place) ([]Generation, error) {
	all, _, err := Inventory(ctx, place)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("read backup %s: %w", place, ErrNone)
	}
	return all, err
}

// Inventory returns the whole generations of a place, the oldest first, and those that were
// interrupted, whose damage is [ErrNone]. It fails as [Generations] does, but where there is none.
func Inventory(ctx context.Context, place Place) (all, interrupted []Generation, err error) {
	names, err := place.Entries(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list backups: %w", err)
	}
	for _, name := range names {
		g := Generation{Place: place, Name: name, Number: NumberIn(name)}
		if name != ManifestName && g.Number == 0 {
			continue
		}
		if g.Manifest, g.Damage = readManifest(ctx, place, g.folder()); errors.Is(g.Damage, ErrNone) {
			interrupted = append(interrupted, g)
			continue
		}
		if errors.Is(g.Damage, sqlite.ErrNewer) || bucket.IsUnavailable(g.Damage) || ctx.Err() != nil {
			return nil, nil, g.Damage
		}
		at := slices.IndexFunc(g.Files, func(f File) bool { return strings.HasPrefix(f.Path, SnapshotPrefix) })
		if g.Number == 0 && at >= 0 {
			g.Name = path.Dir(g.Files[at].Path)
		}
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b Generation) int { return cmp.Compare(a.Number, b.Number) })
	useNewest(all)
	return all, interrupted, nil
}

// useNewest describes each recording as the newest generation does. One that was damaged and
// then copied anew, encrypted, has other bytes than its earlier copy.
func useNewest(all []Generation) {
	newest := map[string]File{}
	for _, g := range slices.Backward(all) {
		for i, f := range g.Files {
			if !IsRecording(f.Path) {
				continue
			}
			if as, found := newest[f.Path]; found && as.PlainSHA256 == f.PlainSHA256 {
				g.Files[i] = as
			} else {
				newest[f.Path] = f
			}
		}
	}
}

// NameOf returns the name of the generation of a number.
func NameOf(number int) string { return fmt.Sprintf("%s%06d", Prefix, number) }

// NumberIn returns the number in the name of a generation, 0 for any other name, such as
// generation-2024, which may be anybody's.
func NumberIn(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, Prefix))
	if err != nil || n < 0 || NameOf(n) != name {
		return 0
	}
	return n
}

// Find returns the generation of a name or number, the newest when name is "". It
// fails with [ErrNone].
func Find(ctx context.Context, dir, name string) (Generation, error) {
	all, err := List(ctx, dir)
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
