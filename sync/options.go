package syncer

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
)

// Account is one person's access to the service.
type Account struct {
	Name   string
	Client *api.Client
	// RecordedBy and Teams name recorders outside the organisation, and teams, whose
	// meetings are listed by separate queries: the plain list leaves them out
	// (specification 4.1).
	RecordedBy []string
	Teams      []string
	// OAuth accounts may not read content with the list (specification 5.7).
	OAuth bool
	// AllowPrivate lets recordings of this account be fetched from addresses that
	// are not globally routable.
	AllowPrivate bool
	// Remedy tells a person how to renew an account that the service refuses; ""
	// means that its key stands in the configuration.
	Remedy string
}

// Options configure a [Syncer]. Archive is required.
type Options struct {
	Archive  *archive.Archive
	Accounts []Account // until SetAccounts names others
	Schedule Schedule
	// PublicURL is the address at which the service reaches the receiver. If it is
	// set, callbacks announce downloads, which are polled seldom.
	PublicURL string
	// MediaHTTP fetches recordings. nil means clients of this package, which connect
	// to globally routable addresses, and to others only if they are allowed.
	MediaHTTP     *http.Client
	DownloadMedia bool // fetch the recordings of all meetings
	// MinFree is how many bytes stay free on the disk; with less, downloads wait.
	MinFree int64
	// Fetchers is how many recordings are fetched at a time; 0 means 2.
	Fetchers int
	// Cursors is how many windows of one walk are read at a time; 0 means 6.
	Cursors int
	Now     func() time.Time // nil: time.Now
	Logger  zerolog.Logger
}

// Syncer reads the service into an archive. It is safe for concurrent use: a
// command's [Syncer.Sync] and the daemon's [Syncer.Run] share the accounts, and
// no job runs twice at a time for an account.
type Syncer struct {
	opt       Options
	archive   *archive.Archive
	accounts  *accountSet
	schedule  *schedule
	content   *contentQueue
	downloads *downloader
	// now is the time on the wall, without a monotonic reading, which stands still while the
	// machine sleeps and does not notice that the clock is set. Only opt.Now measures how long
	// something takes.
	now          func() time.Time
	log          zerolog.Logger
	problems     problems
	readingLists sync.Map                    // of semaphores of 1 by the names of the directory's lists, held while an account reads one
	clock        atomic.Pointer[ClockStatus] // by the last page of a list; nil before
}

// New checks the options and returns a Syncer that has done nothing yet. It
// fails if an account is incomplete or occurs twice, and if an expression of
// the schedule does not parse or never fires.
func New(o Options) (*Syncer, error) {
	if o.Archive == nil {
		return nil, errors.New("start sync: no archive is given")
	}
	tables, err := o.Schedule.parse()
	if err != nil {
		return nil, err
	}
	if o.PublicURL != "" {
		if u, err := url.Parse(o.PublicURL); err != nil || u.Host == "" {
			return nil, errors.New("start sync: the public address is not valid; set receiver.public_url")
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Fetchers <= 0 {
		o.Fetchers = 2
	}
	if o.Cursors <= 0 {
		o.Cursors = 6
	}
	s := &Syncer{opt: o, archive: o.Archive, schedule: newSchedule(tables), now: func() time.Time { return o.Now().Round(0) }, log: o.Logger, content: newContentQueue(), accounts: newAccountSet()}
	if err := s.accounts.replace(o.Accounts, s.now()); err != nil {
		return nil, fmt.Errorf("start sync: %w", err)
	}
	s.downloads = newDownloader(s)
	s.archive.OnForget("sync", s.forget)
	return s, nil
}

// account returns the account of that name, nil when there is none.
func (s *Syncer) account(name string) *account {
	list, _ := s.accounts.all()
	for _, a := range list {
		if a.Name == name {
			return a
		}
	}
	return nil
}
