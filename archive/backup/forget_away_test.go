package backup

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// expectNamed forgets a meeting, perhaps again, and compares the generations that are named.
func expectNamed(t *testing.T, a *archive.Archive, id int64, dest string, numbers ...int) {
	t.Helper()
	var want []string
	for _, n := range numbers {
		want = append(want, filepath.Join(dest, generation.NameOf(n)))
	}
	f, err := a.Forget(t.Context(), id, "asked for")
	if err != nil || !slices.Equal(f.Backups, want) {
		t.Errorf("forget of meeting %d names %q, %v; want %q", id, f.Backups, err, want)
	}
}

// swap puts the directory at one path, if any, in the place of another, which is kept at a third.
func swap(t *testing.T, dest, keep, mount string) {
	t.Helper()
	must(t, os.Rename(dest, keep))
	if mount == "" {
		must(t, os.Mkdir(dest, 0o700))
	} else {
		must(t, os.Rename(mount, dest))
	}
}

// TestForgetNamesBackupsOfAWrongClock makes a backup while the clock is right, ahead or
// behind, and forgets a meeting of it while the disk of the backups is away.
func TestForgetNamesBackupsOfAWrongClock(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]time.Duration{"right": 0, "ahead": 40 * 24 * time.Hour, "behind": -40 * 24 * time.Hour, "in 1960": -70 * 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			off, dest := time.Duration(0), filepath.Join(t.TempDir(), "usb")
			a := archivetest.OpenAt(t, archivetest.Dir(t), func() time.Time { return archivetest.Epoch.Add(off) })
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "said"))
			off = wrong
			backUp(t, a, dest, Options{})
			off = 2 * time.Hour
			must(t, os.Rename(dest, dest+"-away"))
			expectNamed(t, a, 1, dest, 1)
		})
	}
}

// TestForgetNamesBackupsOfEachDisk makes backups of several disks at one path, of which one is the
// empty directory where the others are mounted. Whatever is there, forget names the generations
// of the others, until they are removed or a person says that they are gone.
func TestForgetNamesBackupsOfEachDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 6), filepath.Join(t.TempDir(), "usb")
	disk, bare := dest+"-disk", dest+"-bare"
	backUpAs := func(o Options, number int, gone string) {
		t.Helper()
		if r := backUp(t, a, dest, o); r.Generation != generation.NameOf(number) || !strings.HasSuffix(r.Gone, gone) || (r.Gone == "") != (gone == "") {
			t.Errorf("made %s, gone %q; want %d, %q", r.Generation, r.Gone, number, gone)
		}
	}
	backUpAs(Options{}, 1, "")
	backUpAs(Options{}, 2, "")
	swap(t, dest, disk, "")
	expectNamed(t, a, 1, dest, 1, 2)
	backUpAs(Options{}, 3, "generation-000002")
	expectNamed(t, a, 1, dest, 1, 2)
	expectNamed(t, a, 2, dest, 1, 2, 3)
	backUpAs(Options{Keep: 1}, 4, "generation-000002")
	expectNamed(t, a, 2, dest, 1, 2)
	swap(t, dest, bare, disk)
	expectNamed(t, a, 3, dest, 1, 2, 4)
	backUpAs(Options{}, 5, "")
	expectNamed(t, a, 3, dest, 1, 2, 4)
	must(t, os.RemoveAll(filepath.Join(dest, "generation-000001"))) // by hand
	expectNamed(t, a, 3, dest, 2, 4)
	must(t, Remove(t.Context(), a, dest, []string{filepath.Join(dest, "generation-000002"), filepath.Join(dest, "generation-000005")}, 3))
	expectNamed(t, a, 3, dest, 4)
	expectNamed(t, a, 4, dest, 4, 5)
	must(t, os.Rename(dest, disk))
	expectNamed(t, a, 4, dest, 4, 5)
	must(t, os.Rename(bare, dest))
	stopAt(t, a, dest, Options{}, 1)
	expectNamed(t, a, 5, dest, 4, 5)
	backUpAs(Options{AcceptFewer: true}, 6, "")
	expectNamed(t, a, 5, dest, 4)
	expectNamed(t, a, 6, dest, 4, 6)
	swap(t, dest, bare, disk)
	backUpAs(Options{}, 7, "generation-000006")
	expectNamed(t, a, 6, dest, 4, 5, 6)
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(7, "T", "said"))
	stopAt(t, a, dest, Options{}, 1) // which leaves nothing
	archivetest.Attach(t, a, 7, "moving pictures")
	stopAt(t, a, dest, Options{}, 3)
	swap(t, dest, disk, bare)
	backUpAs(Options{}, 9, "generation-000008")
	expectNamed(t, a, 7, dest, 5, 7, 8, 9)
}

// TestForgetNamesABackupWhoseDiskWentAway unmounts the disk while a backup is made there, the first one
// or a later one. The copies on it are named until a backup has removed them, and none are left below it.
func TestForgetNamesABackupWhoseDiskWentAway(t *testing.T) {
	t.Parallel()
	for before := range 2 {
		t.Run(fmt.Sprint(before, " before"), func(t *testing.T) {
			t.Parallel()
			a, dest := archivetest.WithMeetings(t, 1), filepath.Join(t.TempDir(), "usb")
			for range before {
				backUp(t, a, dest, Options{})
			}
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(9, "T", "said"))
			archivetest.Attach(t, a, 9, "moving pictures")
			_, err := Run(t.Context(), a, dest, Options{Progress: func(done, _ int) {
				if done == 1 {
					must(t, unmount(dest))
				}
			}})
			if left, globErr := filepath.Glob(filepath.Join(dest, "*", "*", "*")); err == nil || globErr != nil || len(left) > 0 {
				t.Errorf("backed up: %v; left below: %q", err, left)
			}
			expectNamed(t, a, 9, dest, []int{1, 2}[:before+1]...)
			must(t, os.RemoveAll(dest))
			must(t, os.Rename(dest+"-away", dest))
			expectNamed(t, a, 9, dest, before+1)
			backUp(t, a, dest, Options{})
			expectNamed(t, a, 9, dest)
		})
	}
}

// TestForgetNamesWhatKilledBackupsLeave ends the program at calls of one backup after the other to a
// bucket, the first of which has copied a recording. Forget names a generation while the
// recording is there, and none after the next backup.
func TestForgetNamesWhatKilledBackupsLeave(t *testing.T) {
	testrun.SkipUnderRace(t)
	var dead atomic.Bool // the program: none of its calls arrive any more
	var at atomic.Pointer[regexp.Regexp]
	server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if stop := at.Load(); stop != nil && stop.MatchString(r.Method+" "+r.URL.Path) {
				dead.Store(true)
			}
			if dead.Load() {
				panic(http.ErrAbortHandler)
			}
			server.ServeHTTP(w, r)
		})
	})
	for i, stops := range [][]string{{"PUT .*manifest", "PUT "}, {"PUT ", "PUT .*manifest", "DELETE "}} {
		for _, before := range []int{0, 1} { // backups
			dest, a := server.URL("recordings", fmt.Sprintf("backups-%d-%d", i, before)), archivetest.WithMeetings(t, 1)
			for range before {
				backUp(t, a, dest, Options{})
			}
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(9, "T", "said"))
			archivetest.Attach(t, a, 9, "moving pictures")
			for _, stop := range stops {
				at.Store(regexp.MustCompile(stop))
				if _, err := Run(t.Context(), a, dest, Options{}); err == nil {
					t.Fatal("no failure at", stop)
				}
				at.Store(nil)
				dead.Store(false)
			}
			place, err := generation.OpenPlace(dest)
			must(t, err)
			if recordings, err := place.Files(t.Context(), "media"); err != nil || len(recordings) != 1 {
				t.Errorf("%q: there are %v, %v", stops, recordings, err)
			}
			if f, err := a.Forget(t.Context(), 9, "asked for"); err != nil || len(f.Backups) == 0 {
				t.Errorf("%q after %d: forget names %q, %v", stops, before, f.Backups, err)
			}
			backUp(t, a, dest, Options{})
			if f, err := a.Forget(t.Context(), 9, "asked for"); err != nil || len(f.Backups) > 0 {
				t.Errorf("%q after %d, and a backup: forget names %q, %v", stops, before, f.Backups, err)
			}
		}
	}
}
