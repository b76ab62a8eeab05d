package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"minutebook/internal/bucket"
	"minutebook/internal/nearest"
	"minutebook/internal/phrase"
	"minutebook/internal/sqlite"
)

// RetentionRule limits how long the recordings of some meetings are kept.
type RetentionRule struct {
	// MediaAfter is the age at which recordings are deleted, counted from the
	// meeting's start; 0 keeps them for good.
	MediaAfter time.Duration `json:"media_after"`
	// Types and Teams, unless empty, restrict the rule to meetings of one of the
	// types and recorded by one of the teams, without regard to case.
	Types []string `json:"types,omitempty"`
	Teams []string `json:"teams,omitempty"`
}

// matches reports whether the rule applies to a meeting.
func (r RetentionRule) matches(meetingType, team string) bool {
	contains := func(list []string, value string) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, value) })
	}
	return contains(r.Types, meetingType) && contains(r.Teams, team)
}

// Expired is a meeting whose recordings a rule deletes.
type Expired struct {
	RecordingID int64     `json:"recording_id"`
	Title       string    `json:"title"`
	Start       time.Time `json:"start"`
	Rule        int       `json:"rule"`       // the first rule is 1
	Recordings  int       `json:"recordings"` // on disk; 0 when the recording waits for its download, or was put aside as damaged
	Bytes       int64     `json:"bytes"`
	// WaitsUntil is set for a meeting whose team, type or start the service has changed, and which
	// the rules kept before, until that has been known for movedNotice.
	WaitsUntil time.Time `json:"waits_until,omitzero"`
	maxAge     time.Duration
}

// Expired returns the meetings whose age is above the limit of the first rule that
// matches them, the oldest first: meetings with recordings, meetings that wait for one, and
// meetings of which a repair has put a damaged one aside. A meeting without a known start never
// expires, and neither does one that the newest reads keep, see newestTerms.
func (a *Archive) Expired(ctx context.Context, rules []RetentionRule) (expired []Expired, err error) {
	k, _, err := a.readRules(ctx)
	if err == nil {
		return a.expiredAt(ctx, rules, k.Ran, a.now())
	}
	return nil, fmt.Errorf("look for old recordings: %w", err)
}

// ruleFor returns the number of the rule that deletes the recordings of a meeting at a time,
// and 0 where they are kept.
func ruleFor(rules []RetentionRule, t terms, now time.Time) int {
	i := slices.IndexFunc(rules, func(r RetentionRule) bool { return r.matches(t.kind, t.team) })
	if i < 0 || t.start <= 0 || rules[i].MediaAfter <= 0 || now.Sub(sqlite.Time(t.start)) < rules[i].MediaAfter {
		return 0
	}
	return i + 1
}

// expiredAt is Expired at a time, with the Ran of the confirmed clock.
func (a *Archive) expiredAt(ctx context.Context, rules []RetentionRule, ran time.Duration, now time.Time) (expired []Expired, err error) {
	err = a.db.ReadTx(ctx, func(tx *sql.Tx) error {
		expired, err = a.findExpired(ctx, tx, 0, rules, ran, now)
		return err
	})
	return expired, err
}

// findExpired is expiredAt of a meeting, also of one whose recordings a rule has deleted, or of all
// where id is 0.
func (a *Archive) findExpired(ctx context.Context, tx *sql.Tx, id int64, rules []RetentionRule, ran time.Duration, now time.Time) (expired []Expired, err error) {
	damaged, err := a.readUnattached(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for old recordings: %w", err)
	}
	list, err := json.Marshal(slices.Concat(slices.Collect(maps.Values(damaged))...))
	if err != nil {
		return nil, err
	}
	only := `?2 = 0`
	if id != 0 {
		only = `recording_id = ?2`
	}
	err = sqlite.Each(ctx, tx, func(rows *sql.Rows) error {
		var e Expired
		var t terms
		if err := rows.Scan(&e.RecordingID, &e.Title, &t.kind, &t.team, &t.start, &e.Recordings, &e.Bytes); err != nil {
			return err
		}
		e.Start = sqlite.Time(t.start)
		if e.Rule = ruleFor(rules, t, now); e.Rule > 0 {
			e.maxAge = rules[e.Rule-1].MediaAfter
			expired = append(expired, e)
		}
		return nil
	}, `SELECT recording_id, title, meeting_type, recorded_by_team, sort_at, `+countAttached+`
		FROM meetings m WHERE `+only+` AND sort_at > 0 AND (EXISTS (SELECT 1 FROM attachments x WHERE x.recording_id = m.recording_id)
			OR EXISTS (SELECT 1 FROM downloads d WHERE d.recording_id = m.recording_id AND d.state IN ('wanted', iif(?2 = 0, '', 'deleted')))
			OR recording_id IN (SELECT value FROM json_each(?1)))
		ORDER BY sort_at, recording_id`, string(list), id)
	if err == nil && len(expired) > 0 {
		expired, err = a.leaveKept(ctx, tx, expired, rules, ran, now)
	}
	if err != nil {
		return nil, fmt.Errorf("look for old recordings: %w", err)
	}
	return expired, nil
}

// expiredBlob begins the marks of files without a row that are still to be deleted.
const expiredBlob = "retention/"

// deleteExpiredMedia deletes the rows of the recordings whose marks a meeting ?1 has left. It
// looks at no others, since it runs for each meeting.
const deleteExpiredMedia = `DELETE FROM media WHERE sha256 IN
	(SELECT substr(key, length('` + expiredBlob + `') + 1) FROM marks WHERE key GLOB '` + expiredBlob + `*' AND ?1)
	AND NOT EXISTS (SELECT 1 FROM attachments x WHERE x.sha256 = media.sha256)`

// deleteExpired deletes the recordings of the meetings of expired that may accepts, in the
// transaction that deletes them, and calls done after each meeting. A recording stays while another
// meeting has it. A deleted recording is not downloaded again. Each meeting leaves a
// line of the audit. After an interruption, the next run goes on. A file that the store
// refuses to delete keeps no other from being deleted, and makes the run fail at its end.
func (a *Archive) deleteExpired(ctx context.Context, expired []Expired, may func(*sql.Tx, *Expired) (bool, error), done func(Expired)) error {
	refused := map[string]error{}
	if err := a.deleteExpiredFiles(ctx, refused); err != nil {
		return fmt.Errorf("delete old recordings: %w", err)
	}
	for _, e := range expired {
		deleted, err := a.deleteRecordings(ctx, &e, may)
		if err == nil && !deleted {
			continue
		}
		if err == nil {
			err = errors.Join(a.deleteExpiredFiles(ctx, refused), a.dropUnattached(ctx, e.RecordingID, false), a.dropPartial(e.RecordingID))
		}
		if err != nil {
			return fmt.Errorf("delete the recordings of meeting %d: %w", e.RecordingID, err)
		}
		done(e)
	}
	for _, err := range refused {
		return fmt.Errorf("delete the files of old recordings, of which %d stay: %w", len(refused), err)
	}
	return nil
}

// countAttached has the number and the bytes of the recordings of a meeting.
const countAttached = `(SELECT count(*) FROM attachments x WHERE x.recording_id = m.recording_id),
	(SELECT coalesce(sum(size), 0) FROM attachments x JOIN media USING (sha256) WHERE x.recording_id = m.recording_id)`

// deleteRecordings removes a meeting's recordings if it may, in one transaction that also records
// the files to be deleted. It counts them in e again: one may have come meanwhile.
func (a *Archive) deleteRecordings(ctx context.Context, e *Expired, may func(*sql.Tx, *Expired) (bool, error)) (deleted bool, err error) {
	if err := a.blobs.Acquire(ctx, 1); err != nil {
		return false, err
	}
	defer a.blobs.Release(1)
	_, err = a.change(ctx, func(tx *sql.Tx) error {
		if err := checkKnown(ctx, tx, e.RecordingID); err != nil {
			return err
		}
		if deleted, err = may(tx, e); err != nil || !deleted {
			return err
		}
		now := a.now()
		t := sqlite.NewStatements(ctx, tx)
		if _, err := t.Scan(`SELECT `+countAttached+` FROM meetings m WHERE recording_id = ?`, []any{e.RecordingID}, &e.Recordings, &e.Bytes); err != nil {
			return err
		}
		for _, step := range []string{
			`INSERT OR REPLACE INTO marks (key, value) SELECT '` + expiredBlob + `' || sha256, x'31' FROM
				(SELECT sha256 FROM attachments WHERE recording_id = ?1 UNION SELECT sha256 FROM downloads WHERE recording_id = ?1 AND sha256 <> '')`,
			`DELETE FROM attachments WHERE recording_id = ?1`,
			`INSERT INTO downloads (recording_id, state, due_at, reason) VALUES (?1, 'deleted', 0, 'a retention rule')
				ON CONFLICT (recording_id) DO UPDATE SET state = excluded.state, reason = excluded.reason, sha256 = ''`,
			deleteExpiredMedia,
		} {
			if _, err := t.Exec(step, e.RecordingID); err != nil {
				return err
			}
		}
		if _, err := t.Exec(`UPDATE failures SET resolved_at = ?, next_try_at = NULL
			WHERE recording_id = ? AND class = 'download' AND resolved_at IS NULL`, now.UnixMilli(), e.RecordingID); err != nil {
			return err
		}
		if e.Recordings == 0 {
			return nil // no recording was deleted; only the download ends
		}
		if err := e.note(t, now); err != nil {
			return err
		}
		if err := deriveMedia(ctx, tx, e.RecordingID); err != nil {
			return err
		}
		return logChange(ctx, tx, e.RecordingID, ChangeMedia, "", now)
	})
	if errors.Is(err, ErrForgotten) {
		return true, nil
	}
	return deleted, err
}

// note writes into the audit which rule deleted the recordings.
func (e Expired) note(t *sqlite.Statements, now time.Time) error {
	days := int64(e.maxAge / (24 * time.Hour))
	_, err := t.Exec(`INSERT INTO audit (at, action, recording_id, reason, detail) VALUES (?, 'retention', ?, ?, ?)`,
		now.UnixMilli(), e.RecordingID, fmt.Sprintf("rule %d: recordings are kept %s", e.Rule, phrase.Count(days, "day", "days")),
		fmt.Sprintf("%s, %d bytes", phrase.Recordings(e.Recordings), e.Bytes))
	return err
}

// deleteExpiredFiles deletes the files recorded by deleteRecordings, unless a
// meeting has them. It adds to refused those that the store refuses to delete, and passes over
// those that are in it.
func (a *Archive) deleteExpiredFiles(ctx context.Context, refused map[string]error) error {
	marks, err := a.Marks(ctx, expiredBlob)
	if err != nil {
		return err
	}
	for key := range marks {
		sha := strings.TrimPrefix(key, expiredBlob)
		if refused[sha] != nil {
			continue
		}
		switch _, err := a.DropBlob(ctx, sha); {
		case err == nil || errors.Is(err, ErrNotFound):
		case bucket.IsRefused(err): // perhaps for this one alone
			refused[sha] = err
			continue
		default:
			return err
		}
		if err := a.SetMarks(ctx, Mark{Key: key}); err != nil {
			return err
		}
	}
	return nil
}

// UnknownName is a team or a meeting type that a rule names, and that neither a meeting
// nor the service's list has: by it the rule fits no meeting.
type UnknownName struct {
	Rule    int    `json:"rule"` // the first rule is 1
	Kind    string `json:"kind"` // team or meeting type
	Name    string `json:"name"`
	Nearest string `json:"nearest,omitempty"` // the one that may be meant
}

// String says so to a person.
func (n UnknownName) String() string {
	text := fmt.Sprintf("retention rule %d names the %s %q, which no meeting has", n.Rule, n.Kind, n.Name)
	if n.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", n.Nearest)
	}
	return text
}

// UnknownNames returns the names in rules that nothing has. While the archive knows no team at
// all, it returns no teams, and while it knows no meeting type, no types.
func (a *Archive) UnknownNames(ctx context.Context, rules []RetentionRule) (unknown []UnknownName, err error) {
	for _, list := range []struct {
		kind, query string
		names       func(RetentionRule) []string
	}{
		{"team", `SELECT DISTINCT recorded_by_team FROM meetings WHERE recorded_by_team <> '' UNION SELECT name FROM teams`,
			func(r RetentionRule) []string { return r.Teams }},
		{"meeting type", `SELECT DISTINCT meeting_type FROM meetings WHERE meeting_type <> '' UNION SELECT name FROM meeting_types`,
			func(r RetentionRule) []string { return r.Types }},
	} {
		if !slices.ContainsFunc(rules, func(r RetentionRule) bool { return len(list.names(r)) > 0 }) {
			continue
		}
		var known []string
		err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			known = append(known, name)
			return err
		}, list.query)
		if err != nil {
			return nil, fmt.Errorf("list each %s: %w", list.kind, err)
		}
		for i, r := range rules {
			for _, name := range list.names(r) {
				if len(known) > 0 && !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
					unknown = append(unknown, UnknownName{Rule: i + 1, Kind: list.kind, Name: name, Nearest: nearest.Word(name, known)})
				}
			}
		}
	}
	return unknown, nil
}
