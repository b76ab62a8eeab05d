package web

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/inbox"
	syncer "minutebook/sync"
	"minutebook/web/access"
)

// mostOpen is how many downloads and quarantined deliveries the status lists.
const mostOpen = 20

// operationsJSON is the work of the daemon, for admins.
type operationsJSON struct {
	Indexed     int                    `json:"indexed"`
	Inbox       inbox.Counts           `json:"inbox"`
	Quarantined []deliveryJSON         `json:"quarantined"`
	Downloads   syncer.DownloadStatus  `json:"downloads"`
	InProgress  []downloadJSON         `json:"in_progress"`
	Activities  []activityJSON         `json:"activities"`
	Upkeep      map[string]upkeepJSON  `json:"upkeep"`
	Disk        diskJSON               `json:"disk"`
	Problems    []string               `json:"problems"`
	Retention   *archive.RetentionHold `json:"retention,omitempty"`
	Versions    versionsJSON           `json:"versions"`
}

// deliveryJSON is a quarantined delivery.
type deliveryJSON struct {
	ID         int64     `json:"id"`
	Account    string    `json:"account"`
	Kind       string    `json:"kind"`
	ReceivedAt time.Time `json:"received_at"`
	Reason     string    `json:"reason"`
}

// downloadJSON is a recording that is being fetched. A meeting that the admin does not
// see has no number and no title.
type downloadJSON struct {
	RecordingID int64                 `json:"recording_id,omitempty"`
	Title       string                `json:"title"`
	State       archive.DownloadState `json:"state"`
	Account     string                `json:"account"`
	Fetched     int64                 `json:"fetched_bytes"`
	Size        int64                 `json:"size_bytes"` // 0: not known
}

// diskJSON is the space on the disk of the data directory, in bytes. FullAt is when it
// will be full at the present pace, zero while that is not known or far.
type diskJSON struct {
	Free   int64     `json:"free"`
	Size   int64     `json:"size"`
	FullAt time.Time `json:"full_at,omitzero"`
}

// Used returns the bytes that are taken.
func (d diskJSON) Used() int64 { return d.Size - d.Free }

// upkeepJSON is the state of backups, of their proofs, or of the checks.
type upkeepJSON struct {
	Began     time.Time   `json:"began,omitzero"`
	Succeeded time.Time   `json:"succeeded,omitzero"`
	Seconds   float64     `json:"seconds,omitempty"`
	Error     string      `json:"error,omitempty"`
	Result    string      `json:"result,omitempty"`
	Warnings  []string    `json:"warnings,omitempty"`
	Next      time.Time   `json:"next,omitzero"`
	Slices    int         `json:"slices,omitempty"`
	Slice     int         `json:"slice,omitempty"`
	Whole     time.Time   `json:"whole,omitzero"`
	Damages   map[int]int `json:"damages,omitempty"`
}

// activityJSON is a long operation that runs now.
type activityJSON struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
	Stage string    `json:"stage,omitempty"`
	Done  int       `json:"done,omitempty"`
	Total int       `json:"total,omitempty"` // 0: unknown
}

// versionsJSON holds the version of the running program, and the version of Go and the
// platform that it was built for.
type versionsJSON struct {
	Minutebook string `json:"minutebook"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

// readOperations returns the work of the daemon for an admin.
func (s *server) readOperations(ctx context.Context, state *daemonState) (*operationsJSON, error) {
	o := &operationsJSON{Indexed: s.Index.Progress().Indexed, Inbox: state.Inbox, Downloads: state.Downloads,
		Problems: append([]string{}, state.Problems...), Retention: state.Retention, Quarantined: []deliveryJSON{}, InProgress: []downloadJSON{},
		Versions: versionsJSON{s.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}}
	o.Activities, o.Disk, o.Upkeep = append([]activityJSON{}, state.Activities...), state.Disk, map[string]upkeepJSON{}
	o.Disk.Free -= o.Disk.Free % diskStep
	maps.Copy(o.Upkeep, state.Upkeep)
	list, err := s.Archive.Inbox().List(ctx, inbox.Query{State: inbox.StateQuarantined, Limit: mostOpen})
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		reason, err := s.reasonOf(ctx, d)
		if err != nil {
			return nil, err
		}
		o.Quarantined = append(o.Quarantined, deliveryJSON{d.ID, d.Account, d.Kind, d.ReceivedAt, reason})
	}
	o.InProgress, err = s.readDownloads(ctx, o.InProgress)
	return o, err
}

// misaddressed is the reason of a callback that says it is about another recording than its
// address was given for.
var misaddressed = regexp.MustCompile(`(?s)^(it is about) recording (.*), and (its address was given for) [0-9]+$`)

// reasonOf returns why a delivery is in quarantine, without the meetings that the visitor does not
// see. The fault itself stays: admins need it also where nobody sees the meeting yet.
func (s *server) reasonOf(ctx context.Context, d inbox.Delivery) (string, error) {
	about := []int64{d.RecordingID}
	if m := misaddressed.FindStringSubmatch(d.Reason); m != nil {
		other, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			other = -1 // which nobody sees: it may be any text
		}
		about = append(about, other)
	}
	for _, id := range about {
		if hidden, err := s.isHidden(ctx, id); err != nil {
			return "", err
		} else if hidden {
			return withoutMeeting(d.Reason, d.RecordingID), nil
		}
	}
	return d.Reason, nil
}

// withoutMeeting takes the numbers of meetings out of the reason of a delivery about one.
func withoutMeeting(reason string, id int64) string {
	number := strconv.FormatInt(id, 10)
	reason = misaddressed.ReplaceAllString(reason, "$1 another recording than $3")
	reason = strings.ReplaceAll(reason, "apply observation of "+number+": ", "")
	return regexp.MustCompile(`\b`+number+`\b`).ReplaceAllLiteralString(reason, "…")
}

// readDownloads adds the recordings that are being fetched.
func (s *server) readDownloads(ctx context.Context, list []downloadJSON) ([]downloadJSON, error) {
	open, err := s.Archive.OpenDownloads(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range open[:min(len(open), mostOpen)] {
		item := downloadJSON{Title: "a meeting", State: d.State, Account: d.Account, Fetched: d.Fetched, Size: d.Size}
		hidden, err := s.isHidden(ctx, d.RecordingID)
		if err != nil {
			return nil, err
		}
		if !hidden {
			rows, err := s.Archive.Rows(ctx, []int64{d.RecordingID})
			if err != nil {
				return nil, err
			}
			for _, row := range rows {
				item.RecordingID, item.Title = row.RecordingID, row.Title
			}
		}
		list = append(list, item)
	}
	return list, nil
}

// upkeepNames are the labels of the jobs of upkeep in the order of the page.
var upkeepNames = []struct{ key, name string }{{"backup", "Backup"}, {"prove", "Backup read back"}, {"verify", "Check of the archive"}}

// upkeepView is a job of upkeep on the page.
type upkeepView struct {
	Name    string
	Running bool
	upkeepJSON
}

// Damaged returns the number of damages that the checks have left.
func (u upkeepJSON) Damaged() (n int) {
	for _, each := range u.Damages {
		n += each
	}
	return n
}

// Jobs returns the jobs of upkeep that have run or will.
func (o *operationsJSON) Jobs() (views []upkeepView) {
	for _, u := range upkeepNames {
		if job := o.Upkeep[u.key]; !job.Began.IsZero() || !job.Next.IsZero() {
			running := slices.ContainsFunc(o.Activities, func(a activityJSON) bool { return a.Name == u.key })
			views = append(views, upkeepView{u.name, running, job})
		}
	}
	return views
}

// diskStep is the precision of the free space: it changes all the time, and the status
// would with it.
const diskStep = 64 << 20

// runJob begins a job of an account now, for an admin.
func (s *server) runJob(ctx context.Context, account, job string) error {
	if s.Run == nil {
		return &failure{http.StatusNotFound, "No program that reads the service runs here."}
	}
	if s.CheckJob != nil && s.CheckJob(account, job) != nil {
		return &failure{http.StatusNotFound, "There is no such job."}
	}
	if err := s.recordChange(ctx, access.JobStarted, access.IDs{Account: account, Job: job}); err != nil {
		return err
	}
	return s.Run(account, job)
}

// jobButton is a button that runs a job now.
type jobButton struct{ Account, Job, Label string }

// Name returns the job as the page names it.
func (b jobButton) Name() string {
	for _, j := range jobNames {
		if j.key == b.Job {
			return j.name
		}
	}
	return b.Job
}

// replayDelivery has a delivery applied again, for an admin.
func (s *server) replayDelivery(ctx context.Context, name string) error {
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return errNoDelivery
	}
	box := s.Archive.Inbox()
	if _, err := box.Delivery(ctx, id); errors.Is(err, inbox.ErrNoDelivery) {
		return errNoDelivery
	} else if err != nil {
		return err
	}
	if err := s.recordChange(ctx, access.DeliveryReplayed, access.IDs{Delivery: id}); err != nil {
		return err
	}
	err = box.Replay(ctx, id)
	if errors.Is(err, inbox.ErrBodyDropped) {
		return &failure{http.StatusConflict, "The body of this delivery is no longer kept: run a job that reads the meeting again."}
	}
	return err
}

var errNoDelivery = &failure{http.StatusNotFound, "There is no such delivery."}

// recordChange writes an admin's change into the audit before it is made.
func (s *server) recordChange(ctx context.Context, kind access.EventKind, ids access.IDs) error {
	if s.Record == nil {
		return nil
	}
	return s.Record(ctx, access.Event{Actor: visitorOf(ctx).Actor(), Kind: kind, IDs: ids})
}

// postJob answers the button that runs a job.
func (s *server) postJob(w http.ResponseWriter, r *http.Request) error {
	if err := s.runJob(r.Context(), r.PostForm.Get("account"), r.PostForm.Get("job")); err != nil {
		return err
	}
	return s.seeOther(w, r, "/status")
}

// postReplay answers the button that replays a delivery.
func (s *server) postReplay(w http.ResponseWriter, r *http.Request) error {
	if err := s.replayDelivery(r.Context(), r.PostForm.Get("delivery")); err != nil {
		return err
	}
	return s.seeOther(w, r, "/status")
}

// apiRunJob is postJob for programs.
func (s *server) apiRunJob(w http.ResponseWriter, r *http.Request) error {
	if err := s.runJob(r.Context(), r.PathValue("account"), r.PathValue("job")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// apiReplay is postReplay for programs.
func (s *server) apiReplay(w http.ResponseWriter, r *http.Request) error {
	if err := s.replayDelivery(r.Context(), r.PathValue("delivery")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
