// Package outbound makes the HTTP clients with which this program calls
// addresses that somebody else chose: webhook endpoints, callback addresses,
// media links.
//
// It promises three things. A connection is made to a globally routable address
// only, unless private ones are allowed. The check is made on the dialled
// address, after every name has been resolved, so that a name that changes between
// a check and the dialling does not get through. And a client never
// follows a redirect: its answer is returned to the caller. Besides, a [Patience] ends the
// reading of a body that comes in drips.
//
// Proxies from the environment are not used, since the check would then be
// made on the proxy. The package keeps no state and so has nothing to lose in
// a crash.
package outbound
