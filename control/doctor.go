package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"minutebook/api"
	"minutebook/archive/media"
	"minutebook/internal/phrase"
)

// Severity says how soon a person must act on a [Finding].
type Severity string

// The severities, from the mildest on.
const (
	SeverityOK      Severity = "ok"
	SeverityNote    Severity = "note"    // good to know
	SeverityWarning Severity = "warning" // it works, and will not for long, or not well
	SeverityError   Severity = "error"   // something does not work
)

// Finding is a result of an examination.
type Finding struct {
	Subject  string   `json:"subject"` // such as clock, disk
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Remedy   string   `json:"remedy,omitempty"` // a sentence; "" where nothing needs doing
}

// DoctorRequest asks for an examination. Account calls, test deliveries and the calls of
// buckets are left out with Offline.
type DoctorRequest struct {
	Offline bool `json:"offline,omitempty"`
}

// DoctorResult has the findings of an examination.
type DoctorResult struct {
	Version  string    `json:"version"` // of the process that owns the archive
	Findings []Finding `json:"findings"`
	// Forwarders are the private addresses from which requests with X-Forwarded-For came since
	// the start, by the table of the listener: web or receiver.
	Forwarders map[string][]netip.Addr `json:"forwarders,omitempty"`
}

// The bounds between the severities.
const (
	skewWarning  = 10 * time.Second
	skewError    = 4 * time.Minute // deliveries of another minute are refused at five
	fsyncWarning = 50 * time.Millisecond
	fsyncTries   = 64
	accountTime  = 10 * time.Second // for the call of an account
	bucketTime   = 20 * time.Second // for the call of a bucket
)

// examination collects findings.
type examination struct {
	h        Deps
	findings []Finding
}

func (e *examination) add(subject string, s Severity, remedy, format string, args ...any) {
	e.findings = append(e.findings, Finding{Subject: subject, Severity: s, Text: fmt.Sprintf(format, args...), Remedy: remedy})
}

// examine looks at everything that only the owner of the archive can see. A failure is
// a finding.
func (h Deps) examine(ctx context.Context, q DoctorRequest, _ Emit) (*DoctorResult, error) {
	e := &examination{h: h}
	e.examineState(ctx)
	e.examineDatabases(ctx)
	e.examineDisk(ctx)
	e.examineMedia(ctx, q.Offline)
	e.examineBackupPlace(ctx, q.Offline)
	if e.examineLocks(ctx, lockPatience) && !q.Offline {
		e.examineAccounts(ctx)
		e.examineDeliveries(ctx)
	}
	result := &DoctorResult{Version: h.Version, Findings: e.findings}
	if h.Forwarders != nil {
		result.Forwarders = h.Forwarders()
	}
	return result, ctx.Err()
}

// examineState looks at the archive, the index and the sync.
func (e *examination) examineState(ctx context.Context) {
	s, err := e.h.status(ctx, StatusRequest{}, nil)
	if err != nil {
		e.add("archive", SeverityError, RemedyOf(err), "it cannot be read: %v", err)
		return
	}
	e.judgeState(s, e.h.Archive.Now())
	e.examineOrganisations(ctx, s)
	e.examineIndexFolder(s.Running)
}

// examineIndexFolder looks for the folder of the index beneath a daemon.
func (e *examination) examineIndexFolder(running bool) {
	if _, err := os.Stat(filepath.Join(e.h.Archive.Dir(), "index")); running && errors.Is(err, fs.ErrNotExist) {
		e.add("index", SeverityWarning, "restart the daemon, or wait for the next meeting: it builds the index anew from the archive", "its folder was removed under the daemon")
	}
}

// judgeState adds the findings of a status.
func (e *examination) judgeState(s *StatusResult, now time.Time) {
	e.add("archive", SeverityOK, "", "%s, %d with a transcript, %d with a recording", phrase.Meetings(s.Meetings), s.WithTranscript, s.WithRecording)
	switch {
	case !s.Running && s.Indexed < s.Meetings:
		e.add("index", SeverityNote, "minutebook serve, or the next search, completes it", "%d of %s indexed", s.Indexed, phrase.Count(s.Meetings, "meeting is", "meetings are"))
	case s.Rebuilding:
		e.add("index", SeverityNote, "", "it is being built anew: %s", s.RebuildReason)
	case s.Indexed < s.Meetings:
		e.add("index", SeverityWarning, "wait; if the number stays, run `minutebook verify --repair`", "%d of %s indexed", s.Indexed, phrase.Count(s.Meetings, "meeting is", "meetings are"))
	default:
		e.add("index", SeverityOK, "", "%s indexed", phrase.Meetings(s.Indexed))
	}
	if s.Forgetting > 0 {
		remedy := "see the log, or run `minutebook forget` again"
		if len(s.ForgettingLogs) > 0 {
			remedy = "end the program that reads " + strings.Join(s.ForgettingLogs, ", ") + ", such as Litestream or sqlite3"
		}
		e.add("forgetting", SeverityWarning, remedy, "%s not wholly erased yet", phrase.Count(s.Forgetting, "forgotten meeting is", "forgotten meetings are"))
	}
	if !s.Running {
		e.add("daemon", SeverityWarning, "start it: minutebook serve", "no daemon is running: nothing is received and fetched")
	}
	if n := s.Inbox.Quarantined; n > 0 {
		e.add("deliveries", SeverityWarning, "look at them: minutebook webhook quarantine", "%s in quarantine", phrase.Count(n, "delivery is", "deliveries are"))
	}
	if r := s.Receiver; r != nil && r.Refused[http.StatusUnauthorized] > 0 {
		severity := SeverityNote // anybody may call a public address
		if r.Refused[http.StatusUnauthorized] > r.Accepted+r.Duplicates {
			severity = SeverityWarning
		}
		e.add("deliveries", severity, "where the service sent them: correct webhook_secrets, `minutebook webhook rotate ACCOUNT`, or set the clock",
			"since the start %s refused: signed by no secret that is known here, or for another minute", phrase.Count(r.Refused[http.StatusUnauthorized], "was", "were"))
	}
	for _, a := range s.Accounts {
		if a.Suspended != "" {
			e.add("account "+a.Name, SeverityError, "what the reason says", "the service refuses it since %s: %s", formatUTC(a.SuspendedSince), a.Suspended)
		}
		if a.OpenFailures > 0 {
			e.add("account "+a.Name, SeverityWarning, "see `minutebook status`", "%s tried again", phrase.Count(a.OpenFailures, "call fails and is", "calls fail and are"))
		}
	}
	e.examineImports(s)
	e.examineRetention(s)
	if s.Downloads.Paused != "" {
		e.add("recordings", SeverityWarning, "see `minutebook status`", "no recording is fetched: %s", s.Downloads.Paused)
	}
	for _, p := range s.Problems {
		e.add("sync", SeverityWarning, "see the log", "%s", p)
	}
	e.examineUpkeep(s, now)
	e.examineChannels(s)
	if c := s.Configuration; c != nil && len(c.NeedsRestart) > 0 {
		e.add("configuration", SeverityWarning, "restart the daemon", "the daemon runs with other values of %s", strings.Join(c.NeedsRestart, ", "))
	}
}

// examineMedia asks the store of recordings whether it can be used: a bucket unless offline.
func (e *examination) examineMedia(ctx context.Context, offline bool) {
	store := e.h.Archive.Media()
	if offline && media.Dir(store) == "" {
		return
	}
	err := media.Check(ctx, store)
	if err == nil {
		e.add("store of recordings", SeverityOK, "", "it can be used")
		e.examineOtherDisk("store of recordings", e.h.Archive.MediaDir())
		return
	}
	e.add("store of recordings", SeverityError, "correct the reason, or [media] url: recordings are neither played nor stored until then, and none is lost", "it cannot be used: %v", err)
}

// examineAccounts makes a call for each account, all at once: each may take its time.
func (e *examination) examineAccounts(ctx context.Context) {
	each := make([]examination, len(e.h.Webhooks.Accounts))
	var all sync.WaitGroup
	for i, account := range e.h.Webhooks.Accounts {
		each[i].h = e.h
		all.Go(func() { each[i].examineAccount(ctx, account) })
	}
	all.Wait()
	for _, a := range each {
		e.findings = append(e.findings, a.findings...)
	}
}

// examineAccount makes one cheap call, from the account's own budget. A failure is not
// tried again, since a person waits.
func (e *examination) examineAccount(ctx context.Context, account string) {
	subject := "account " + account
	client, err := e.h.Webhooks.Client(ctx, account)
	if err != nil {
		e.add(subject, SeverityError, "correct the configuration", "it cannot be used: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(api.WithoutRepetition(api.WithPriority(ctx, api.PriorityPerson)), accountTime)
	defer cancel()
	page, err := client.MeetingTypesPage(ctx, "")
	refused := refusedUntil(ctx, client)
	switch {
	case err == nil:
		e.add(subject, SeverityOK, "", "the service answers")
		e.examineClock(page.Date, page.AnsweredAt)
	case !refused.IsZero() && (errors.Is(err, context.DeadlineExceeded) || api.IsBlocked(err)):
		e.add(subject, SeverityWarning, "wait; does another program call it with the same key? Where its limits were reset: minutebook sync --resume --account "+account, "the service asks not to be called before %s (429)", formatUTC(refused))
	case errors.Is(err, context.DeadlineExceeded):
		e.add(subject, SeverityWarning, "is base_url right, and the network there? The call may also wait for the account's budget", "%s", noAnswer(client.Repeated()))
	case api.IsAccountRefused(err) && !api.IsNotFound(err):
		remedy := "give it a valid key (api_key, api_key_file)"
		if slices.Contains(e.h.OAuthAccounts(), account) {
			remedy = "check its app ([accounts.oauth] client_id and client_secret), or connect it again: minutebook auth login " + account
		}
		e.add(subject, SeverityError, remedy, "the service refuses it: %v", err)
	case api.IsTemporary(err):
		e.add(subject, SeverityWarning, "is base_url right, and the network there? Where the service fails itself (5xx), only waiting helps", "the call fails: %v", err)
	default:
		e.add(subject, SeverityError, "check base_url, which ends in /external/v1, and that its user is active", "the call fails: %v", err)
	}
}

// refusedUntil returns the time before which the service refuses the calls of a client, or zero.
// The time of the calls themselves comes first in the order of the classes: a time of the token
// endpoint, which may be later, keeps a call waiting only where the token has to be renewed.
func refusedUntil(ctx context.Context, client *api.Client) time.Time {
	used, err := client.Usage(context.WithoutCancel(ctx))
	for _, u := range used {
		if err == nil && !u.Blocked.IsZero() {
			return u.Blocked
		}
	}
	return time.Time{}
}

// noAnswer says that a call was given up, and why its last try failed, if one did.
func noAnswer(last error) string {
	if last == nil {
		return fmt.Sprintf("no answer within %s", accountTime)
	}
	return fmt.Sprintf("no answer within %s (the last error: %v)", accountTime, last)
}

// examineClock compares this machine's clock with the service's.
func (e *examination) examineClock(service, here time.Time) {
	if service.IsZero() {
		return
	}
	skew := here.Sub(service).Abs().Round(time.Second)
	switch {
	case skew > skewError:
		e.add("clock", SeverityError, "set the clock (systemd-timesyncd, chrony): deliveries are refused", "it is %s away from the service's", skew)
	case skew > skewWarning:
		e.add("clock", SeverityWarning, "set the clock (systemd-timesyncd, chrony)", "it is %s away from the service's", skew)
	default:
		e.add("clock", SeverityOK, "", "it agrees with the service's")
	}
}

// examineDeliveries sends a delivery to itself by the public address.
func (e *examination) examineDeliveries(ctx context.Context) {
	w := e.h.Webhooks
	if w.PublicURL == "" {
		e.add("deliveries", SeverityNote, "set [receiver] listen and public_url to receive meetings at once", "no public address is configured: new meetings come with the schedule")
		return
	}
	if w.Refresh == nil {
		return // no daemon: said already
	}
	for _, account := range w.Accounts {
		if _, err := w.latestSecret(ctx, account); err != nil {
			e.add("deliveries", SeverityNote, "minutebook webhook create "+account, "account %s has no webhook", account)
			continue
		}
		if _, err := w.test(ctx, WebhookRequest{Account: account}, func(any) error { return nil }); err != nil {
			e.add("deliveries", SeverityError, "check the name, the certificate and the proxy of "+w.PublicURL, "a delivery to this archive by its public address does not arrive: %v", err)
		} else {
			e.add("deliveries", SeverityOK, "", "a delivery by %s arrives", w.PublicURL)
		}
		return // one address, one test
	}
}
