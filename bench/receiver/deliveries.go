package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

var words = strings.Fields(`the we and to that it of in is you so have for on this but with can they are
	just like know think what about not there because time really meeting customer budget release
	quarter search archive transcript deadline hiring roadmap contract renewal pricing review`)

// wordOf is a word that is in one meeting alone.
func wordOf(id int64) string { return fmt.Sprint("mark", id) }

// meetingJSON is a meeting of about size bytes, whose words are its own.
func meetingJSON(id int64, size int) []byte {
	r := rand.New(rand.NewPCG(uint64(id), 7))
	type entry struct {
		Speaker   map[string]any `json:"speaker"`
		Text      string         `json:"text"`
		Timestamp string         `json:"timestamp"`
	}
	var entries []entry
	for have, second := 600, 0; have < size; second += 7 {
		var text []string
		for range 8 + r.IntN(20) {
			text = append(text, words[r.IntN(len(words))], fmt.Sprintf("x%d", r.IntN(9000)))
		}
		e := entry{map[string]any{"display_name": fmt.Sprint("Speaker ", r.IntN(5)), "matched_calendar_invitee_email": nil},
			strings.Join(text, " "), fmt.Sprintf("%02d:%02d:%02d", second/3600, second/60%60, second%60)}
		entries = append(entries, e)
		have += len(e.Text) + 110
	}
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(id) * time.Hour)
	raw, err := json.Marshal(map[string]any{
		"recording_id": id, "title": fmt.Sprintf("Meeting %d %s", id, wordOf(id)), "created_at": start.Add(time.Hour), "recording_start_time": start,
		"recording_end_time": start.Add(time.Hour), "url": fmt.Sprint("https://service.example/calls/", id), "transcript": entries,
	})
	if err != nil {
		panic(err) // maps, strings and numbers
	}
	return raw
}

// deliverySet is signed requests, made before the clock runs.
type deliverySet struct {
	requests [][2][]byte // head and body
	next     atomic.Int64
}

var lastID atomic.Int64

func newStock(n, size int) (*deliverySet, error) {
	var bodies [][]byte
	for k := range 32 {
		bodies = append(bodies, meetingJSON(int64(1_000_000+k), size))
	}
	return stockOf(n, bodies)
}

// stockOf signs n deliveries of the bodies in turn.
func stockOf(n int, bodies [][]byte) (*deliverySet, error) {
	key, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return nil, err
	}
	s := &deliverySet{}
	now := time.Now()
	for k := range n {
		body := bodies[k%len(bodies)]
		id := fmt.Sprintf("msg_%d_%d", now.UnixNano(), lastID.Add(1))
		signature, err := key.Sign(id, now, body)
		if err != nil {
			return nil, err
		}
		head := fmt.Sprintf("POST /webhooks/bench HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
			"Webhook-Id: %s\r\nWebhook-Timestamp: %d\r\nWebhook-Signature: %s\r\n\r\n", len(body), id, now.Unix(), signature)
		s.requests = append(s.requests, [2][]byte{[]byte(head), body})
	}
	return s, nil
}

// take returns the next request, or false when all are sent.
func (s *deliverySet) take() ([2][]byte, bool) {
	n := s.next.Add(1) - 1
	if n >= int64(len(s.requests)) {
		return [2][]byte{}, false
	}
	return s.requests[n], true
}
