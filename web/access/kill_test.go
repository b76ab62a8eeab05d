package access

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestKilledAtAnyMoment kills the process that invites people and sets their
// passwords, between any two of its commits and answers: a link that was used has
// set the password, one that was not can still be used, and the audit is whole.
func TestKilledAtAnyMoment(t *testing.T) {
	testrun.SkipUnderRace(t)
	if dir := os.Getenv("MINUTEBOOK_TEST_ACCESS"); dir != "" {
		inviteUntilKilled(dir)
	}
	dir := t.TempDir()
	used, left := 0, 0
	for range 6 {
		link := inviteAndKill(t, dir)
		func() {
			f := openFixture(t, dir)
			f.now = time.Now() // the clock of the process that was killed
			defer f.archive.Close()
			f.checkChain(t, "after the kill")
			if link.secret == "" {
				return
			}
			p, err := f.PersonByAddress(t.Context(), link.address)
			wantErr(t, "the person of a link that was handed out", err, nil)
			_, err = f.Invitation(t.Context(), link.secret)
			switch {
			case errors.Is(err, ErrUsed) && p.HasPassword:
				used++
				_, err = f.CheckPassword(t.Context(), link.address, password)
				wantErr(t, "the password", err, nil)
			case err == nil && !p.HasPassword:
				left++
				_, err = f.AcceptInvitation(t.Context(), link.secret, password)
				wantErr(t, "the link that was not used", err, nil)
			default:
				t.Errorf("the link: %v; the person has a password: %v", err, p.HasPassword)
			}
			if link.answered && !p.HasPassword {
				t.Error("a password that was reported is not there")
			}
		}()
	}
	t.Logf("killed with %d links used and %d not", used, left)
}

// link is the last invitation that a process has printed.
type link struct {
	address, secret string
	answered        bool // the process has reported the password
}

// inviteAndKill runs inviteUntilKilled in another process and kills it.
func inviteAndKill(t *testing.T, dir string) (last link) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledAtAnyMoment$")
	cmd.Env = append(os.Environ(), "MINUTEBOOK_TEST_ACCESS="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	first := true
	for lines.Scan() {
		if first { // it works by now
			first = false
			time.AfterFunc(time.Duration(rand.IntN(600))*time.Millisecond, func() { cmd.Process.Kill() })
		}
		if address, ok := strings.CutPrefix(lines.Text(), "accepted "); ok {
			last.answered = address == last.address
		} else if fields := strings.Fields(lines.Text()); len(fields) == 2 {
			last = link{address: fields[0], secret: fields[1]}
		}
	}
	cmd.Wait() // it was killed
	if first {
		t.Fatal("the process did not begin")
	}
	return last
}

// inviteUntilKilled adds people, invites them and accepts for them.
func inviteUntilKilled(dir string) {
	ctx := context.Background()
	a, err := archive.Open(ctx, archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	check(err)
	db, err := Open(ctx, Options{Archive: a, Logger: zerolog.Nop()})
	check(err)
	for {
		address := fmt.Sprintf("p%d@example.com", rand.Int64())
		p, err := db.AddPerson(ctx, ActorCommand, address, "", true)
		check(err)
		secret, _, err := db.Invite(ctx, ActorCommand, p.ID)
		check(err)
		fmt.Println(address, secret)
		_, err = db.AcceptInvitation(ctx, secret, password)
		check(err)
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond) // committed, and not answered yet
		fmt.Println("accepted", address)
	}
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
