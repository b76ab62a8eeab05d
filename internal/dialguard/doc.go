// Package dialguard keeps outgoing requests whose address someone else chose
// (recordings, webhooks, callbacks) away from the machine's own networks. The
// check is made on the address that is dialled, after names were resolved, so
// that no name can point elsewhere between check and use.
package dialguard
