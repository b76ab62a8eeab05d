// Command service measures the service over an archive of meetings resampled
// from the corpus: how long a page of ten takes with all includes and any
// filter while 64 credentials call at their rate limit, whatever the answers
// take (open loop); the cost of a walk over all pages at its start and its end;
// and how much memory the process takes.
//
//	go run ./bench/service [-meetings N] [-data DIR] [-seconds S] [-build]
//
// With -data the archive stays for further runs. Memory is of the process that
// only answers, so it is printed by a run that finds its archive built.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/bench/corpus"
	"minutebook/service"
)

type options struct {
	meetings, credentials, seconds int
	data                           string
	buildOnly                      bool
	profile                        string
}

func main() {
	var o options
	flag.IntVar(&o.meetings, "meetings", 10_000, "how many meetings")
	flag.IntVar(&o.credentials, "credentials", 64, "how many call at their limit")
	flag.IntVar(&o.seconds, "seconds", 30, "for how long")
	flag.StringVar(&o.data, "data", "", "keep the archive here")
	flag.BoolVar(&o.buildOnly, "build", false, "only build the archive, or go on building it")
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of the open loop here")
	flag.Parse()
	err := run(context.Background(), o)
	if errors.Is(err, corpus.ErrMissing) {
		fmt.Println("left out:", err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.data == "" {
		if o.data, err = os.MkdirTemp("", "service"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.data)) }()
	}
	a, err := archive.Open(ctx, archive.Options{Dir: o.data, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	built, err := build(ctx, a, o)
	if err != nil || o.buildOnly {
		return err
	}
	clock := &clock{}
	began := time.Now()
	if err := a.PutAccountPerson(ctx, "corpus", walker); err != nil {
		return err
	}
	s, err := service.New(ctx, service.Options{Archive: a, Now: clock.Now, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	keys, err := credentials(ctx, a, s, o.credentials)
	if err != nil {
		return err
	}
	fmt.Printf("ready after %v\n", time.Since(began).Round(time.Millisecond))
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	load := &openLoop{base: server.URL + service.BasePath, keys: keys, seconds: o.seconds}
	if err := withProfile(o.profile, func() error { return load.run(ctx) }); err != nil {
		return err
	}
	whole, err := s.CreateKey(ctx, walker)
	if err != nil {
		return err
	}
	if err := walk(ctx, load.base, whole, clock); err != nil {
		return err
	}
	if !built {
		return memory()
	}
	return nil
}

// withProfile runs fn and writes where its time went to a file, if one is named.
func withProfile(name string, fn func() error) error {
	if name == "" {
		return fn()
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	err = fn()
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}

// build fills the archive up to the number of meetings.
func build(ctx context.Context, a *archive.Archive, o options) (built bool, err error) {
	counts, err := a.Counts(ctx)
	if err != nil || counts.Meetings >= o.meetings {
		return false, err
	}
	dir, err := corpus.Dir()
	if err != nil {
		return false, err
	}
	r, err := corpus.NewResampler(dir, 1)
	if err != nil {
		return false, err
	}
	began := time.Now()
	var batch []archive.Observation
	for n := counts.Meetings + 1; n <= o.meetings; n++ {
		obs, _, err := r.Observation(n)
		if err != nil {
			return true, err
		}
		if batch = append(batch, obs); len(batch) < 50 && n < o.meetings {
			continue
		}
		if _, err := a.Apply(ctx, batch); err != nil {
			return true, err
		}
		batch = batch[:0]
	}
	fmt.Printf("built %d meetings in %v\n", o.meetings-counts.Meetings, time.Since(began).Round(time.Second))
	return true, nil
}

// walker is the person whose account the archive was read with, and who so sees
// all of it.
const walker = "walker@company0.example"

// credentials makes users, each of whom sees the meetings shared with all, and a key
// of each.
func credentials(ctx context.Context, a *archive.Archive, s *service.Service, n int) ([]string, error) {
	var users []api.User
	for i := range n {
		users = append(users, api.User{Email: fmt.Sprintf("caller%d@company0.example", i), Status: api.StatusActive,
			Name: api.Some(fmt.Sprintf("Caller %d", i)), Permissions: api.Some(api.Permissions{
				SettingsAccess: api.Access{Level: api.SettingsNone}, ViewAccess: api.Access{Level: api.ViewOwnMeetings}})})
	}
	for d := range 40 { // so that every recorder is of the organisation
		users = append(users, api.User{Email: fmt.Sprintf("somebody@company%d.example", d), Status: api.StatusActive})
	}
	if err := a.PutUsers(ctx, archive.LocalAccount, users); err != nil {
		return nil, err
	}
	var keys []string
	for _, u := range users[:n] {
		key, err := s.CreateKey(ctx, u.Email)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// memory prints how much this process takes and has taken at most.
func memory() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("read memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM") || strings.HasPrefix(line, "VmRSS") {
			fmt.Print(strings.Join(strings.Fields(line), " "), "\n")
		}
	}
	return nil
}
