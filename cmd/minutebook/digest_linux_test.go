package main

import (
	"database/sql"
	"io"
	"mime/quotedprintable"
	"net/mail"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// digests returns the texts of the digests that came by mail.
func (k *kept) digests() (texts []string) {
	k.Helper()
	for _, each := range k.mails.Mails() {
		m, err := mail.ReadMessage(strings.NewReader(each.Data))
		if err != nil {
			k.Fatal(err)
		}
		body := m.Body
		if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
			body = quotedprintable.NewReader(body)
		}
		text, err := io.ReadAll(body)
		if err != nil {
			k.Fatal(err)
		}
		if title := m.Header.Get("Subject"); strings.Contains(title, " arrived, ") {
			texts = append(texts, title+"\n"+string(text))
		}
	}
	return texts
}

// lastDigest returns the archive's note of the last digests, "" where there is none.
func (k *kept) lastDigest() (state string) {
	k.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(k.data, "archive.db")+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		k.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(`SELECT value FROM marks WHERE key = 'notify/digest'`).Scan(&state); err != nil && err != sql.ErrNoRows {
		k.Fatal(err)
	}
	return state
}

// TestDigestOfADaemon makes years pass between two runs of a daemon: it sends one digest to
// each channel of digest_to, by mail and by webhook, with the meetings that arrived, and
// none again after it was killed.
func TestDigestOfADaemon(t *testing.T) {
	testrun.SkipUnderRace(t)
	k := newKept(t)
	k.digest = "digest = \"daily\"\ndigest_to = [\"mail\", \"pager\"]\n"
	k.write(true, "")
	k.start()
	var meetings int
	eventually(t, "all meetings are read, and the daemon notes since when digests count", func() (bool, any) {
		s := status(t, k.data)
		meetings = s.Meetings
		return s.Accounts[0].Backfilled && meetings > 0 && k.lastDigest() != "", s.Accounts
	})
	k.serve.stop()
	if got := k.digests(); len(got) != 0 {
		t.Fatalf("digests before a day is over: %q", got)
	}
	const long = "2020-01-01T00:00:00Z"
	k.damage(`UPDATE marks SET value = CAST(json_set(value, '$.mail.at', '` + long + `', '$.mail.seq', 0, '$.pager.at', '` + long + `', '$.pager.seq', 0) AS BLOB) WHERE key = 'notify/digest'`)
	k.start()
	eventually(t, "the daemon notes both digests", func() (bool, any) { return !strings.Contains(k.lastDigest(), long), k.serve.log() })
	sent := k.digests()
	if len(sent) != 1 || len(k.messages("digest")) != 1 {
		t.Fatalf("%d mails and %d webhooks, want one each", len(sent), len(k.messages("digest")))
	}
	if got := k.messages("digest")[0].Title; !strings.HasPrefix(sent[0], "Minutebook: "+got+"\n") {
		t.Errorf("mail and webhook differ: %q\n%s", got, sent[0])
	}
	if links := strings.Count(sent[0], k.serve.url+"/meetings/"); links < min(meetings, 50) || !strings.Contains(sent[0], "meetings arrived") {
		t.Errorf("the digest of %d meetings has %d links:\n%s", meetings, links, sent[0])
	}
	k.serve.cmd.Process.Kill()
	<-k.serve.ended
	k.set(func() { k.beats = 0 })
	k.start()
	eventually(t, "the daemon looks at what to tell", func() (ok bool, _ any) {
		k.set(func() { ok = k.beats > 0 })
		return ok, nil
	})
	k.serve.stop()
	if mails, hooks := len(k.digests()), len(k.messages("digest")); mails != 1 || hooks != 1 {
		t.Errorf("after another start there are %d mails and %d webhooks", mails, hooks)
	}
}
