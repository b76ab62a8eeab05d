// Package service is the server of the specification: the REST interface, OAuth,
// limits, downloads, callbacks and signed webhooks, over an archive. It runs in two
// ways: over an archive that the rest of the program fills, where each person sees
// the meetings that the archive shows them, and alone as a sandbox, into which
// meetings are loaded.
//
// # Files
//
//	service.go, store.go, state.go, sweep.go   the service, service.db, the background work
//	routes.go, bounds.go, body.go, errors.go   from a request to an endpoint, and refusals
//	auth.go, keys.go, limits.go, secrets.go    callers, API keys, limits, stored secrets
//	meetings*.go, content.go, lists.go         the endpoints that list and read
//	media*.go                                  downloads, their links and their sending
//	hooks*.go                                  webhooks and callbacks: decided, queued, sent
//	oauth_*.go                                 apps, consent, codes and tokens
//	sandbox_*.go                               loading, the organisation, held-back meetings
//	forget.go                                  erasing a meeting
//	description.go                             the interface's own description
//	mirror, strict, limit, fault               packages: who sees which meeting; valid
//	                                           answers; counting calls; faults on purpose
//
// # A request
//
// Service.routes finds the endpoint. withDeadlines and withBounds read the body and
// wait for a turn; the faults of a sandbox may answer instead. serve then refreshes
// the mirror to the head of the change log, finds the caller by the credential,
// counts the call, and calls the endpoint. A list finds its page in the mirror,
// reads the parts of those ten meetings from the archive, and writes them by
// package strict.
//
// # A webhook
//
// The relay follows the archive's change log (in a sandbox, Finish takes its place).
// It decides for each webhook and new meeting whether it fires, and stores decision,
// body and its place in the log in one commit; sendQueue sends due rows and stores
// each outcome.
//
// # Promises
//
// A caller never learns of a meeting that is hidden from them. A call answered 429
// was not counted. A code and a refresh token are used once, whatever races or
// crashes. A webhook fires once for a recording, keeps its id over all attempts, and
// its queued deliveries outlive the process. Nothing is sent for a person who is not
// active any more. Secrets of callers are stored hashed.
//
// A crash loses only the counts of the limits. The rows of the queue and their place
// in the change log are one commit, a rotated token is durable before its answer,
// and a held-back meeting leaves the held ones in the commit that queues its
// webhooks, after it has entered the archive.
package service
