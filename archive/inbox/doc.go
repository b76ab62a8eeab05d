// Package inbox keeps deliveries, which are signed webhooks and answers to callback
// addresses, from their acknowledgement until they are applied, and their keys for
// good. It also keeps the registrations of webhooks with their secrets. All of it is
// in one SQLite file with a writer of its own.
//
//	inbox.go          Inbox, Delivery, Options, errors
//	open.go           opens the file and makes its log durable
//	put.go            stores a delivery
//	writer.go         the goroutine that commits: groups, limits, faults
//	read.go           waiting deliveries, lists, counts
//	settle.go         outcomes, quarantine, replay
//	retention.go      how long bodies are kept
//	forget.go         drops everything about a forgotten recording
//	callbacks.go      tokens of callback addresses
//	registrations.go  webhooks of the accounts at the service
//	rate.go           whether deliveries come so fast that other work should wait
//	verify.go         bodies that cannot be read back
//	overflow.go       imports the overflow files of earlier versions
//
// When [Inbox.Put] returns without an error, the delivery is on disk and its sender
// may be answered 2xx. A delivery is applied by somebody else, who then calls
// [Inbox.Settle]: after a crash in between it is applied again, which changes
// nothing. A crash leaves whole commits; [Open] syncs those whose sync is not
// certain before anything relies on them.
package inbox
