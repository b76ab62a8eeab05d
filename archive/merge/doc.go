// Package merge decides which of the versions of a part is the current one, merges
// the versions of the part "meeting" key by key, and lists how two states of a
// meeting differ. It computes on bytes: nothing here reads or writes a database.
//
//	merge.go    the rules, as a table, and the order of versions
//	accounts.go which account's reads count, where several are shown a part
//	sharing.go  which account's version decides who sees a meeting
//	meeting.go  the part "meeting", key by key
//	people.go   its recorder and its invitees, member by member
//	diff.go     the differences of two JSON values
//
// The outcome does not depend on the order in which versions arrived, nor on
// repetition.
package merge
