// Package receiver is the only part that faces the internet. It takes signed
// webhook deliveries and callbacks, puts them into the archive's inbox, and
// answers.
//
// # What lives here
//
// Verification of deliveries with the Standard Webhooks library over the bytes
// as sent; callback tokens; bounds on headers, bodies, memory, time and
// connections; TLS with certificates that are read again when they change; and
// the listener, which shares no route with the page.
//
//	serve.go, clients.go   the listener; requests counted by address
//	handle.go, refusal.go  a request from its admission to the answer
//	headers.go, body.go    headers as far as no body is needed; bodies and their memory
//	signature.go           whether a known secret signed a delivery
//	receiver.go            options, and secrets that change
//	disk.go, metrics.go    room on the disk; counts
//
// # What it promises
//
// A 200 is sent only after the commit with the delivery is on disk. A repeat gets its
// 200 only then too, and changes nothing. A delivery signed by a known secret is never
// discarded: the intake quarantines a delivery that cannot be parsed. An unknown account,
// a wrong signature and a message of the wrong age get the same answer. No secret,
// token or body is logged.
//
// # In a crash
//
// The package keeps nothing. A sender without an answer sends again, and a delivery
// committed before the crash is then known as a duplicate.
package receiver
