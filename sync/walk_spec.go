package syncer

import (
	"fmt"
	"time"

	"minutebook/api"
)

// The kinds of walk. Each has a state of its own for every account and list query.
const (
	kindBackfill = "backfill" // the full history, once
	kindFull     = "full"     // the full history again, on request
	kindSince    = "since"    // from a day on, on request
	kindLight    = "light"    // everything, without content
	kindRecent   = "recent"   // the content of the last days again
	kindNew      = "new"      // meetings created since the last catch-up
)

// walkSpec describes a walk to be made.
type walkSpec struct {
	kind    string
	account *account
	list    listQuery
	content bool // with transcripts and summaries
	reread  bool // read content again that the archive has
	spare   bool // only calls that nothing else wants
	after   time.Time
	before  time.Time // fixed when the walk begins
	survey  bool      // find out how meetings are spread over time, and divide the walk
}

// key is the key of the mark of the walk's state; its windows' keys begin with
// it.
func (o walkSpec) key() string {
	return o.account.markKey("sync/walk/"+o.kind) + "/" + o.list.Name
}

// windowKey is the key of the mark of a walk's nth window.
func windowKey(key string, n int) string { return fmt.Sprintf("%s/w/%04d", key, n) }

// judgesAbsence reports whether the walk lists everything, so that meetings
// missing from it were removed upstream.
func (o walkSpec) judgesAbsence() bool { return o.kind == kindLight || o.kind == kindFull }

// isInline reports whether pages carry content. Those for an OAuth connection never do.
func (o walkSpec) isInline() bool { return o.content && !o.account.OAuth }

// apiQuery returns the query for meetings created between two times. It always
// includes the parts that cost no heavy call.
func (o walkSpec) apiQuery(after, before time.Time) api.MeetingQuery {
	inline := o.isInline()
	return api.MeetingQuery{
		CreatedAfter: after, CreatedBefore: before,
		RecordedBy: o.list.RecordedBy, Teams: o.list.Teams,
		IncludeTranscript: inline, IncludeSummary: inline,
		IncludeActionItems: true, IncludeHighlights: true, IncludeCRM: true,
	}
}
