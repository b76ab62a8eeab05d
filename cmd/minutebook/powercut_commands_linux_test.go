package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/powercut"
	"minutebook/internal/residue"
	"minutebook/internal/testrun"
)

// interrupted is a command during which the power is cut.
type interrupted struct {
	prepare func(t *testing.T, dir string) // fills the directory, whose changes are recorded
	args    func(dir string) []string
	// check looks at the directory after the command was given once more, which may have failed
	// because nothing was left to do.
	check func(t *testing.T, dir string, again error)
	// usable, if any, looks at it before, where it is of use at every moment.
	usable func(t *testing.T, dir string)
}

// TestPowerCutsOfCommands cuts the power during commands that change files while no daemon
// runs. Given once more, each ends as if nothing had happened; one that has ended need not be
// given once more.
func TestPowerCutsOfCommands(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 6))
	filled, backups, exported := filepath.Join(t.TempDir(), "data"), t.TempDir(), t.TempDir()
	fillArchive(t, filled)
	withRecordings(t, filled, 3)
	run(t, "backup", "--data", filled, backups)
	run(t, "export", "--data", filled, "--format", "ndjson", "--to", exported)
	copied := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	data := func(dir string) string { return filepath.Join(dir, "data") }
	withData := func(t *testing.T, dir string) { copied(t, filled, data(dir)) }
	succeeds := func(check func(t *testing.T, dir string)) func(*testing.T, string, error) {
		return func(t *testing.T, dir string, again error) {
			if again != nil {
				t.Error(again)
			}
			check(t, dir)
		}
	}
	whole := func(meetings int) func(*testing.T, string) {
		return func(t *testing.T, dir string) { wantWhole(t, data(dir), meetings) }
	}
	damaged, repaired, migrated := data(t.TempDir()), data(t.TempDir()), data(t.TempDir())
	fillTalkative(t, damaged, 20)
	damageRandomly(t, filepath.Join(damaged, "archive.db"), rand.New(rand.NewPCG(1, 4)))
	copied(t, damaged, repaired)
	if out, err := exec.Command("minutebook", "verify", "--repair", "--data", repaired).CombinedOutput(); err == nil {
		t.Fatalf("nothing was lost, which another seed does:\n%s", out)
	}
	early, _ := earlyArchive(t, "20", 8)
	copied(t, early, migrated)
	run(t, "stats", "--data", migrated)
	restores := func(t *testing.T, dir string) {
		back := filepath.Join(t.TempDir(), "back")
		run(t, "restore", "--data", back, dir)
		wantWhole(t, back, 40)
	}
	for name, c := range map[string]interrupted{
		"init": {
			prepare: func(*testing.T, string) {},
			args:    func(dir string) []string { return []string{"init", "--data", data(dir)} },
			check:   func(t *testing.T, dir string, again error) { wantWhole(t, data(dir), 0) },
		},
		"backup": {
			prepare: func(t *testing.T, dir string) { copied(t, backups, dir) },
			args:    func(dir string) []string { return []string{"backup", "--data", filled, "--keep", "1", dir} },
			check:   succeeds(restores),
			usable:  restores,
		},
		"restore": {
			prepare: func(*testing.T, string) {},
			args:    func(dir string) []string { return []string{"restore", "--data", data(dir), backups} },
			check:   func(t *testing.T, dir string, again error) { wantWhole(t, data(dir), 40) }, // refused where it is there
		},
		"rebuild": {
			prepare: withData,
			args:    func(dir string) []string { return []string{"rebuild", "--data", data(dir)} },
			check:   succeeds(whole(40)),
		},
		"repair": {
			prepare: func(t *testing.T, dir string) { copied(t, damaged, data(dir)) },
			args:    func(dir string) []string { return []string{"verify", "--repair", "--data", data(dir)} },
			check:   func(t *testing.T, dir string, _ error) { sameAs(t, repaired, data(dir)) },
		},
		"migration": {
			prepare: func(t *testing.T, dir string) { copied(t, early, data(dir)) },
			args:    func(dir string) []string { return []string{"stats", "--data", data(dir)} },
			check:   succeeds(func(t *testing.T, dir string) { sameAs(t, migrated, data(dir)) }),
		},
		"import": {
			prepare: func(t *testing.T, dir string) { run(t, "init", "--data", data(dir)) },
			args: func(dir string) []string {
				return []string{"import", "--data", data(dir), filepath.Join(exported, "meetings.ndjson")}
			},
			check: succeeds(whole(40)),
		},
		"export": {
			prepare: func(*testing.T, string) {},
			args: func(dir string) []string {
				return []string{"export", "--data", filled, "--format", "ndjson", "--to", dir}
			},
			check: succeeds(func(t *testing.T, dir string) {
				got, err := os.ReadFile(filepath.Join(dir, "meetings.ndjson"))
				want, failed := os.ReadFile(filepath.Join(exported, "meetings.ndjson"))
				if err != nil || failed != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes are exported, not %d: %v, %v", len(got), len(want), err, failed)
				}
			}),
		},
		"forget": {
			prepare: func(t *testing.T, dir string) { // an archive without backups, which the others share
				fillArchive(t, data(dir))
				withRecordings(t, data(dir), 3)
				run(t, "search", "--data", data(dir), "zq3qz") // which makes an index
			},
			args: func(dir string) []string { return []string{"forget", "3", "--reason", "power", "--data", data(dir)} },
			check: succeeds(func(t *testing.T, dir string) {
				wantWhole(t, data(dir), 39)
				if found := residue.FindAny(t, []string{"moving pictures of 3 ", "zq3qz"}, data(dir)); len(found) > 0 {
					t.Errorf("a forgotten meeting is in %q", found)
				}
			}),
		},
		"adopt": {
			prepare: withData,
			args:    func(dir string) []string { return []string{"adopt", "--data", data(dir)} },
			check:   succeeds(whole(40)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.prepare(t, dir)
			r := powercut.NewRecorder(t, dir)
			cmd := r.Command(t, "minutebook", c.args(dir)...)
			out, err := cmd.CombinedOutput()
			if err != nil && name != "repair" {
				t.Fatalf("%v\n%s", err, out)
			}
			log, err := r.Log(t.Context(), cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			moments := []int{log.Len()}
			for range kills(1, 60) {
				moments = append(moments, random.IntN(log.Len()+1))
			}
			err = log.Replay(moments, func(moment int, write func(string, powercut.Cut, *rand.Rand) error) error {
				cut := powerCuts[random.IntN(len(powerCuts))]
				if moment == log.Len() {
					cut = powercut.Cut{}
				}
				t.Run(fmt.Sprintf("line %d, %v", moment, cut), func(t *testing.T) {
					after := filepath.Join(t.TempDir(), "after")
					if err := write(after, cut, random); err != nil {
						t.Fatal(err)
					}
					if c.usable != nil {
						c.usable(t, after)
					}
					if moment == log.Len() { // it has ended
						c.check(t, after, nil)
						return
					}
					cmd := exec.Command("minutebook", c.args(after)...)
					out, err := cmd.CombinedOutput()
					c.check(t, after, err)
					if t.Failed() {
						t.Logf("given once more: %v\n%s", err, out)
					}
				})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// sameAs fails unless two archives have as much, and verify finds as much damage.
func sameAs(t *testing.T, want, got string) {
	t.Helper()
	counts := func(data string) string {
		out, _ := exec.Command("minutebook", "verify", "--data", data).Output()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		last, _, _ := strings.Cut(lines[len(lines)-1], " lost") // whom files are open to does not matter
		return last
	}
	if want, got := counts(want), counts(got); want != got || want == "" {
		t.Errorf("undisturbed: %s; not so: %s", want, got)
	}
}

// wantWhole fails unless an archive has so many meetings, and verify finds no damage.
func wantWhole(t *testing.T, data string, meetings int) {
	t.Helper()
	if out, err := exec.Command("minutebook", "verify", "--data", data).CombinedOutput(); err != nil {
		t.Fatalf("verify: %v\n%s", err, out)
	}
	if status := runJSON[control.StatusResult](t, "status", "--data", data); status.Meetings != meetings {
		t.Errorf("%d meetings, not %d", status.Meetings, meetings)
	}
}
