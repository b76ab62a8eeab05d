package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"minutebook/api"
)

// CRMView is what an account was shown of a meeting's CRM matches: those of the
// CRM that its person, or that person's team, has linked (specification 2.2).
// Nobody else is shown them.
type CRMView struct {
	Principal string // whose they are, see CRMPrincipals
	Matches   json.RawMessage
	*version
	encoding int
	body     []byte
}

// crmPrincipal is crm:ACCOUNT, and crm:ACCOUNT#HOLDER for a later holder.
func crmPrincipal(account string, holder int) string {
	if holder > 1 {
		account += "#" + strconv.Itoa(holder)
	}
	return "crm:" + account
}

// CRMPrincipals returns whose CRM matches a viewer sees: of the viewer's own
// accounts, and of those of the members of the viewer's teams. What was loaded
// into this program's own organisation belongs to all of it. For a Viewer with
// All it returns none, since nothing is to be asked.
func (a *Archive) CRMPrincipals(ctx context.Context, v Viewer) ([]string, error) {
	email := foldEmail(v.Email)
	if v.All || email == "" {
		return nil, nil
	}
	user, err := a.User(ctx, email)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	if user != nil && user.Status != api.StatusActive {
		return nil, nil
	}
	mine, err := a.column(ctx, `SELECT 'crm:' || p.account || iif(a.holder > 1, '#' || a.holder, '')
		FROM account_people p LEFT JOIN accounts a ON a.name = p.account
		WHERE p.email = ?1 OR p.email IN (SELECT email FROM team_members WHERE `+configured+` AND team IN
			(SELECT team FROM team_members WHERE email = ?1 AND team <> '' AND `+configured+`)) ORDER BY 1`, email)
	return append(mine, crmPrincipal(LocalAccount, 1)), err
}

// CRMViews returns, of several meetings, what each account was shown last, by the
// rules of merge.go; the greatest first. Accounts that were shown nothing, or
// nothing but a reason why, have no entry.
func (a *Archive) CRMViews(ctx context.Context, ids []int64) (map[int64][]CRMView, error) {
	views, err := readCRM(ctx, a.db.R, ids)
	if err != nil {
		return nil, fmt.Errorf("read crm matches of %d meetings: %w", len(ids), err)
	}
	for _, list := range views {
		for i := range list {
			if list[i].Matches, err = a.codec.unpack(list[i].encoding, list[i].body); err != nil {
				return nil, fmt.Errorf("read crm matches: %w", err)
			}
		}
	}
	return views, nil
}

// CRMFor returns the CRM matches that a viewer without All sees of each of the
// meetings; of several accounts' the greatest.
func (a *Archive) CRMFor(ctx context.Context, v Viewer, ids []int64) (map[int64]json.RawMessage, error) {
	mine, err := a.CRMPrincipals(ctx, v)
	if err != nil {
		return nil, err
	}
	views, err := a.CRMViews(ctx, ids)
	if err != nil {
		return nil, err
	}
	matches := make(map[int64]json.RawMessage, len(views))
	for id, list := range views {
		if i := slices.IndexFunc(list, func(c CRMView) bool { return slices.Contains(mine, c.Principal) }); i >= 0 {
			matches[id] = list[i].Matches
		}
	}
	return matches, nil
}

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func readCRM(ctx context.Context, db queryer, ids []int64) (map[int64][]CRMView, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, `SELECT r.recording_id, o.account, o.holder, r.id, r.hash,
			max(iif(o.source IN ('webhook', 'import'), 0, o.last_order)), max(iif(o.source IN ('webhook', 'import'), o.last_order, 0)),
			b.encoding, b.body
		FROM revisions r JOIN observations o ON o.revision_id = r.id JOIN bodies b ON b.revision_id = r.id
		WHERE r.recording_id IN (SELECT value FROM json_each(?)) AND r.part = 'crm_matches' AND NOT r.empty
		GROUP BY r.recording_id, o.account, o.holder, r.id`, string(list))
	if err != nil {
		return nil, err
	}
	views := map[int64][]CRMView{}
	err = eachRow(rows, func(rows *sql.Rows) error {
		var id int64
		var account string
		var holder int
		var hash []byte
		c := CRMView{version: &version{}}
		if err := rows.Scan(&id, &account, &holder, &c.id, &hash, &c.readAt, &c.toldAt, &c.encoding, &c.body); err != nil {
			return err
		}
		copy(c.hash[:], hash)
		c.Principal = crmPrincipal(account, holder)
		at := slices.IndexFunc(views[id], func(other CRMView) bool { return other.Principal == c.Principal })
		if at < 0 {
			views[id] = append(views[id], c)
		} else if c.beats(views[id][at].version) {
			views[id][at] = c
		}
		return nil
	})
	for _, list := range views {
		slices.SortFunc(list, func(a, b CRMView) int {
			if a.id != b.id && a.beats(b.version) || a.id == b.id && a.Principal < b.Principal {
				return -1
			}
			return 1
		})
	}
	return views, err
}

// crmText says which CRM matches each account sees of a meeting, for comparing.
func (t *applying) crmText(id int64) (string, error) {
	views, err := readCRM(t.ctx, t.tx, []int64{id})
	var text []string
	for _, c := range views[id] {
		text = append(text, fmt.Sprint(c.Principal, " ", c.id))
	}
	slices.Sort(text)
	return fmt.Sprint(text), err
}

// observeCRM is observePart for CRM matches, which an account can come to see
// without another version becoming current.
func (t *applying) observeCRM(o *Observation, p shown) error {
	if p.null || p.empty {
		return t.observePart(o, p)
	}
	before, err := t.crmText(o.RecordingID)
	if err != nil {
		return err
	}
	if err := t.observePart(o, p); err != nil {
		return err
	}
	after, err := t.crmText(o.RecordingID)
	if err != nil || before == after {
		return err
	}
	return t.changed(o.RecordingID, ChangeVisibility, "")
}
