package service

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Whoever queues much, or at endpoints that do not answer, is served in turn
// with others and not before them.
func TestNobodysQueueHoldsUpOthers(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	queue := func(owner string, n int) {
		t.Helper()
		for i := range n {
			c := callback{owner: owner, kind: "summary", url: fmt.Sprintf("https://%d.example/", i), recordingID: 1, body: []byte("{}"), at: s.clock.Now()}
			if err := s.store.queueCallback(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	queue("ann@acme.example", maxCallbacks)
	queue("bob@acme.example", 1)
	byOwner := map[string]int{}
	for _, o := range s.dueNow() {
		byOwner[o.owner]++
	}
	if byOwner["ann@acme.example"] != perEndpoint || byOwner["bob@acme.example"] != 1 {
		t.Errorf("due: %v, want %d of ann's and bob's", byOwner, perEndpoint)
	}
	for range 3 { // bob has webhooks, too
		hook := webhook{email: "bob@acme.example", url: "https://hooks.example/"}
		if err := s.store.putWebhook(t.Context(), &hook); err != nil {
			t.Fatal(err)
		}
		err := s.store.db.WriteTx(t.Context(), func(tx *sql.Tx) error {
			for id := range int64(perEndpoint) {
				if err := s.store.insertEvent(t.Context(), tx, hook, id+1, "pending", []byte("{}"), s.clock.Now()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	clear(byOwner)
	for _, o := range s.dueNow() {
		byOwner[o.owner]++
	}
	if byOwner["bob@acme.example"] != perOwner {
		t.Errorf("due: %v, want %d of bob's", byOwner, perOwner)
	}
	ann := s.key("ann@acme.example")
	const path, destination = "/recordings/1/download", "https://x.example/"
	for range 2 { // a call that is answered 429 is not counted
		a := s.get("/recordings/1/summary?destination_url="+destination, ann, http.StatusTooManyRequests)
		if a.header.Get("Retry-After") != "60" || a.header.Get("RateLimit-Remaining") != "30" {
			t.Errorf("%s, %v", a.body, a.header)
		}
		a = s.call(http.MethodPost, path, ann, `{"destination_url": "`+destination+`"}`)
		if a.status != http.StatusTooManyRequests || a.header.Get("RateLimit-Remaining") != "30" {
			t.Errorf("%d %s, %v", a.status, a.body, a.header)
		}
	}
	if a := s.get("/teams", ann, 200); a.header.Get("RateLimit-Remaining") != "59" {
		t.Errorf("%s calls are left, want 59", a.header.Get("RateLimit-Remaining"))
	}
	s.get("/recordings/1/summary?destination_url=https://x.example/", s.admin, 200)
}

// Due webhooks are found in the index: no row of the queue, and so no body, is
// read for one that is not sent now.
func TestTheQueueIsReadByItsIndex(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	rows, err := s.store.db.R.QueryContext(t.Context(), `EXPLAIN QUERY PLAN SELECT id, row_number() OVER (PARTITION BY owner ORDER BY next_at, id),
		row_number() OVER (PARTITION BY owner, webhook_id ORDER BY next_at, id) FROM deliveries WHERE state = 'pending' AND next_at <= ?`, 1)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := scanFourth(rows)
	if err != nil || !strings.Contains(plan, "COVERING INDEX deliveries_due") {
		t.Errorf("planned as %s: %v", plan, err)
	}
}

// scanFourth joins the fourth column of rows: the text of a query plan.
func scanFourth(rows *sql.Rows) (string, error) {
	defer rows.Close()
	var all []string
	for rows.Next() {
		var a, b, c int
		var text string
		if err := rows.Scan(&a, &b, &c, &text); err != nil {
			return "", err
		}
		all = append(all, text)
	}
	return strings.Join(all, "; "), rows.Err()
}

func TestAPersonHasSoManyWebhooks(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	ann := s.key("ann@acme.example")
	for range maxWebhooks {
		if err := s.store.putWebhook(t.Context(), &webhook{email: "ann@acme.example", url: "https://hooks.example/", createdAt: testStart}); err != nil {
			t.Fatal(err)
		}
	}
	const body = `{"destination_url": "https://hooks.example/", "triggered_for": ["my_recordings"], "include_summary": true}`
	if a := s.call(http.MethodPost, "/webhooks", ann, body); a.status != http.StatusBadRequest || !strings.Contains(string(a.body), "delete one first") {
		t.Errorf("one more: %d %s", a.status, a.body)
	}
	if a := s.call(http.MethodPost, "/webhooks", s.admin, body); a.status != http.StatusCreated {
		t.Errorf("another's: %d %s", a.status, a.body)
	}
}

// TestADeadEndpointHoldsUpNoOther queues events of two webhooks of one person, of which one
// has a long queue that is older.
func TestADeadEndpointHoldsUpNoOther(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	for i, url := range []string{"https://dead.example/", "https://alive.example/"} {
		hook := webhook{email: "bob@acme.example", url: url}
		if err := s.store.putWebhook(t.Context(), &hook); err != nil {
			t.Fatal(err)
		}
		err := s.store.db.WriteTx(t.Context(), func(tx *sql.Tx) error {
			for id := range int64(4 * perOwner) {
				if err := s.store.insertEvent(t.Context(), tx, hook, id+1, "pending", []byte("{}"), s.clock.Now().Add(time.Duration(i-1)*time.Hour)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	due := map[string]int{}
	for _, o := range s.dueNow() {
		due[o.url]++
	}
	if due["https://dead.example/"] != perEndpoint || due["https://alive.example/"] != perEndpoint {
		t.Errorf("due: %v, want %d of each", due, perEndpoint)
	}
}
