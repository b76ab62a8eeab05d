package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// clock is the real time, moved ahead where a walk would meet its limit.
type clock struct{ ahead atomic.Int64 }

// Now is the time the service counts by.
func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// openLoop calls as 64 programs would that each use all of their limit: every
// second one call each, every other one heavy, at times fixed beforehand.
type openLoop struct {
	base    string
	keys    []string
	seconds int

	mu    sync.Mutex
	heavy []time.Duration // from when a call was due to its last byte
	light []time.Duration
}

const allIncludes = "&include_transcript=true&include_summary=true&include_action_items=true&include_highlights=true&include_crm_matches=true"

// filter is a random filter of each kind, at times none.
func filter(rnd *rand.Rand) string {
	day := time.Date(2020, 7, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rnd.IntN(6*365))
	n := rnd.IntN(2000)
	return []string{
		"", "teams[]=Team+" + fmt.Sprint(rnd.IntN(30)), "meeting_type=" + url.QueryEscape([]string{"Sales call", "Standup", "Nothing"}[rnd.IntN(3)]),
		fmt.Sprintf("recorded_by[]=person%d@company%d.example", n, n%40), fmt.Sprintf("calendar_invitees_domains[]=company%d.example", n%40),
		"created_before=" + day.Format(time.RFC3339), "created_after=" + day.Format(time.RFC3339),
		"calendar_invitees_domains_type=only_internal",
		"created_before=" + day.Format(time.RFC3339) + "&teams[]=Team+3&meeting_type=Review",
	}[rnd.IntN(9)]
}

func (l *openLoop) run(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
	start := time.Now().Add(time.Second)
	errs := make(chan error, len(l.keys)*l.seconds)
	var wg sync.WaitGroup
	for i, key := range l.keys {
		for second := range l.seconds {
			due := start.Add(time.Duration(second)*time.Second + time.Duration(i)*time.Second/time.Duration(len(l.keys)))
			rnd := rand.New(rand.NewPCG(uint64(i), uint64(second)))
			wg.Go(func() {
				time.Sleep(time.Until(due))
				if err := l.call(ctx, client, key, filter(rnd), second%2 == 0, due); err != nil {
					errs <- err
				}
			})
		}
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		return err
	}
	report("page of ten, all includes, any filter", l.heavy)
	report("page of ten, bare, any filter", l.light)
	return nil
}

func (l *openLoop) call(ctx context.Context, client *http.Client, key, query string, heavy bool, due time.Time) error {
	if heavy {
		query += allIncludes
	}
	if err := drain(ctx, client, l.base+"/meetings?"+query, key); err != nil {
		return err
	}
	elapsed := time.Since(due)
	l.mu.Lock()
	defer l.mu.Unlock()
	if heavy {
		l.heavy = append(l.heavy, elapsed)
	} else {
		l.light = append(l.light, elapsed)
	}
	return nil
}

// drain makes a call and reads its answer to the last byte without keeping it:
// the callers' own cost is not the service's.
func drain(ctx context.Context, client *http.Client, url, key string) error {
	resp, err := get(ctx, client, url, key)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && n != resp.ContentLength {
		err = fmt.Errorf("answered %d bytes of %d", n, resp.ContentLength)
	}
	return err
}

func fetch(ctx context.Context, client *http.Client, url, key string) ([]byte, error) {
	resp, err := get(ctx, client, url, key)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// get makes a call that must be answered 200.
func get(ctx context.Context, client *http.Client, url, key string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", key)
	resp, err := client.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("answered %s", resp.Status), resp.Body.Close())
	}
	return resp, err
}

func report(what string, times []time.Duration) {
	slices.Sort(times)
	at := func(p float64) time.Duration {
		return times[min(int(p*float64(len(times))), len(times)-1)].Round(10 * time.Microsecond)
	}
	fmt.Printf("%s: %d calls, p50 %v, p99 %v, most %v\n", what, len(times), at(.5), at(.99), at(1))
}

// walk lists all pages, bare, and compares the first with the last ones.
func walk(ctx context.Context, base, key string, clock *clock) error {
	var times []time.Duration
	for cursor := ""; ; {
		if len(times)%50 == 0 {
			clock.ahead.Add(int64(time.Minute))
		}
		began := time.Now()
		body, err := fetch(ctx, http.DefaultClient, base+"/meetings?"+cursor, key)
		if err != nil {
			return err
		}
		times = append(times, time.Since(began))
		var page struct {
			Next *string `json:"next_cursor"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return err
		}
		if page.Next == nil {
			break
		}
		cursor = "cursor=" + url.QueryEscape(*page.Next)
	}
	part := len(times) / 10
	report(fmt.Sprintf("walk of %d pages, its first tenth", len(times)), slices.Clone(times[:part]))
	report(fmt.Sprintf("walk of %d pages, its last tenth", len(times)), slices.Clone(times[len(times)-part:]))
	return nil
}
