// Package api is the vocabulary of the meeting recording service: the resources
// of its specification as Go types, the verbatim parts a meeting is kept in, a
// typed client for every endpoint, the two kinds of credential, and the rate
// budget that keeps all callers of one connection within the service's limits.
//
// Decoding is lenient, because valid answers of the service have lacked fields
// that its documents call required: unknown keys, nulls, missing keys and
// mistyped optional values never make a resource unreadable. Absent, null and empty
// values stay distinguishable ([Opt]), and the bytes of a meeting's content are
// never re-encoded ([SplitMeeting]).
//
//	client.go, call.go             a call: tried, repeated, or failed for good
//	repeat.go, errors.go, errorbody.go  repetitions of net/http; the errors of calls
//	budget.go, budget_window.go    the rate budget, and the window of each limit
//	budget_queue.go                which of the waiting calls goes next
//	budget_learn.go, budget_state.go  limits learned from answers; the stored budget
//	credential.go, oauth*.go       API keys; OAuth: the login, tokens, their renewal
//	page.go, endless.go, order.go  a page of a list, lists without an end, the order of calls
//	meetings.go, lists.go, recordings.go, webhooks.go  the endpoints
//	meeting.go, content.go, directory.go, download.go, webhook.go  their resources
//	parts.go, opt.go, time.go, email.go, empty.go      a meeting's parts, and values
//	openapi.go                     the contract of the interface
//
// The package writes nothing to disk itself. The budget's state and the rotating
// tokens outlive the process through [BudgetStore] and [TokenStore]. After a crash
// the budget counts every call that the service may have counted, so a restart
// never bursts. A refreshed token is used only after its store has made it durable.
package api
