package years

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"minutebook/api"
	"minutebook/archive"
)

// rowKeys are the members of a listed meeting whose every value has to be in the history: the
// first two for the seeds before firstVaried, in which nobody edits the others, and the next two for
// those before firstHarsh, in which no kind of call lacks others.
var rowKeys = []string{"title", "shared_with", "meeting_type", "transcript_language", "meeting_title", "url", "share_url", "calendar_invitees_domains_type"}

// memberPrefix begins, after the number of the meeting, the shown members of its recorder and of
// the invitees.
const memberPrefix = "member "

// readRow returns, without the number of the meeting, the versions that a row of a list shows of
// its rowKeys, and the members that it shows of its recorder and of the invitees.
func (o *oracle) readRow(m object) (versions []string) {
	keys := rowKeys
	if o.w.seed < firstVaried {
		keys = keys[:2]
	} else if o.w.seed < firstHarsh {
		keys = keys[:4]
	}
	for _, key := range keys {
		if value := m[key]; len(value) > 2 && value[0] == '"' {
			versions = append(versions, key+"/"+canonical(value))
		}
	}
	for _, name := range membersOf(o.recorderName(m), m["recorded_by"]) {
		versions = append(versions, memberPrefix+name)
	}
	for _, i := range inviteesOf(m["calendar_invitees"]) {
		for _, name := range membersOf(i.name(), encode(i)) {
			versions = append(versions, memberPrefix+name)
		}
	}
	return versions
}

// recorderName names the recorder of a meeting: from firstHarsh on, where people have several, by the
// address, since nothing says that another one is the same person's.
func (o *oracle) recorderName(m object) string {
	var by object
	if o.w.seed < firstHarsh || json.Unmarshal(m["recorded_by"], &by) != nil {
		return "recorded_by"
	}
	return "recorded_by " + invitee(by).address()
}

// invitee is an entry of calendar_invitees.
type invitee object

// address is the invitee's; "": none.
func (i invitee) address() (address string) {
	_ = json.Unmarshal(i["email"], &address) // of another type: none
	return address
}

func (i invitee) name() string { return "invitee " + i.address() }

// inviteesOf returns the invitees with an address.
func inviteesOf(raw []byte) []invitee {
	var list []invitee
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(i invitee) bool { return i.address() == "" })
}

// membersOf names the members of a person that have a text.
func membersOf(person string, raw []byte) (names []string) {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	for key, value := range o {
		if len(value) > 2 && value[0] == '"' {
			names = append(names, person+"/"+key)
		}
	}
	return names
}

// showRow notes the versions that a list shows with a meeting's row. A row with members of
// another type may be refused as a whole.
func (o *oracle) showRow(id int64, instance int, m object) {
	if len(m["title"]) <= 2 || m["title"][0] != '"' {
		return
	}
	raw := string(m["recorded_by"]) + string(m["calendar_invitees"])
	for _, key := range rowKeys {
		raw += key + string(m[key])
	}
	versions, ok := o.rows[raw]
	if !ok {
		versions = o.readRow(m)
		o.rows[raw] = versions
	}
	for _, v := range versions {
		o.expect(fmt.Sprintf("%d/%s", id, v), instance)
	}
}

// checkRow compares the history and the current state of a meeting's row with the versions due
// of it. Who is not invited any more lacks nothing; that somebody was invited stays.
func (w *world) checkRow(id int64, revisions []archive.Revision, keys []string) {
	ctx, ar := context.Background(), w.house.archive
	have, hashes := map[string]bool{}, map[string]bool{}
	for _, r := range revisions {
		if r.Part != api.PartMeeting {
			continue
		}
		if hashes[r.Hash] {
			w.fail("meeting %d has a version of its row twice: %s", id, r.Hash)
		}
		hashes[r.Hash] = true
		versions, ok := w.oracle.rows[r.Hash]
		if !ok {
			_, raw, err := ar.RevisionJSON(ctx, id, r.ID)
			w.must(err, "read a revision")
			var m object
			w.must(json.Unmarshal(raw, &m), "read a revision")
			versions = w.oracle.readRow(m)
			w.oracle.rows[r.Hash] = versions
		}
		for _, v := range versions {
			if !strings.HasPrefix(v, memberPrefix) {
				have[fmt.Sprintf("%d/%s", id, v)] = true
			}
		}
	}
	parts, err := ar.PartsOf(ctx, id)
	w.must(err, "read the parts")
	var row object
	_ = json.Unmarshal(parts[api.PartMeeting], &row) // null has no members
	for _, v := range w.oracle.readRow(row) {
		if strings.HasPrefix(v, memberPrefix) {
			have[fmt.Sprintf("%d/%s", id, v)] = true
		}
	}
	invited := inviteesOf(row["calendar_invitees"])
	for _, key := range keys {
		name, isMember := strings.CutPrefix(key[strings.Index(key, "/")+1:], memberPrefix)
		isInvited := slices.ContainsFunc(invited, func(i invitee) bool { return strings.HasPrefix(name, i.name()+"/") })
		switch {
		case have[key]:
		case !isMember:
			w.fail("meeting %d: the version %s was shown and is not in the history", id, key)
		case strings.HasPrefix(name, "recorded_by ") && !strings.HasPrefix(name, w.oracle.recorderName(row)+"/"): // somebody else, by the address
		case isInvited || len(invited) == 0 || !strings.HasPrefix(name, "invitee "):
			w.fail("meeting %d was shown %s, and it is blank now: %s", id, name, parts[api.PartMeeting])
		}
	}
}
