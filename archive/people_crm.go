package archive

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"minutebook/api"
	"minutebook/archive/merge"
	"minutebook/internal/sqlite"
)

// CRMView is an account's view of a meeting's CRM matches: the matches in the CRM that
// its person, or that person's team, has linked (specification 2.2). Nobody else sees
// them.
type CRMView struct {
	Principal string // the party that sees them, see CRMPrincipals
	Matches   json.RawMessage
	version   *merge.Version
	firstAt   int64 // number of the account's first showing, of the kind that counts
	encoding  int
	body      []byte
}

// crmPrincipal is crm:ACCOUNT, and crm:ACCOUNT#HOLDER for a later holder.
func crmPrincipal(account string, holder int) string {
	if holder > 1 {
		account += "#" + strconv.Itoa(holder)
	}
	return "crm:" + account
}

// CRMPrincipals returns the principals whose CRM matches a viewer sees: the viewer's
// own accounts first, then the accounts of the members of the viewer's teams. Matches
// loaded into this program's own organisation belong to all of it and come last. For a
// Viewer with All it returns none, since that viewer sees everything. The list is shared
// and is not to be changed.
func (a *Archive) CRMPrincipals(ctx context.Context, v Viewer) ([]string, error) {
	if v.All {
		return nil, nil
	}
	addresses := v.addresses()
	return a.crm.Get(fmt.Sprintf("%q", addresses), func() ([]string, error) { return a.readCRMPrincipals(ctx, addresses) })
}

func (a *Archive) readCRMPrincipals(ctx context.Context, addresses []string) ([]string, error) {
	active := []string{}
	for _, email := range addresses {
		user, err := a.User(ctx, email)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		if user == nil || user.Status == api.StatusActive {
			active = append(active, email)
		}
	}
	if len(active) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(active)
	if err != nil {
		return nil, err
	}
	principals, err := a.readPrincipals(ctx, `WITH mine AS (SELECT value FROM json_each(?))
		SELECT 'crm:' || p.account || iif(a.holder > 1, '#' || a.holder, '')
		FROM account_people p LEFT JOIN accounts a ON a.name = p.account
		WHERE p.email IN mine OR p.email IN (SELECT email FROM team_members WHERE `+configuredTerm+` AND team IN
			(SELECT team FROM team_members WHERE email IN mine AND team <> '' AND `+configuredTerm+`)) ORDER BY p.email NOT IN mine, 1`, string(list))
	if err != nil {
		return nil, err
	}
	if isMember, err := a.isInside(ctx, string(list)); err != nil || !isMember {
		return principals, err
	}
	return append(principals, crmPrincipal(LocalAccount, 1)), nil
}

// isInside reports whether one of some addresses, a JSON list, belongs to the organisation:
// a user's, a team member's or that of the person of an account.
func (a *Archive) isInside(ctx context.Context, addresses string) (isMember bool, err error) {
	err = a.db.R.QueryRowContext(ctx, `WITH mine AS (SELECT value FROM json_each(?))
		SELECT EXISTS (SELECT 1 FROM users WHERE email IN mine AND `+configuredTerm+`)
			OR EXISTS (SELECT 1 FROM team_members WHERE email IN mine AND `+configuredTerm+`)
			OR EXISTS (SELECT 1 FROM account_people WHERE email IN mine AND `+configuredTerm+`)`, addresses).Scan(&isMember)
	if err != nil {
		return false, fmt.Errorf("read who is in the organisation: %w", err)
	}
	return isMember, nil
}

// CRMViews returns the latest view of each account of several meetings, by the rules of
// package merge, the current one first. Accounts without matches, with only a reason
// for their absence, or with damaged bytes have no entry.
func (a *Archive) CRMViews(ctx context.Context, ids []int64) (map[int64][]CRMView, error) {
	views, err := readCRM(ctx, a.db.R, ids, math.MaxInt64)
	if err != nil {
		return nil, fmt.Errorf("read crm matches of %d meetings: %w", len(ids), err)
	}
	for id, list := range views {
		for i := range list {
			list[i].Matches, _ = a.codec.unpack(list[i].encoding, list[i].body) // nil: verify names the damage
		}
		if list = slices.DeleteFunc(list, func(c CRMView) bool { return c.version.Empty || c.Matches == nil }); len(list) == 0 {
			delete(views, id)
			continue
		}
		views[id] = list
	}
	return views, nil
}

// CRMFor returns the CRM matches that a viewer without All sees of each of the
// meetings; of several accounts' the first in the order of CRMPrincipals. Of a viewer
// with several addresses it is the address that sees the meeting whose accounts and
// teams count: rights of several addresses add up and do not combine.
func (a *Archive) CRMFor(ctx context.Context, v Viewer, ids []int64) (map[int64]json.RawMessage, error) {
	views, err := a.CRMViews(ctx, ids)
	if err != nil || len(views) == 0 {
		return nil, err
	}
	order, err := a.CRMPrincipals(ctx, v)
	if err != nil {
		return nil, err
	}
	matches := make(map[int64]json.RawMessage, len(views))
	ranks := make(map[int64]int, len(views))
	for _, email := range v.addresses() {
		address := ViewerWith(email)
		principals, err := a.CRMPrincipals(ctx, address)
		if err != nil {
			return nil, err
		}
		seen, err := a.SeenOf(ctx, address, ids)
		if err != nil {
			return nil, err
		}
		for id, list := range views {
			for _, c := range list {
				if !seen[id] || !slices.Contains(principals, c.Principal) {
					continue
				}
				rank := slices.Index(order, c.Principal)
				if best, found := ranks[id]; !found || rank < best {
					ranks[id], matches[id] = rank, c.Matches
				}
			}
		}
	}
	return matches, nil
}

// readCRM reads the greatest version of each account as of a time, the current
// one first.
func readCRM(ctx context.Context, db sqlite.Querier, ids []int64, at int64) (map[int64][]CRMView, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	views := map[int64][]CRMView{}
	err = sqlite.Each(ctx, db, func(rows *sql.Rows) error {
		var id int64
		var account string
		var holder int
		var hash []byte
		c := CRMView{version: &merge.Version{}}
		if err := rows.Scan(&id, &account, &holder, &c.version.ID, &hash, &c.version.Empty, &c.version.ReadAt, &c.version.ReportedAt, &c.firstAt, &c.encoding, &c.body); err != nil {
			return err
		}
		copy(c.version.Hash[:], hash)
		c.Principal = crmPrincipal(account, holder)
		at := slices.IndexFunc(views[id], func(other CRMView) bool { return other.Principal == c.Principal })
		if at < 0 {
			views[id] = append(views[id], c)
		} else if c.version.Beats(views[id][at].version) {
			views[id][at] = c
		}
		return nil
	}, `SELECT recording_id, account, holder, id, hash, empty, max(iif(told, 0, last)), max(iif(told, last, 0)),
			coalesce(min(iif(told, NULL, first)), min(first)), encoding, body
		FROM (SELECT *, source IN ('webhook', 'import') AS told, iif(last_at <= ?2, last_order, first_order) AS last, first_order AS first
			FROM revisions r JOIN observations o ON o.revision_id = r.id JOIN bodies b ON b.revision_id = r.id
			WHERE recording_id IN (SELECT value FROM json_each(?1)) AND part = 'crm_matches' AND first_at <= ?2)
		GROUP BY recording_id, account, holder, id`, string(list), at)
	for _, list := range views {
		slices.SortFunc(list, CRMView.compare)
	}
	return views, err
}

// compare orders the views of accounts by the rules of package merge, the current one
// first. A repeated view of an account does not change the order, so that two accounts
// do not take turns.
func (c CRMView) compare(d CRMView) int {
	rank := func(v CRMView) (n int) {
		if v.version.Empty {
			n = 2
		}
		if v.version.ReadAt == 0 {
			n++
		}
		return n
	}
	return cmp.Or(rank(c)-rank(d), cmp.Compare(d.firstAt, c.firstAt), bytes.Compare(d.version.Hash[:], c.version.Hash[:]), cmp.Compare(c.Principal, d.Principal))
}

// viewsText returns the CRM matches that each account sees of a meeting, for comparing.
func viewsText(views []CRMView) string {
	var text []string
	for _, c := range views {
		if !c.version.Empty {
			text = append(text, fmt.Sprint(c.Principal, " ", c.version.ID))
		}
	}
	slices.Sort(text)
	return strings.Join(text, "\n")
}

// observeCRM is observePart for CRM matches. Each account has its own: a change is
// logged when an account's matches change, or when other ones become current.
func (t *applying) observeCRM(o *Observation, p preparedPart) error {
	if p.null {
		return t.observePart(o, p)
	}
	if again, err := t.showsCRMAgain(o, p); again || err != nil {
		if err == nil {
			_, _, err = t.storeRevision(o, p)
		}
		return err
	}
	ids := []int64{o.RecordingID}
	before, err := readCRM(t.Context(), t.Tx(), ids, math.MaxInt64)
	if err != nil {
		return err
	}
	if _, _, err := t.storeRevision(o, p); err != nil {
		return err
	}
	after, err := readCRM(t.Context(), t.Tx(), ids, math.MaxInt64)
	if err != nil {
		return err
	}
	if len(after[o.RecordingID]) == 0 {
		return nil // their bytes are lost, which verify names; the rest of the meeting is kept
	}
	now := after[o.RecordingID][0]
	var current sql.NullInt64
	if _, err := t.Scan(`SELECT revision_id FROM parts WHERE recording_id = ? AND part = ?`, []any{o.RecordingID, p.part}, &current); err != nil {
		return err
	}
	if current.Int64 != now.version.ID {
		raw, err := t.archive.codec.unpack(now.encoding, now.body)
		if err != nil {
			return err
		}
		if err := t.setCurrent(o.RecordingID, p.part, now.version.ID, sql.NullString{}); err != nil {
			return err
		}
		if err := t.derive(o.RecordingID, p.part, raw); err != nil {
			return err
		}
	} else if viewsText(before[o.RecordingID]) == viewsText(after[o.RecordingID]) {
		return nil
	}
	return t.logChange(o.RecordingID, ChangePart, p.part)
}

// showsCRMAgain reports whether a read shows an account the matches again that its latest
// read showed: that moves a date and decides nothing.
func (t *applying) showsCRMAgain(o *Observation, p preparedPart) (again bool, err error) {
	if !o.Source.read() || o.Order == 0 {
		return false, nil
	}
	var ignored int
	return t.Scan(`SELECT 1 FROM revisions r JOIN observations o ON o.revision_id = r.id AND o.account = ?2 AND o.source = ?3
		WHERE r.recording_id = ?1 AND r.part = 'crm_matches' AND r.hash = ?4 AND r.empty = ?5
			AND o.holder = `+holderTerm("?2")+` AND max(o.first_order, o.last_order) <= ?6
			AND NOT EXISTS (SELECT 1 FROM revisions w JOIN observations s ON s.revision_id = w.id AND s.account = ?2 AND s.source NOT IN ('webhook', 'import')
				WHERE w.recording_id = ?1 AND w.part = 'crm_matches' AND w.id <> r.id AND s.last_order >= o.last_order)
			AND EXISTS (SELECT 1 FROM parts WHERE recording_id = ?1 AND part = 'crm_matches' AND revision_id IS NOT NULL)`,
		[]any{o.RecordingID, o.Account, o.Source, p.hash[:], p.empty, o.Order}, &ignored)
}
