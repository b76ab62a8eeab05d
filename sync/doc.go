// Package syncer decides which meetings to read next from the service, and when. It keeps an
// archive complete for years without anybody watching.
//
// # Map
//
//   - sync.go, run.go, options.go: a command's Sync, the daemon's Run, New.
//   - intake*.go: deliveries of the receiver's inbox are applied, then marked.
//   - jobs*.go: the jobs of the schedule: backfill, catch-up, light walk, refresh
//     with its rotation, directory; which of them run, and when.
//   - walk*.go: a walk reads a whole list: the spec, the state and windows that
//     are saved, pages, the survey that divides history. walk_absence.go gives the
//     archive the meetings that a walk lacked; the archive decides which are gone.
//   - content*.go: transcripts and summaries that are still to be read: a queue of
//     tasks, each with the time of its next attempt.
//   - download*.go: recordings: request, poll, fetch, retry (download_retry.go),
//     how many at a time (download_pacer.go, download_slots.go), rows of the queue
//     and room on the disk (download_rows.go).
//   - account*.go: accounts, which can change while Run goes on, and their suspension
//     when the service refuses them.
//   - status*.go, progress*.go: the reports of `minutebook status` and of a run.
//   - forget.go, refetch.go, recover.go, clock.go: forgotten meetings, damaged
//     ones, panics; waiting, and times that a wrong clock wrote.
//   - marks.go: the state of this package, kept as marks of the archive.
//
// # What it promises
//
// Every page is applied in one transaction with the cursor behind it and the
// content tasks that follow from it, all of them marks of the archive (keys under
// "sync/"). A recording is on disk, whole and hashed, before the archive points to
// it, and its row in the queue is closed last. An account that the service refuses
// is suspended and says so; the others go on. A panic fails its piece of work, and
// not the process. The rate budget belongs to package api; this package only gives
// its calls their priority.
//
// # What a crash leaves
//
// All state is read from the archive when a run starts, so a crash at any instant
// costs the page, the content or the last bytes of a recording in hand, and doing
// any of them twice changes nothing.
package syncer
