// Package access keeps who may enter: people and their addresses, passwords, passkeys,
// invitations, sessions and tokens, the secrets of their accounts at the service, and the
// audit of their deeds. It has no pages and no HTTP handlers, which are package web's.
//
// # Files
//
// Everything is in access.db, a side database of the archive's data directory,
// which is part of backup and verify.
//
//	access.go         DB, its options, the errors; bell.go wakes those who follow changes
//	people.go         people as they are; people_change.go adds, changes, removes
//	identities.go     whom an OpenID provider knows as which person
//	join.go           people whom a proxy or a provider names
//	passwords.go      argon2id, two at a time; the check of a sign-in
//	passkeys.go       passkeys, and their owners for package webauthn
//	invitations.go    one-time links, by which a password is set or a passkey added
//	sessions.go       sign-ins; sessions_end.go lists, ends and sweeps them
//	acting.go         changes by people whose session ends meanwhile
//	limiter.go        how often a sign-in can be tried
//	tokens.go         personal tokens for programs
//	accounts.go       people's own accounts; accounts_change.go connects and ends them,
//	                  accounts_keys.go encrypts their secrets
//	secrets.go        random secrets, and the hash that is kept of each
//	audit.go          the chain of events; audit_check.go verifies and prunes it
//
// # Promises
//
// The secret of an invitation, session or token leaves this package once, from the method
// that makes it; the database has only its SHA-256. The secret of an account is kept
// encrypted, since the service wants it at every call. A change that the audit records is
// made in one commit with its row, so that a crash leaves both or neither. An invitation is
// used once, however many try at the same time. A session or invitation is good only in
// the archive's epoch in which it began, so a restore ends them all, and only
// while the clock is not before its beginning: a clock that is set back never
// makes one last longer. A person who was removed, or whom the directory calls
// deactivated, is refused from that commit on.
package access
