package merge

import "bytes"

// The merge rules. A part's versions (revisions) are a set: a version is its
// content, and seeing it again only moves its dates forward. The current part is
// the greatest of the set in the order below, so it does not depend on the order
// of arrival, on repetition, or on the part that was current before.
//
//	what arrived                           against what is held          current is
//	-------------------------------------  ----------------------------  ---------------------
//	the key absent                         anything                      what is held
//	null                                   anything                      what is held
//	empty ([], {}, "", no Markdown, ...)   content                       what is held
//	another type than the part's           content                       what is held
//	without what the part is there for     content                       what is held
//	                                       (see api.HasContent)
//	empty                                  empty                         by the rows below
//	content                                nothing, null or empty        what arrived
//	content of a read                      content only told of          what arrived
//	content told of (webhook, import)      content of a read             what is held
//	content of a read, sent later          content of a read             what arrived
//	content of a read, sent earlier        content of a read             what is held
//	                                       (whatever the clock said then: see readOrder)
//	content told of, dated later           content only told of          what arrived
//	the same content, spelled differently  itself                        the lesser raw hash's bytes
//	dated the same                         content                       the greater hash
//
// The part "meeting" is merged so for each of its keys, since a row of the list
// may lack what another had: every key has the value of the greatest version in
// which it has content. A value of another type than the key is known for, such
// as a number for a name, counts for less than content and for more than none;
// of several values without content the least bytes are taken, so that lists
// which leave out in different ways do not take turns. In recorded_by and
// calendar_invitees the same holds for each member, between those who match:
//
//	the greatest version's                 an older version's            matches
//	-------------------------------------  ----------------------------  ---------------------
//	recorder with an address               the same address              yes
//	recorder with an address               another address               no
//	recorder, one of the two without       no other name or address      yes
//	recorder, one of the two without       another name or address       no
//	invitee with an address                the same address              yes, and no other
//	invitee with no such address           the same name, unique in      yes
//	                                       both lists
//	invitee with no such address           that name with an address     no
//	                                       of its own or of another's
//	invitee                                the same place                no
//
// "Greatest" is the greatest version with content there: it decides who was
// invited and who recorded, the older ones only add members to those. An address
// or a name once taken from one older version contradicts as one's own does.
//
// What decides visibility never outlives the newest read: the recorder's team
// that a meeting shared with a single team is shown to is the one in the
// greatest version whose recorder matches, and none where that says none. What
// is shown as the recorder's team is kept by the rules above.
//
// Accounts may be shown different content of the same thing, such as is_external of an
// invitee, for good and each night again. So that they do not take turns, a version is
// sent later by CountingDates: one account is the home of the part, whose every read
// counts, and the reads of another account count once, when they show a version first.
// What decides visibility is not for that: shared_with and the recorder's team always
// follow the newest read of any account.
//
// CRM matches are their accounts' (specification 2.2). The rows above choose each
// account's own; of those, content goes over none, reads over what was only told
// of, and then what an account was first shown last: two accounts with different
// matches that are read again and again do not take turns.
//
// A forgotten meeting takes nothing.

// Version is a revision as far as the rules go.
type Version struct {
	ID         int64
	Hash       [32]byte // of the canonical content
	Empty      bool     // without content, see api.JudgePart
	ReadAt     int64    // the number of the latest read that showed it; 0 for none
	CountsAt   int64    // the number by which its reads count, see CountingDates; 0 for ReadAt
	ReportedAt int64    // the latest delivery or import with it, in milliseconds; 0 for none
}

// Beats tells whether v is before w in the order of the table.
func (v *Version) Beats(w *Version) bool {
	if v.Empty != w.Empty {
		return w.Empty
	}
	return v.laterThan(w)
}

// laterThan is the order of two versions with content, or of two without: reads
// before versions that were only reported, then the date, then the hash.
func (v *Version) laterThan(w *Version) bool {
	if read := v.ReadAt != 0; read != (w.ReadAt != 0) {
		return read
	}
	if a, b := v.countsAt(), w.countsAt(); a != b {
		return a > b
	}
	if v.ReadAt == 0 && v.ReportedAt != w.ReportedAt {
		return v.ReportedAt > w.ReportedAt
	}
	return bytes.Compare(v.Hash[:], w.Hash[:]) > 0
}

func (v *Version) countsAt() int64 {
	if v.CountsAt != 0 {
		return v.CountsAt
	}
	return v.ReadAt
}

// beatsByRead is Beats with every account's reads counted.
func (v *Version) beatsByRead(w *Version) bool {
	a, b := *v, *w
	a.CountsAt, b.CountsAt = 0, 0
	return a.Beats(&b)
}

// Greatest returns the current version of a part, nil when there is none.
func Greatest(versions []*Version) *Version {
	var best *Version
	for _, v := range versions {
		if best == nil || v.Beats(best) {
			best = v
		}
	}
	return best
}

// PrefersBytes tells whether the bytes with rawHash replace those with current,
// another spelling of the same content.
func PrefersBytes(rawHash, current int64) bool { return rawHash < current }
