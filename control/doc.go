// Package control is the one set of operations behind the commands.
//
// An operation takes a JSON request, may report progress as JSON events, and
// ends with a JSON result or an error. It runs in the process that owns the
// data directory: here when no daemon runs, otherwise in the daemon, reached
// over the Unix socket in its data directory. Both ways go through the same
// encoding, so a command's output does not depend on where the work was done.
//
//	registry.go, deps.go               operations, and the things that they work on
//	server.go, client.go, socket.go, peer_*.go, starting.go  the socket
//	status, show, search, sync, copies, maintenance, retention, doctor, …
//	                                   the operation of that name; copies: import, export, backup
//	upkeep_plan.go, upkeep.go          when backups, proofs and checks are due; a run of each
//	conditions.go, digest.go           the conditions that a person is told of; lists of news
//	people, tokens, audit, auth        who may enter, and OAuth connections
//	webhooks*.go                       webhooks at the service: made, tested, rotated
//	service*.go                        the service's interface that this program serves
//
// The socket is mode 0600, and each side checks the other's user as well. When the
// daemon dies in the middle of an operation, the caller gets an error that says so.
// The commits of the operation stay, and repeating it is safe.
package control
