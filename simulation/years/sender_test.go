package years

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/internal/loopback"
)

// delivery is a webhook message on its way to an account's address.
type delivery struct {
	account string
	id      string // webhook-id
	about   int64
	body    []byte
	tries   int
	again   bool // it is sent once more after it was acknowledged
}

// waits are the pauses between attempts.
var waits = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}

// commitTime is how long the receiver waits for its commit before it refuses a delivery, see
// docs/receiver.md.
const commitTime = 10 * time.Second

// sign is the header webhook-signature of Standard Webhooks.
func sign(secret, id string, at int64, body []byte) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", id, at, body)
	return "v1,bm9uZQ== v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// send makes an attempt, and plans the next one where it fails.
func (w *world) send(d *delivery) {
	w.reads.deliver(d.about)
	w.journalNote("webhook %s about %d to %s, attempt %d", d.id, d.about, d.account, d.tries+1)
	before := w.disk.cost("inbox.db")
	status, alive := w.post(d)
	isSlow := w.disk.cost("inbox.db")-before >= commitTime-time.Second
	if status/100 == 2 {
		w.journalNote("acknowledged %s", d.id)
		w.oracle.acknowledge(d, status)
		if d.again {
			d.again = false
			w.later(time.Duration(1+len(d.body)%7)*time.Hour, "send "+d.id+" again", func() { w.send(d) })
		}
		return
	}
	switch {
	case isSlow: // it may be stored, and is sent again
	case alive && status == 0:
		w.fail("the receiver did not answer delivery %s", d.id)
	case alive && w.mustTake(d):
		w.fail("the receiver answers %d to delivery %s, which is signed with the account's secret", status, d.id)
	}
	if d.tries++; d.tries <= len(waits) {
		w.later(waits[d.tries-1], "retry "+d.id, func() { w.send(d) })
	}
}

// mustTake reports whether the program has no reason to refuse a delivery: it was given the secret,
// its clock is no more than four minutes wrong, and its commits succeed.
func (w *world) mustTake(d *delivery) bool {
	h := w.house
	return time.Duration(w.skew.Load()).Abs() <= 4*time.Minute && !h.isSick() && !h.dead.Load() && slices.Contains(h.secrets[d.account], w.config.secrets[d.account])
}

// post sends a delivery to the receiver that runs now. Status 0: no answer.
func (w *world) post(d *delivery) (status int, alive bool) {
	h := w.house
	if h == nil || h.dead.Load() || h.receiver == nil {
		return 0, false
	}
	secret := w.config.secrets[d.account]
	if secret == "" {
		return 410, true
	}
	at := time.Now().Unix()
	req, err := http.NewRequest(http.MethodPost, "http://archive.test/webhooks/"+d.account, bytes.NewReader(d.body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("webhook-id", d.id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(at, 10))
	req.Header.Set("webhook-signature", sign(secret, d.id, at, d.body))
	client := &http.Client{Transport: &loopback.Transport{Handler: h.receiver.Handler()}, Timeout: 15 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return 0, true
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if h.dead.Load() { // it died before the answer left
		return 0, false
	}
	return resp.StatusCode, true
}

// announce sends the webhooks of a meeting whose content is ready.
func (w *world) announce(m *meeting) {
	if m.isMute || m.deleted || m.recorder.isOutside {
		return
	}
	for _, a := range w.config.accounts {
		p := w.org.person(a.email)
		if !w.org.sees(p, m) || m.sharing == "no_teams" && m.recorder != p && len(m.users) == 0 {
			continue
		}
		g := w.dice.roll(fmt.Sprintf("webhook %d %s", m.id, a.name))
		d := &delivery{account: a.name, id: fmt.Sprintf("msg_%d_%s", m.id, a.name), about: m.id, body: w.announced(a.email, m), again: g.IntN(5) == 0}
		w.later(time.Duration(g.IntN(90))*time.Second, "announce", func() { w.send(d) })
	}
}

// checkDeliveries compares the acknowledged deliveries. The content of an applied one has to be in
// the history from then on, also where a list has shown newer content before it was applied.
func (w *world) checkDeliveries() {
	ctx := context.Background()
	for _, name := range slices.Sorted(maps.Keys(w.oracle.acked)) {
		acc, id, _ := strings.Cut(name, " ")
		d, err := w.house.archive.Inbox().DeliveryOf(ctx, acc, id)
		if err != nil {
			w.fail("delivery %s was acknowledged: %v", name, err)
		}
		if d.State == "quarantined" {
			w.fail("delivery %s is in quarantine: %s", name, d.Reason)
		}
		if d.State == "applied" && !w.oracle.forgot[w.oracle.acked[name]] { // it can come later than the forgetting
			if _, err := w.house.archive.Row(ctx, w.oracle.acked[name]); err != nil {
				w.fail("delivery %s was applied, and meeting %d is not here: %v", name, w.oracle.acked[name], err)
			}
			for _, key := range w.oracle.content[name] {
				w.oracle.must[key] = true
			}
		}
	}
}

// checkApplied looks for acknowledged deliveries that still wait, at a quiet time.
func (w *world) checkApplied() {
	for _, name := range slices.Sorted(maps.Keys(w.oracle.acked)) {
		acc, id, _ := strings.Cut(name, " ")
		d, err := w.house.archive.Inbox().DeliveryOf(context.Background(), acc, id)
		w.must(err, "read a delivery")
		if d.State != "applied" {
			w.fail("delivery %s was acknowledged, and at a quiet time it is %s", name, d.State)
		}
	}
}
