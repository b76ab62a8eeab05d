package syncer

import (
	"fmt"
	"time"

	"minutebook/api"
)

const (
	kindBackfill = "backfill" // the full history, once
	kindFull     = "full"     // the full history again, on request
	kindSince    = "since"    // from a day on, on request
	kindLight    = "light"    // everything, without content
	kindRecent   = "recent"   // the content of the last days again
	kindNew      = "new"      // what was created since the last look
)

type walkSpec struct {
	kind    string
	account *account
	list    listQuery
	content bool // with transcripts and summaries
	reread  bool // content that is in the archive is read again
	spare   bool // with what is left of the budget
	after   time.Time
	before  time.Time // the pin
	survey  bool      // worth finding out how meetings are spread over time
}

func (o walkSpec) key() string {
	return o.account.markKey("sync/walk/"+o.kind) + "/" + o.list.Name
}

func windowKey(key string, n int) string { return fmt.Sprintf("%s/w/%04d", key, n) }

func (o walkSpec) judgesAbsence() bool { return o.kind == kindLight || o.kind == kindFull }

func (o walkSpec) apiQuery(after, before time.Time) api.MeetingQuery {
	inline := o.content && !o.account.OAuth
	return api.MeetingQuery{
		CreatedAfter: after, CreatedBefore: before,
		RecordedBy: o.list.RecordedBy, Teams: o.list.Teams,
		IncludeTranscript: inline, IncludeSummary: inline,
		IncludeActionItems: true, IncludeHighlights: true, IncludeCRM: true,
	}
}
