// Package archive keeps everything that a meeting recording service has ever
// shown: every part of every meeting verbatim, every differing version of it,
// recordings as plain files, and rows derived from them for reading and SQL tools.
//
// # What lives in a data directory
//
//	archive.db   meetings: revisions, current parts, derived rows, change log
//	inbox.db     deliveries until they are applied, and their keys for good
//	notes.db, service.db, access.db
//	             the state of other rooms, opened through SideDB
//	media/       recordings by SHA-256, read-only
//	damaged/     unreadable bytes that a repair has put aside
//	index/       the search index, which is disposable
//	lock         locked by the one process that owns the directory
//
// Everything that arrives is an [Observation] and enters by [Archive.Apply]:
// one transaction that adds revisions, decides the current parts by the rules
// of package merge, derives the rows and appends to the change log. Followers read
// the log with [Archive.Changes] and keep their own cursor.
//
// # Files
//
// The first word of a file's name is its subject:
//
//	open_*    open a data directory: its lock, its first start, other databases
//	apply_*   apply observations: prepare, decide, derive rows; rebuild. apply_gone
//	          decides which meetings the service does not list any more
//	read_*    rows, lists, entries, parts, history, action items, statistics
//	people_*  accounts, the directory, shares, and who sees which meeting
//	log_*     the change log; followers' marks and the ledger of failures
//	media_*   recordings of meetings, and the queue of their downloads
//	forget_*  erase a meeting, retention rules, leftovers of a crash. forget_clock
//	          keeps a clock that runs ahead from deleting anything early
//	verify_*  name every damage, and repair it
//
// Deliveries wait in package inbox until they are applied.
//
// # What it promises
//
// When Apply, or any other writing method, returns without an error, its effect
// survives a power cut; when it returns an error, or never returns, either the
// whole effect is there or nothing of it, and doing it again changes nothing
// more. The same observations in any order, repeated or not, end in the same
// current parts and the same revisions. Content is never replaced by the
// absence of content. A recording is in media/ whole, hashed and synced, before
// a row names it; a row is deleted before its file.
package archive
