// Package accounts connects people's own accounts at the service: by an API key, or by
// the OAuth app that the configuration names.
//
// # Promises
//
// An account is tried at the service before it is kept, and kept only when it shows the
// person's own meetings. Its secret is sent to the archive's one service, is asked for
// anew at every call, and so ends with the commit that removes the person, takes the
// address away or says that the person is deactivated. It is in no error and in no log.
//
// # After a crash
//
// An account is there as a whole or not at all. A connection by OAuth that was under way
// has to be begun again.
package accounts
