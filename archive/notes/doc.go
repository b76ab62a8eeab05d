// Package notes keeps the additions of people to the archive, in notes.db: notes on moments,
// action items done here, judgements about who is the same person, saved searches, and
// up to where somebody has looked. Nothing of it is sent anywhere.
//
//	notes.go    Open, and the errors
//	note.go     notes: add, change, delete, read
//	tick.go     action items that were ticked off
//	merge.go    judgements about persons, and their undoing
//	groups.go   the persons that follow from the judgements
//	saved.go    saved searches
//	outlets.go  their feeds and addresses for notifications
//	notified.go the meetings that were notified
//	looked.go   up to where a person has looked
//	forget.go   the erasure of a meeting
//	check.go    the checks of verify
//	lines.go, readlines.go   export and import as JSON lines
//
// Each exported method is one transaction, durable when it returns. Rows name a meeting
// by its recording_id. They are kept while the meeting is, and erased with it by
// [archive.Archive.Forget], also when a row is written at the same time: a write looks
// for the tombstone while it holds the lock for which the erasure waits.
//
// Who may see a meeting is decided above: the methods take the id of a person only to
// keep the private notes of the others out.
package notes
