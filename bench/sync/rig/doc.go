// Package rig sets the sync against the real service inside one process, for
// tests and figures in virtual time: an http.RoundTripper hands each call to the
// service's handler after a wait and its answer back after another, so that the
// service counts a call at any moment between its sending and its answer. Nothing
// here waits for anything but timers, as testing/synctest needs it.
package rig
