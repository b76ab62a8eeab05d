// Package service is the server of the specification: the whole REST
// interface, OAuth, limits, downloads, callbacks and signed webhooks, over an
// archive. It is used in two ways: over an archive that the rest of the program
// keeps, where each person sees what the archive knows they may see, and alone
// as a sandbox into which meetings are loaded.
//
// Its own state (keys, apps, downloads, webhooks, the queue of what is to be
// sent) is service.db in the archive's data directory. Secrets of callers are
// stored hashed. Who may see what comes from the archive and is mirrored in
// memory, brought up to the change log's head before every answer.
//
// What it promises: a caller never learns of a meeting that is hidden from
// them; a call answered 429 was not counted; a code and a refresh token are
// used once, whatever races or crashes; a webhook fires once for a recording,
// keeps its id over all attempts, and what is queued outlives the process.
//
// In a crash nothing is lost but the counts of the limits. The queue's rows and
// the position in the change log they come from are one commit, a rotated token
// is durable before its answer, and a held-back meeting leaves its waiting room
// in the commit that queues its webhooks, after it has entered the archive.
package service
