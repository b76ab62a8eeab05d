// Package web is the page: search, the list of meetings, each meeting with its
// recording, action items across meetings and the state of the archive; the
// JSON interface /api/v1, the media, /healthz, /readyz and /metrics.
//
// # Files
//
//	web.go, routes.go, guard.go, visitor.go  the handler, its routes, foreign hosts, who asks
//	address.go, render.go, format.go, static.go, content.go  addresses, templates, assets
//	home, results, facets, query, trends*    the list, the search, its facets, trends
//	meeting*, transcript, player, media, clips, versions  a meeting and its recording
//	people_*, actions*, calendar, now        pages across all meetings
//	saved.go, notify*.go                     saved searches and their feeds; notify.go matches
//	                                         new meetings and sends, again after a failure
//	signin*, me*, admin, setup               signing in, one's own page, people, the first run
//	status*, changes, metrics                the archive's state
//	api_*                                    /api/v1
//	static_site.go                           the site that export writes
//
// Packages access and accounts know who may enter; outline, diff, clip, markdown and
// notice compute, and know no request.
//
// # Promises
//
// It promises three things to the reader's browser: no request leaves for
// another host (the policy sent with every answer forbids it), every page works
// without scripts but for passkeys, suggestions and a transcript that follows its recording,
// and a link to a moment (/meetings/ID?t=SECONDS) opens there with or without them. To the
// archive's owner it promises that a foreign page cannot read it through DNS:
// a request for a Host that is neither loopback, the listener's own address nor
// configured is refused.
//
// A request for meetings has a [Visitor], or the secret of a feed, which stands for its
// owner. It is shown only meetings that the archive shows to that person. A hidden meeting and
// one that does not exist are answered alike.
//
// A restart forgets all that the package itself remembers, such as the sign-ins under way, the
// attempts to sign in, and a random key, which hides positions in the change log: open pages
// take a new position by themselves.
//
// Requests that wait (/api/v1/changes) end with their context: a server that wants
// to stop at once cancels its BaseContext.
package web
