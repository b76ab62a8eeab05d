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
// The package writes nothing to disk itself. The budget's state and the rotating
// tokens outlive the process through [BudgetStore] and [TokenStore]. After a crash
// the budget counts every call that the service may have counted, so a restart
// never bursts. A refreshed token is used only after its store has made it durable.
package api
