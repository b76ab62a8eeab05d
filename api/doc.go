// Package api is the vocabulary of the meeting recording service: the resources
// of its specification as Go types, the verbatim parts a meeting is kept in, a
// typed client for every endpoint, the two kinds of credential, and the rate
// budget that keeps all callers of one connection within the service's limits.
//
// Decoding is lenient, because valid answers of the service have lacked fields
// that its documents call required: unknown keys, nulls, missing keys and
// mistyped optional values never make a resource unreadable. What was absent,
// what was null and what was empty stay distinguishable (Opt), and the bytes of
// a meeting's content are never re-encoded on their way (SplitMeeting).
//
// The package keeps nothing on disk itself. What must outlive the process, the
// budget's state and the rotating tokens, goes through BudgetStore and
// TokenStore. After a crash the budget counts every call that may have been
// counted by the service, so a restart never bursts; a refreshed token is used
// only after its store has said that it is durable.
package api
