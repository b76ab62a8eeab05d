// Package syncer knows what to read next from the service, and when. It keeps an
// archive complete for years without anybody watching.
//
// # What lives here
//
//   - Intake: what the receiver put into the inbox is applied, then marked.
//   - Walks: readings of a whole list, cut into time windows with a cursor each.
//     A backfill walks the full history with content; a light walk sees edits,
//     shares and what is gone without a heavy call; a catch-up looks at what is
//     new; a refresh reads the last seven days again and older content in
//     rotation.
//   - Asks: transcripts and summaries that were not there yet, or that a list may
//     not carry, each with a time at which it is asked for next.
//   - Downloads: recordings requested, awaited and fetched before links lapse.
//   - Directory passes, the cron schedule, and what all of it says of itself.
//
// # What it promises
//
// Every page is applied in one transaction with the cursor behind it and with
// the asks that follow from it, all of them marks of the archive (keys under
// "sync/"). A recording is on disk, whole and hashed, before the archive points
// to it, and its queue row is closed last. All state is read from the archive
// when a run starts, so a crash at any instant costs the item in hand and
// nothing else, and doing an item twice changes nothing.
//
// An account that the service refuses (401) is parked and says so; the others go
// on. The rate budget belongs to the api client; this package only says which of
// its calls matter most.
package syncer
