package web

import (
	"fmt"
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
// is signed in, alone and among 10,000 people with 100,000 sessions, in turns, and
// measures the processor time of a sign-in among them. Its figures are medians.
func BenchmarkSignedIn(b *testing.B) {
	alone, small, crowded := newSampleSite(b), newEntrySite(b, nil), newEntrySite(b, nil)
	crowded.crowd(b, 10_000, 100_000)
	meeting := fmt.Sprintf("/api/v1/meetings/%d", alone.ids[0])
	recorder := recorderOf(b, alone)
	pages := []struct {
		name    string
		handler http.Handler
		cookie  string
	}{
		{"owner", alone.Config.Handler, ""},
		{"person", small.Config.Handler, small.member(b, recorder)},
		{"crowd", crowded.Config.Handler, crowded.member(b, recorder)},
	}
	took := map[string][]time.Duration{}
	for b.Loop() {
		for page, path := range map[string]string{"help": "/help", "meeting": meeting} {
			for _, p := range pages {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil)
				r.Host = "localhost"
				if p.cookie != "" {
					r.Header.Set("Cookie", "minutebook="+p.cookie)
				}
				rec := httptest.NewRecorder()
				began := time.Now()
				p.handler.ServeHTTP(rec, r)
				took[p.name+"/"+page] = append(took[p.name+"/"+page], time.Since(began))
				if rec.Code != http.StatusOK {
					b.Fatalf("%s of %s: %d", path, p.name, rec.Code)
				}
			}
		}
	}
	for name, all := range took {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-µs")
	}
	const signIns = 10
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
func (s *entrySite) member(b *testing.B, address string) string {
	p, _ := s.add(address, true)
	secret, _, err := s.people.BeginSession(b.Context(), p, access.MethodPassword)
	if err != nil {
		b.Fatal(err)
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
}

// processorTime returns the processor time that the process has taken.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
