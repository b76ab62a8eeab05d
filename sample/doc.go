// Package sample holds half a year of meetings of a company that does not exist:
// Tidewell, which listens to water mains for leaks. They were written for this
// project, for the demo and for tests; nobody in them is a real person.
//
// The meetings are kept as scripts, meetings/*.txt, which a person can read and
// edit (script.go describes the form), and are converted into the service's Meeting
// objects (section 2.2) when needed. The conversion is deterministic: the same base
// date gives the same bytes on every machine, recording ids included. Another base
// date moves every time and changes nothing else.
//
// Two recordings stand for all of them: an hour of picture with the time burnt in,
// and an hour of sound with a tick every ten seconds (make-recordings.sh).
//
// Everything is embedded in the program and read-only; nothing here touches the
// disk, so there is nothing that a crash could leave behind.
package sample
