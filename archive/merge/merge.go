package merge

import "bytes"

// The merge rules. A part's versions (revisions) are a set: a version is its
// content, and seeing it again only moves its dates forward. The current part is
// the greatest of the set in the order below, so it does not depend on the order
// of arrival, on repetition, or on the part that was current before.
//
//	the new version                        the current version           current becomes
//	-------------------------------------  ----------------------------  ---------------------
//	the key absent                         anything                      stays
//	null                                   anything                      stays
//	empty ([], {}, "", no Markdown, ...)   content                       stays
//	another type than the part's           content                       stays
//	without the part's own content         content                       stays
//	                                       (see api.HasContent)
//	empty                                  empty                         by the rows below
//	content                                nothing, null or empty        the new one
//	content of a read                      content only reported         the new one
//	content reported (webhook, import)     content of a read             stays
//	content of a read, sent later          content of a read             the new one
//	content of a read, sent earlier        content of a read             stays
//	                                       (whatever the clock said then: see readOrder)
//	content reported, dated later          content only reported         the new one
//	the same content, spelled differently  itself                        the lesser raw hash's bytes
//	dated the same                         content                       the greater hash
//
// The part "meeting" is merged so for each of its keys, since a row of a list may lack
// keys that another row had: every key has the value of the greatest version in which
// it has content. A value of another type than the key's, such as a number for a name,
// ranks below content and above an empty value; of several values without content the
// least bytes are taken, so that lists with different gaps do not take turns. In
// recorded_by and calendar_invitees the same holds for each member of entries that
// match:
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
// "Greatest" is the greatest version with content there: it decides who was invited
// and who recorded; older versions only add members to those entries. An address or a
// name that was taken from an older version matches and contradicts as the entry's own
// does, also a version between the two.
//
// Visibility always follows the newest read (of several accounts, see below). A meeting that is shared with a single
// team is shown to the recorder's team of the greatest version whose recorder matches,
// and to no team where that version names none. The recorder's team that pages show
// follows the rules above.
//
// Two accounts may be shown different content for good, such as is_external of an
// invitee. So that the accounts do not take turns each night, [CountingDates] makes one
// account the home of the part, of the row of a list one that is shown the recorder's team:
// each read of the home counts, and another account's read of a version counts once, when
// that account shows the version first. Visibility
// has a rule of its own, [SharingRanks]: of the newest reads of the accounts the narrowest
// decides, and a read that is older than a change that another account was shown counts
// no more. In both, an account that is shown the meeting no more gives way to the others.
//
// CRM matches belong to their accounts (specification 2.2). The rows above choose each
// account's own. Between accounts, content wins over none, reads win over reports, and
// then the account wins whose matches were first shown last, so that two accounts with
// different matches do not take turns.
//
// A forgotten meeting takes nothing.

// Version is a revision as far as the rules go.
type Version struct {
	ID       int64
	Hash     [32]byte // of the canonical content
	Empty    bool     // without content, see api.JudgePart
	ReadAt   int64    // the number of the latest read that showed it; 0 for none
	CountsAt int64    // the number by which its reads count, see CountingDates; 0 for ReadAt
	// SharingRank is the rank by which it decides who sees the meeting, see
	// SharingRanks; 0 for its read.
	SharingRank int64
	ReportedAt  int64 // the latest delivery or import with it, in milliseconds; 0 for none
}

// Beats reports whether v is before w in the order of the table.
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

// beatsBySharing is the order by which versions decide who sees the meeting: by their
// ranks, and then Beats with every account's reads counted.
func (v *Version) beatsBySharing(w *Version) bool {
	if v.SharingRank != w.SharingRank {
		return v.SharingRank > w.SharingRank
	}
	a, b := *v, *w
	a.CountsAt, b.CountsAt = 0, 0
	return a.Beats(&b)
}

// AsRead returns copies of versions as if the reads of every account counted.
func AsRead(versions []*Version) []*Version {
	read := make([]*Version, len(versions))
	for i, v := range versions {
		w := *v
		w.CountsAt, w.SharingRank = 0, 0
		read[i] = &w
	}
	return read
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

// PrefersBytes reports whether the bytes with rawHash replace those with current,
// another spelling of the same content.
func PrefersBytes(rawHash, current int64) bool { return rawHash < current }
