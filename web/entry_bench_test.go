package web

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
	"minutebook/web/access"
)

// BenchmarkSignedIn compares requests of the owner's page with those of a person who
// is signed in, alone and among 10,000 people with 100,000 sessions, and measures the
// processor time of a sign-in among them. The requests take turns in an order that
// changes, since the first after another page's finds less in the processor's caches.
// Its figures are medians.
func BenchmarkSignedIn(b *testing.B) {
	alone, small, crowded := newSampleSite(b), newEntrySite(b, nil), newEntrySite(b, nil)
	crowded.crowd(b, 10_000, 100_000)
	recorder := recorderOf(b, alone)
	cookie, crowdCookie := small.member(b, recorder), crowded.member(b, recorder)
	type turn struct {
		name, path string
		handler    http.Handler
		cookie     string
	}
	var turns []turn
	for name, path := range map[string]string{"help": "/help", "meeting": fmt.Sprintf("/api/v1/meetings/%d", alone.ids[0]),
		"list": "/api/v1/meetings", "search": "/api/v1/search?q=the", "suggestions": "/api/v1/suggest?q=th", "actions": "/api/v1/action-items"} {
		turns = append(turns, turn{"owner/" + name, path, alone.server.handler(), ""},
			turn{"person/" + name, path, small.Config.Handler, cookie},
			turn{"crowd/" + name, path, crowded.Config.Handler, crowdCookie})
	}
	took, order := map[string][]time.Duration{}, rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		order.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		for _, turn := range turns {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, turn.path, nil)
			r.Host = "localhost"
			if turn.cookie != "" {
				r.Header.Set("Cookie", "minutebook="+turn.cookie)
			}
			rec := httptest.NewRecorder()
			began := time.Now()
			turn.handler.ServeHTTP(rec, r)
			took[turn.name] = append(took[turn.name], time.Since(began))
			if rec.Code != http.StatusOK {
				b.Fatalf("%s: %d", turn.name, rec.Code)
			}
		}
	}
	for name, all := range took {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-µs")
	}
	const signIns = 10
	people, err := crowded.people.People(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	listing := processorTime(b)
	if _, err := crowded.people.Out(b.Context(), people); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64((processorTime(b) - listing).Milliseconds()), "cpu-ms/standing-of-all")
	began := processorTime(b)
	for range signIns {
		p, err := crowded.people.CheckPassword(b.Context(), "p77@example.com", goodPassword)
		if err == nil {
			_, _, err = crowded.people.BeginSession(b.Context(), p, access.MethodPassword)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processorTime(b)-began).Milliseconds())/signIns, "cpu-ms/sign-in")
}

// recorderOf returns who recorded the first meeting of the sample.
func recorderOf(b *testing.B, s *site) string {
	row, err := s.archive.VisibleRow(b.Context(), owner().Viewer, s.ids[0])
	if err != nil {
		b.Fatal(err)
	}
	return row.RecordedBy.Email
}

// member adds a person and returns the secret of a session.
func (s *entrySite) member(t testing.TB, address string) string {
	p, _ := s.add(address, true)
	secret, _, err := s.people.BeginSession(t.Context(), p, access.MethodPassword)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// crowd adds people, whom the directory lists, and their sessions.
func (s *entrySite) crowd(b *testing.B, people, sessions int) {
	ctx := b.Context()
	var users []api.User
	for i := range people {
		users = append(users, api.User{Email: fmt.Sprintf("p%d@example.com", i+1), Status: api.StatusActive})
	}
	err := s.archive.PutUsers(ctx, "acme", users)
	if err != nil {
		b.Fatal(err)
	}
	db, err := sqlite.Open(ctx, filepath.Join(s.archive.Dir(), access.Name))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	head, err := s.archive.Head(ctx)
	if err != nil {
		b.Fatal(err)
	}
	for _, fill := range []string{`INSERT INTO people (name, admin, created_at) SELECT 'p' || i, 0, ?2 FROM n WHERE i <= ?1`,
		`INSERT INTO addresses (person, address, position) SELECT i, 'p' || i || '@example.com', 1 FROM n WHERE i <= ?1 AND ?2`,
		`INSERT INTO sessions (hash, person, method, epoch, created_at, seen_at, expires_at) SELECT randomblob(32), i % ?1 + 1, 'password', '` + head.Epoch + `', ?2, ?2, ?2 + 9e9 FROM n`,
	} {
		query := fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) `, sessions) + fill
		if _, err := db.W.ExecContext(ctx, query, people, s.now.Load().UnixMilli()); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.people.SetPassword(ctx, access.ActorCommand, 77, goodPassword, 0); err != nil {
		b.Fatal(err)
	}
	s.catchUp() // with the directory: until then every question looks through the changes that the index lacks
}

// processorTime returns the processor time that the process has taken.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
