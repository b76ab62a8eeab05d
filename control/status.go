package control

import (
	"context"
	"fmt"
	"time"

	"minutebook/archive"
	"minutebook/internal/notify"
	"minutebook/receiver"
	"minutebook/service"
	syncer "minutebook/sync"
)

// StatusResult is the form of `status --json`.
type StatusResult struct {
	Version        string `json:"version"`
	Running        bool   `json:"running"` // a daemon owns the archive
	Meetings       int    `json:"meetings"`
	WithTranscript int    `json:"with_transcript"`
	WithSummary    int    `json:"with_summary"`
	WithRecording  int    `json:"with_recording"`
	Gone           int    `json:"gone"`
	NotWatched     int    `json:"not_watched"` // of accounts and list queries that left the configuration
	Indexed        int    `json:"indexed"`
	Rebuilding     bool   `json:"rebuilding"` // the index is being built anew
	RebuildReason  string `json:"rebuild_reason,omitempty"`
	// Forgetting are the meetings whose erasure is unfinished, and ForgettingLogs the
	// databases whose logs it waits for.
	Forgetting     int      `json:"forgetting"`
	ForgettingLogs []string `json:"forgetting_logs,omitempty"`
	// Receiver counts since the daemon's start; absent where none listens.
	Receiver *receiver.Counts `json:"receiver,omitempty"`
	// Service is the state of the service; absent where none runs.
	Service *service.State `json:"service,omitempty"`
	// Moved are the meetings that a retention rule deletes from soon, since the service has
	// changed their team, type or start.
	Moved *archive.MovedMeetings `json:"-"`
	// MovedUnknown says that there are rules, and that nobody has looked for such meetings yet.
	MovedUnknown bool `json:"-"`
	// Retention is the state of the rules; absent where there are none.
	Retention *archive.RetentionHold `json:"retention,omitempty"`
	// Configuration is that of the daemon; absent without one, or where it neither has a file nor finds a first one.
	Configuration *ConfigurationState `json:"configuration,omitempty"`
	// Upkeep is the state of backups, their proofs and the checks, by job.
	Upkeep    map[string]UpkeepState `json:"upkeep"`
	Disk      Disk                   `json:"disk"`
	Databases map[string]int64       `json:"databases"` // sizes in bytes, by name
	// IndexSize and RecordingsSize are bytes, of recordings wherever they are.
	IndexSize      int64 `json:"index_size"`
	RecordingsSize int64 `json:"recordings_size"`
	Sessions       int   `json:"sessions"` // of people who are signed in
	// Notify are the states of the daemon's channels to people.
	Notify []notify.ChannelState `json:"notify,omitempty"`
	// Activities are the long operations that run now.
	Activities []Activity `json:"activities"`
	syncer.Status
}

// ClockSkew returns how far this machine's clock is away from the service's, 0 when that is
// not known or too little to be wrong.
func (s *StatusResult) ClockSkew() time.Duration {
	if s.Clock == nil {
		return 0
	}
	if skew := time.Duration(s.Clock.AheadSeconds * float64(time.Second)).Abs().Round(time.Second); skew > skewWarning {
		return skew
	}
	return 0
}

// Disk is the space of the file system with the data directory, in bytes.
type Disk struct {
	Free int64 `json:"free"`
	Size int64 `json:"size"`
	// FullAt is when it is full if it goes on filling as in the last days; zero: not
	// known, or not within a year.
	FullAt time.Time `json:"full_at,omitzero"`
}

// StatusRequest asks for the state of everything.
type StatusRequest struct {
	// Shown says that a person reads the answer, for which new retention rules wait.
	Shown bool `json:"shown,omitempty"`
}

// status counts the kept meetings and the open work. It never calls the service.
func (h Deps) status(ctx context.Context, q StatusRequest, _ Emit) (*StatusResult, error) {
	s, err := h.Observe(ctx)
	if err != nil {
		return nil, err
	}
	if s.Retention, err = h.retentionHold(ctx, q.Shown); err != nil {
		return nil, fmt.Errorf("look at the retention rules: %w", err)
	}
	if s.Retention != nil {
		s.Moved = s.Retention.Moved // known without a daemon too
	}
	coverage, err := h.Archive.Coverage(ctx)
	if err != nil {
		return nil, err
	}
	for i := range s.Accounts {
		s.Accounts[i].Coverage = coverage[s.Accounts[i].Name]
	}
	return s, nil
}

// Observe is status for programs: new retention rules are not taken for shown, and
// the meetings of each account are not counted.
func (h Deps) Observe(ctx context.Context) (*StatusResult, error) {
	counts, err := h.Archive.Counts(ctx)
	if err != nil {
		return nil, fmt.Errorf("count meetings: %w", err)
	}
	look := h.IndexState
	if look == nil {
		look = h.Index
	}
	index, err := look(ctx)
	if err != nil {
		return nil, err
	}
	s, err := h.Syncer(ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the state of the sync: %w", err)
	}
	p := index.Progress()
	r := &StatusResult{
		Version: h.Version, Running: h.Running,
		Meetings: counts.Meetings, WithTranscript: counts.WithTranscript, WithSummary: counts.WithSummary,
		WithRecording: counts.WithRecording, Gone: counts.Gone, NotWatched: counts.NotWatched,
		Indexed: p.Indexed, Rebuilding: p.Rebuilding, RebuildReason: p.Reason, Moved: h.Archive.MovedMeetings(), MovedUnknown: len(h.Retention) > 0 && !h.Archive.KnowsMoved(), Configuration: h.showConfiguration(), Status: now, Activities: h.Activities.List(),
	}
	return r, h.observeParts(ctx, r)
}

// observeParts adds the state of the parts beside the archive, the index and the sync.
func (h Deps) observeParts(ctx context.Context, r *StatusResult) (err error) {
	if r.Forgetting, r.ForgettingLogs, err = h.Archive.Forgetting(ctx); err != nil {
		return fmt.Errorf("look for unfinished erasures: %w", err)
	}
	if h.Received != nil {
		c := h.Received()
		r.Receiver = &c
	}
	if h.ServiceState != nil {
		if r.Service, err = h.ServiceState(ctx); err != nil {
			return err
		}
	}
	if r.Disk, err = h.disk(ctx); err != nil {
		return err
	}
	if h.Channels != nil {
		r.Notify = h.Channels()
	}
	r.Databases, r.IndexSize = databaseSizes(h.Archive.Dir()), h.Archive.IndexSize()
	if r.RecordingsSize, err = h.Archive.MediaSize(ctx); err != nil {
		return err
	}
	if r.Sessions, err = h.countSessions(ctx); err != nil {
		return err
	}
	r.Upkeep, err = h.upkeep(ctx)
	return err
}

// countSessions counts the open sessions of people in a daemon.
func (h Deps) countSessions(ctx context.Context) (n int, err error) {
	if h.Access == nil || !h.Running {
		return 0, nil
	}
	people, err := h.Access(ctx)
	if err != nil {
		return 0, err
	}
	return people.CountSessions(ctx)
}

// upkeep returns the state of all jobs of upkeep.
func (h Deps) upkeep(ctx context.Context) (map[string]UpkeepState, error) {
	next := map[string]time.Time{}
	if h.Upkeep != nil {
		next = h.Upkeep()
	}
	jobs := map[string]UpkeepState{}
	for _, job := range []string{UpkeepBackup, UpkeepProve, UpkeepVerify} {
		u, err := h.UpkeepState(ctx, job)
		if err != nil {
			return nil, err
		}
		u.Next = next[job]
		jobs[job] = u
	}
	return jobs, nil
}
