package archive

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// AccountSetting is an account as the configuration has it.
type AccountSetting struct {
	Name  string
	Email string // of its owner; "": unknown
	// Credential is a digest that differs when the credential does; "": not known.
	Credential string
	Queries    []string // the list queries that are read, by Observation.Query
}

// configuredTerm is the condition on the column account for accounts that have not
// left the configuration. An account's lists of the organisation end with the
// account.
const configuredTerm = `account NOT IN (SELECT name FROM accounts WHERE left_at IS NOT NULL)`

// readTerm is the condition on the column account for accounts that are read: they are
// configured, and the service accepts them.
const readTerm = configuredTerm + ` AND account NOT IN (SELECT account FROM directory_lists WHERE list = '` + suspendedList + `')`

// readUsersTerm is readTerm for accounts that may read users.
const readUsersTerm = readTerm + ` AND account NOT IN (SELECT account FROM directory_lists WHERE list = '` + endedList + `')`

// endUnread drops the rows of a table that accounts showed which are not read any more, when
// the service shows another account its whole list. This program's own directory is no list of
// the service.
func endUnread(table, account, where string, args ...any) rowReplacement {
	const scope = "?1 <> '" + LocalAccount + "' AND account NOT IN (?1, '" + LocalAccount + "') AND NOT (" + readTerm + ")"
	return rowReplacement{table: table, scope: scope + where, args: append([]any{account}, args...)}
}

// removedUsers are the users, as one JSON list, who have been removed where the whole list of an
// account ?1 lacks them, and addRemoved adds those to its users, as deactivated. These are the
// persons of suspended accounts, and users who were deactivated or removed before, unless an
// account of theirs is read. A person of a suspended account may have another address in the
// list, or be of another organisation. So only a person counts whom the list had before, who
// recorded a meeting of the account's plain list (4.1), or whom only lists have that are not read.
const (
	removedUsers = `SELECT json_group_array(DISTINCT email) FROM (
		SELECT email FROM account_people p WHERE ` + configuredTerm + ` AND account IN (SELECT account FROM directory_lists WHERE list = '` + suspendedList + `')
			AND (EXISTS (SELECT 1 FROM users WHERE account = ?1 AND email = p.email)
				OR EXISTS (SELECT 1 FROM users WHERE email = p.email AND account <> '` + LocalAccount + `')
					AND NOT EXISTS (SELECT 1 FROM users WHERE email = p.email AND account <> '` + LocalAccount + `' AND status <> '` + api.StatusDeactivated + `' AND ` + readTerm + `)
				OR EXISTS (SELECT 1 FROM meetings m JOIN sightings s USING (recording_id) WHERE m.recorder = p.email AND s.account = ?1 AND s.query = ''))
		UNION SELECT email FROM users WHERE account = ?1 AND status = '` + api.StatusDeactivated + `')
		WHERE email NOT IN (SELECT email FROM account_people WHERE ` + readTerm + `)`
	addRemoved = `INSERT INTO users (account, email, status, settings_level, settings_teams, view_level, view_teams)
		SELECT ?1, value, '` + api.StatusDeactivated + `', '', '[]', '', '[]' FROM json_each(?2)
		WHERE value NOT IN (SELECT email FROM users WHERE account = ?1)`
)

// holderTerm is the present holder of an account: which person after another it
// belongs to, counted from 1.
func holderTerm(account string) string {
	return `coalesce((SELECT holder FROM accounts WHERE name = ` + account + `), 1)`
}

// ownerTerm is whom an account belongs to: its address, or its name where that is not known.
// A text that names no account stays as it is.
func ownerTerm(account string) string {
	return `coalesce((SELECT nullif(email, '') FROM accounts WHERE name = ` + account + `), ` + account + `)`
}

// SetAccounts sets all accounts of the configuration. It is called whenever the
// configuration was read. At once the rights end that other accounts gave their
// persons, and the rights from queries that are no longer read, and values of shared_with
// that only such an account was shown give way to those that others were shown. The
// meetings stay and are not watched from now on. An account with another address or another
// credential has another holder, who sees only meetings that are shown from now on.
//
// The accounts are in force when it returns nil. Where values of shared_with could not be
// decided again, on a full disk for instance, SetAccounts logs this, and its next call or the
// next opening decides.
func (a *Archive) SetAccounts(ctx context.Context, settings []AccountSetting) error {
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		before, err := accountsText(ctx, tx)
		if err != nil {
			return err
		}
		for _, s := range settings {
			if err := t.setAccount(s); err != nil {
				return fmt.Errorf("account %s: %w", s.Name, err)
			}
		}
		if err := t.endAccounts(settings); err != nil {
			return err
		}
		after, err := accountsText(ctx, tx)
		if err != nil || before == after {
			return err
		}
		if err := t.deriveOutsideWhere(true, true, `1`); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE walks SET doubted = -2 WHERE doubted <= 0`); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE info SET value = ? WHERE name = 'merge_rules'`, mergeOtherAccounts); err != nil {
			return err
		}
		return logChange(ctx, tx, 0, ChangeDirectory, "", a.now())
	})
	if err != nil {
		return fmt.Errorf("set accounts: %w", err)
	}
	if err := a.remerge(ctx); err != nil {
		a.log.Error().Err(err).Msg("the accounts have changed, and some meetings are still as the former ones were shown them; reload or restart to try again")
	}
	return nil
}

// accountsText is all that SetAccounts writes, for comparing.
func accountsText(ctx context.Context, tx *sql.Tx) (all string, err error) {
	for _, table := range []string{"accounts", "account_people", "watches"} {
		text, err := tableText(ctx, tx, table, "1", nil)
		if err != nil {
			return "", err
		}
		all += text + "\n"
	}
	return all, nil
}

// setAccount writes one account, its person and its queries.
func (t *applying) setAccount(s AccountSetting) error {
	if err := t.setHolder(s.Name, api.FoldEmail(s.Email), s.Credential); err != nil {
		return err
	}
	if _, err := t.Exec(`DELETE FROM account_people WHERE account = ?1 AND email <> ?2`, s.Name, api.FoldEmail(s.Email)); err != nil {
		return err
	}
	if s.Email != "" {
		_, err := t.Exec(`INSERT INTO account_people (account, email) VALUES (?, ?) ON CONFLICT DO NOTHING`, s.Name, api.FoldEmail(s.Email))
		if err != nil {
			return err
		}
	}
	queries, err := sqlite.Column[string](t.Context(), t, `SELECT query FROM watches WHERE account = ?`, s.Name)
	if err != nil {
		return err
	}
	for _, query := range queries {
		_, err := t.Exec(`UPDATE watches SET ended_at = iif(?3, NULL, coalesce(ended_at, ?4)) WHERE account = ?1 AND query = ?2`,
			s.Name, query, slices.Contains(s.Queries, query), t.at.UnixMilli())
		if err != nil {
			return err
		}
	}
	return nil
}

// setHolder records an account's holder. An address or credential that is unknown, now
// or before, proves no other holder.
func (t *applying) setHolder(name, email, credential string) error {
	var knownEmail, knownCredential string
	found, err := t.Scan(`SELECT email, credential FROM accounts WHERE name = ?`, []any{name}, &knownEmail, &knownCredential)
	if err == nil && !found {
		_, err = t.Exec(`INSERT INTO accounts (name, holder, email, credential, since)
			VALUES (?1, 1, coalesce((SELECT email FROM account_people WHERE account = ?1), ''), '', ?2)`, name, t.at.UnixMilli())
		if err == nil {
			return t.setHolder(name, email, credential)
		}
	}
	if err != nil {
		return err
	}
	if email != "" && email != knownEmail {
		if err := t.keepForbidden(name, knownEmail, credential != "" && credential == knownCredential); err != nil {
			return err
		}
	}
	hasOther := isOther(knownEmail, email) || isOther(knownCredential, credential)
	// A new key is the same person's where the address is, see ownerTerm.
	hasOtherOwner := isOther(knownEmail, email) || hasOther && (knownEmail == "" || email == "")
	_, err = t.Exec(`UPDATE accounts SET left_at = NULL, holder = holder + ?2, since = iif(?2, ?3, since),
		owned_since = iif(?6, ?3, owned_since), email = iif(?4 = '', email, ?4), credential = iif(?5 = '', credential, ?5) WHERE name = ?1`,
		name, hasOther, t.at.UnixMilli(), email, credential, hasOtherOwner)
	if err == nil && hasOther {
		_, err = t.Exec(endWalks, name)
	}
	return err
}

// keepForbidden leaves recordings forbidden to the person with an address whose account gets
// another one, or becomes another person's. A credential is one person's (specification 5.2):
// where it is the same, they stay forbidden to the account as well. It logs all that are
// forbidden to somebody, since an address tells whom.
func (t *applying) keepForbidden(account, email string, isSamePerson bool) error {
	var ids []int64
	err := t.Each(`UPDATE downloads SET forbidden_to = (SELECT json_group_array(value) FROM (
			SELECT value FROM json_each(forbidden_to) WHERE value <> ?1 OR ?2 = '' OR ?3
			UNION SELECT value FROM (SELECT ?1 AS value WHERE ?3 UNION SELECT ?2) WHERE ?2 IN (SELECT `+ownerTerm("value")+` FROM json_each(forbidden_to))))
		WHERE forbidden_to <> '[]' RETURNING recording_id`, []any{account, email, isSamePerson}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	for _, id := range ids {
		err = cmp.Or(err, t.logChange(id, ChangeMedia, ""))
	}
	return err
}

func isOther(before, now string) bool { return before != "" && now != "" && before != now }

// HolderSince returns since when an account has its present holder: no earlier read says which
// meetings that one sees. It is zero for an account that no configuration has named.
func (a *Archive) HolderSince(ctx context.Context, account string) (time.Time, error) {
	var since int64
	err := a.db.R.QueryRowContext(ctx, `SELECT since FROM accounts WHERE name = ?`, account).Scan(&since)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read since when account %s has its holder: %w", account, err)
	}
	return time.UnixMilli(since), nil
}

// endAccounts ends all but the configured accounts.
func (t *applying) endAccounts(settings []AccountSetting) error {
	names, err := sqlite.Column[string](t.Context(), t, `SELECT account FROM watches UNION SELECT account FROM account_people UNION SELECT name FROM accounts
		UNION SELECT account FROM users UNION SELECT account FROM teams UNION SELECT account FROM team_members
		UNION SELECT account FROM meeting_types`)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == LocalAccount || slices.ContainsFunc(settings, func(s AccountSetting) bool { return s.Name == name }) {
			continue
		}
		if err := t.endAccount(name); err != nil {
			return fmt.Errorf("account %s: %w", name, err)
		}
	}
	return nil
}

func (t *applying) endAccount(name string) error {
	for _, step := range []string{
		`INSERT INTO accounts (name, holder, email, credential, since, left_at)
			VALUES (?1, 1, coalesce((SELECT email FROM account_people WHERE account = ?1), ''), '', ?2, ?2)
			ON CONFLICT DO UPDATE SET left_at = coalesce(left_at, excluded.left_at)`,
		`UPDATE watches SET ended_at = coalesce(ended_at, ?2) WHERE account = ?1`,
		`DELETE FROM account_people WHERE account = ?1 AND ?2`,
	} {
		if _, err := t.Exec(step, name, t.at.UnixMilli()); err != nil {
			return err
		}
	}
	_, err := t.Exec(endWalks, name)
	return err
}

// recordWatch records that a query of an account shows meetings. From the first plain list
// on, the plain lists decide who belongs to the organisation.
func (t *applying) recordWatch(account, query string) error {
	var ignored int
	if watched, err := t.Scan(`SELECT 1 FROM watches WHERE account = ? AND query = ?`, []any{account, query}, &ignored); watched || err != nil {
		return err
	}
	hasPlainList, err := t.Scan(`SELECT 1 FROM watches WHERE query = '' LIMIT 1`, nil, &ignored)
	if err != nil {
		return err
	}
	if _, err := t.Exec(`INSERT INTO watches (account, query) VALUES (?, ?)`, account, query); err != nil {
		return err
	}
	if query == "" && !hasPlainList {
		if err := t.deriveOutsideWhere(true, true, `1`); err != nil {
			return err
		}
	}
	_, err = t.Exec(`INSERT INTO changes (recording_id, kind, part, at) SELECT 0, ?, '', ?
		WHERE EXISTS (SELECT 1 FROM account_people WHERE account = ?)`, ChangeDirectory, t.at.UnixMilli(), account)
	return err
}

// NoteListRead notes that a list query of an account was read, whether it showed something
// or nothing, by the service's clock if that is known. Meetings recorded before the first read
// for the account's present holder are history of that list.
func (a *Archive) NoteListRead(ctx context.Context, account, query string, at time.Time) error {
	var known bool
	err := a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM first_reads WHERE account = ?1 AND query = ?2
		AND holder = `+holderTerm("?1")+` AND at <= ?3)`, account, query, at.UnixMilli()).Scan(&known)
	if err == nil && !known {
		err = a.db.WriteTx(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO first_reads (account, query, holder, at) VALUES (?1, ?2, `+holderTerm("?1")+`, ?3)
				ON CONFLICT DO UPDATE SET at = min(at, excluded.at)`, account, query, at.UnixMilli())
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("note that list %q of %s is read: %w", query, account, err)
	}
	return nil
}

// ListedBy returns the accounts whose lists have shown a meeting to their present
// holders: none for a meeting that was only delivered or imported.
func (a *Archive) ListedBy(ctx context.Context, id int64) ([]string, error) {
	accounts, err := sqlite.Column[string](ctx, a.db.R, `SELECT DISTINCT s.account FROM sightings s LEFT JOIN accounts a ON a.name = s.account
		WHERE s.recording_id = ? AND s.holder = coalesce(a.holder, 1)`, id)
	if err != nil {
		return nil, fmt.Errorf("read who lists %d: %w", id, err)
	}
	return accounts, nil
}

// FirstShown returns when a meeting was first shown to anybody here, zero where its parts are not
// in the archive.
func (a *Archive) FirstShown(ctx context.Context, id int64) (time.Time, error) {
	var at sql.NullInt64
	err := a.db.R.QueryRowContext(ctx, `SELECT min(o.first_at) FROM observations o JOIN revisions r ON r.id = o.revision_id
		WHERE r.recording_id = ?`, id).Scan(&at)
	if err != nil {
		return time.Time{}, fmt.Errorf("read when %d was first shown: %w", id, err)
	}
	return sqlite.NullTime(at), nil
}

// SeenBy returns the accounts that have been shown a meeting, in the order of
// their names.
func (a *Archive) SeenBy(ctx context.Context, id int64) ([]string, error) {
	accounts, err := sqlite.Column[string](ctx, a.db.R, `SELECT account FROM sightings WHERE recording_id = ?1 AND gone_at IS NULL
		UNION SELECT o.account FROM observations o JOIN revisions r ON r.id = o.revision_id
		WHERE r.recording_id = ?1 ORDER BY account`, id)
	if err != nil {
		return nil, fmt.Errorf("read who sees %d: %w", id, err)
	}
	return accounts, nil
}
