package years

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"minutebook/api"
)

// crm names the CRM whose matches a person is shown: the team's, or the own one where the person
// is of no team (specification 2.2).
func (p *person) crm() string { return cmp.Or(p.team, p.email) }

// isLinked reports whether a CRM is linked. It stays so.
func (w *world) isLinked(crm string) bool {
	return newRand(w.seed, "crm "+crm).IntN(4) > 0
}

// matches returns the matches of a meeting in a CRM.
func (w *world) matches(crm string, m *meeting) json.RawMessage {
	if !w.isLinked(crm) {
		return json.RawMessage(`{"error":"no CRM is connected"}`)
	}
	link := "https://crm.test/" + url.PathEscape(crm)
	return fmt.Appendf(nil, `{"contacts":[{"name":%s,"email":"customer%d@customer.example","record_url":"%s/contacts/%d"}],"companies":[],"deals":[{"name":"%s deal","amount":%s,"record_url":"%s/deals/%d"}]}`,
		quote(token(m.id)+contactIn+crm), m.id, link, m.id, token(m.id), cmp.Or(m.edges.amount, fmt.Sprintf("%d.5", m.id)), link, m.id)
}

const contactIn = " contact in "

// crmIn returns the CRM that matches are from; "": there are none.
func crmIn(raw []byte) string {
	var matches struct{ Contacts []struct{ Name string } }
	if json.Unmarshal(raw, &matches) != nil || len(matches.Contacts) == 0 {
		return ""
	}
	_, crm, _ := strings.Cut(matches.Contacts[0].Name, contactIn)
	return crm
}

// hasMatches reports whether CRM matches have a text or number in a contact, a company or a deal: the
// members with the token in them may be lacking, and the others are content.
func hasMatches(raw []byte) bool {
	var matches map[string]any
	if json.Unmarshal(raw, &matches) != nil {
		return false
	}
	for _, kind := range []string{"contacts", "companies", "deals"} {
		list, _ := matches[kind].([]any)
		for _, entry := range list {
			members, _ := entry.(map[string]any)
			for _, value := range members {
				if value != nil && value != "" {
					return true
				}
			}
		}
	}
	return false
}

// noteCRMs notes by which CRMs each person has been shown matches.
func (o *org) noteCRMs() {
	for _, p := range o.people {
		if p.crms == nil {
			p.crms = map[string]bool{}
		}
		p.crms[p.crm()] = true
	}
}

// checkMatches compares the CRM matches that each person is shown here with those at the service.
// Whose account is read is shown the own ones; others see matches that accounts of their team were
// shown, the newest of which are known where those accounts are shown the meeting still.
func (w *world) checkMatches(m *meeting) {
	ctx := context.Background()
	for _, p := range w.org.people {
		if !p.isActive() {
			continue
		}
		raw, err := w.house.archive.MeetingJSONFor(ctx, p.viewer(), m.id)
		if err != nil {
			continue // who sees the meeting is judged by checkViewers
		}
		_, parts, err := api.SplitMeeting(raw)
		w.must(err, "read a meeting")
		got, isOwn := crmIn(parts[api.PartCRM]), w.isShown(p, m)
		isNewest := isOwn || w.isReadByAll(m) && w.isSeenByAll(m)
		switch {
		case got != "" && got != p.crm() && isNewest && w.isLinked(p.crm()):
			w.fail("%s is shown matches of meeting %d in the CRM of %s, at the service in that of %s", p.name, m.id, got, p.crm())
		case got == "" && isOwn && w.isLinked(p.crm()):
			w.fail("%s is shown no CRM matches of meeting %d, at the service in that of %s", p.name, m.id, p.crm())
		}
	}
}

// isSeenByAll reports whether everybody whose list ever showed a meeting sees it still.
func (w *world) isSeenByAll(m *meeting) bool {
	for email := range w.oracle.listed[m.id] {
		if !w.org.sees(w.org.person(email), m) {
			return false
		}
	}
	return true
}
