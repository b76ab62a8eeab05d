// Package roster knows who appears in which meeting, on which day and with which action
// items, for one viewer at a time: the page's people, action items, calendar and news.
// It keeps this in memory, about 300 bytes a meeting, since counts differ by viewer and a
// database would have to count them again each time.
//
//	roster.go   Roster: reading the archive and following its change log
//	meeting.go  a meeting as it is kept, and how it is read
//	view.go     the rights of a viewer, merged persons, ticks
//	people.go   persons and their counts
//	person.go   one person: meetings, company, months
//	suggest.go  persons who may be one
//	items.go    action items by person, state and age
//	days.go     meetings by day
//	news.go     meetings that arrived or changed after a position
//
// Every answer is as new as the archive was when it was asked for: it follows the change
// log first. A crash loses nothing, as nothing is on disk.
package roster
