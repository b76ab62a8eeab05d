package archive

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"minutebook/api"
	"minutebook/archive/merge"
)

// storeRevision stores a shown part unless it is stored, and moves its dates. It returns
// the version as it is now and, when it was stored before, as it was.
func (t *applying) storeRevision(o *Observation, p preparedPart) (v, before *merge.Version, err error) {
	v = &merge.Version{Hash: p.hash}
	found, err := t.Scan(`SELECT id, empty, read_at, counts_at, sharing_rank, told_at FROM revisions WHERE recording_id = ? AND part = ? AND hash = ?`,
		[]any{o.RecordingID, p.part, p.hash[:]}, &v.ID, &v.Empty, &v.ReadAt, &v.CountsAt, &v.SharingRank, &v.ReportedAt)
	if err != nil {
		return nil, nil, err
	}
	if found {
		before = &merge.Version{}
		*before = *v
	}
	v.Empty = p.empty // which an earlier version may have judged otherwise
	order, err := t.takeOrder(o, v.ID)
	if err != nil {
		return nil, nil, err
	}
	if o.Source.read() {
		v.ReadAt = max(v.ReadAt, order)
	} else {
		v.ReportedAt = max(v.ReportedAt, order)
	}
	if found {
		err = t.updateRevision(v, before, p)
	} else {
		err = t.insertRevision(o, v, p)
	}
	if err != nil {
		return nil, nil, err
	}
	_, err = t.Exec(`INSERT INTO observations (revision_id, account, source, first_at, last_at, first_order, last_order, holder)
		VALUES (?, ?, ?, ?4, ?4, ?5, ?5, `+holderTerm("?2")+`)
		ON CONFLICT DO UPDATE SET first_at = min(first_at, excluded.first_at), first_order = min(first_order, excluded.first_order),
			last_at = iif((excluded.last_order, excluded.last_at) > (last_order, last_at), excluded.last_at, last_at),
			last_order = max(last_order, excluded.last_order), holder = max(holder, excluded.holder)
		WHERE excluded.holder > holder OR excluded.first_at < first_at OR excluded.first_order < first_order
			OR (excluded.last_order, excluded.last_at) > (last_order, last_at)`,
		v.ID, o.Account, o.Source, max(o.At.UnixMilli(), 1), order)
	return v, before, err
}

// takeOrder returns an observation's number in the order of reads. revision is 0
// when its content is new.
func (t *applying) takeOrder(o *Observation, revision int64) (int64, error) {
	var given int64
	if o.Source == SourceCallback && revision != 0 {
		_, err := t.Scan(`SELECT last_order FROM observations WHERE revision_id = ? AND account = ? AND source = ?
			AND ? BETWEEN first_at AND last_at`, []any{revision, o.Account, o.Source, o.At.UnixMilli()}, &given)
		if err != nil {
			return 0, err
		}
	}
	return t.archive.takeOrder(o, given), nil
}

func (t *applying) insertRevision(o *Observation, v *merge.Version, p preparedPart) error {
	res, err := t.Exec(`INSERT INTO revisions (recording_id, part, hash, empty, read_at, told_at) VALUES (?, ?, ?, ?, ?, ?)`,
		o.RecordingID, p.part, p.hash[:], p.empty, v.ReadAt, v.ReportedAt)
	if err != nil {
		return err
	}
	if v.ID, err = res.LastInsertId(); err != nil {
		return err
	}
	t.applied.Revisions++
	if p.packed == nil {
		p.encoding, p.packed = t.archive.codec.pack(p.raw)
	}
	_, err = t.Exec(`INSERT INTO bodies (revision_id, raw_hash, size, encoding, body) VALUES (?, ?, ?, ?, ?)`,
		v.ID, p.rawHash, len(p.raw), p.encoding, p.packed)
	return err
}

func (t *applying) updateRevision(v, before *merge.Version, p preparedPart) error {
	if *v != *before {
		_, err := t.Exec(`UPDATE revisions SET read_at = ?, told_at = ?, empty = ? WHERE id = ?`, v.ReadAt, v.ReportedAt, v.Empty, v.ID)
		if err != nil {
			return err
		}
	}
	var storedHash int64
	if _, err := t.Scan(`SELECT raw_hash FROM bodies WHERE revision_id = ?`, []any{v.ID}, &storedHash); err != nil {
		return err
	}
	if !merge.PrefersBytes(p.rawHash, storedHash) {
		return nil
	}
	encoding, body := t.archive.codec.pack(p.raw)
	_, err := t.Exec(`UPDATE bodies SET raw_hash = ?, size = ?, encoding = ?, body = ? WHERE revision_id = ?`,
		p.rawHash, len(p.raw), encoding, body, v.ID)
	return err
}

// decide makes v the current version of a part if it beats the one that is.
func (t *applying) decide(id int64, part api.Part, v *merge.Version, raw []byte) ([]byte, bool, error) {
	current := &merge.Version{}
	var hash []byte
	found, err := t.Scan(`SELECT r.id, r.hash, r.empty, r.read_at, r.counts_at, r.told_at FROM parts p JOIN revisions r ON r.id = p.revision_id
		WHERE p.recording_id = ? AND p.part = ?`, []any{id, part}, &current.ID, &hash, &current.Empty, &current.ReadAt, &current.CountsAt, &current.ReportedAt)
	if err != nil {
		return nil, false, err
	}
	copy(current.Hash[:], hash)
	if found && (current.ID == v.ID || !v.Beats(current)) {
		return nil, false, nil
	}
	return raw, true, t.setCurrent(id, part, v.ID, sql.NullString{})
}

// decideMeeting folds v into the versions that the part "meeting" is made of.
// previous is nil when there was none.
func (t *applying) decideMeeting(id int64, v, before *merge.Version, raw []byte) (previous *merge.Result, now merge.Result, err error) {
	inputs, err := t.readInputs(id)
	if err != nil {
		return nil, merge.Result{}, err
	}
	all := slices.Clone(inputs)
	if place := slices.IndexFunc(inputs, func(e merge.Input) bool { return e.ID == v.ID }); place >= 0 {
		inputs[place].Version = before // the rows are newer than the current version
	} else {
		all = append(all, merge.Input{Version: v, Raw: raw})
	}
	if len(inputs) > 0 {
		f := merge.Meeting(inputs)
		previous = &f
	}
	now = merge.Meeting(all)
	return previous, now, t.setCurrent(id, api.PartMeeting, now.Base, mergedColumn(now))
}

// readInputs reads the versions of which the current part "meeting" is merged.
func (t *applying) readInputs(id int64) ([]merge.Input, error) {
	var inputs []merge.Input
	err := t.Each(`SELECT r.id, r.hash, r.empty, r.read_at, r.counts_at, r.sharing_rank, r.told_at, b.encoding, b.body`+mergedRows, []any{id}, func(rows *sql.Rows) error {
		e, err := t.archive.scanVersion(rows)
		inputs = append(inputs, e)
		return err
	})
	return inputs, err
}

// mergedRows are the rows of the versions of which the current part "meeting" is merged.
const mergedRows = ` FROM parts p JOIN revisions r ON r.id = p.revision_id OR r.id IN (SELECT value FROM json_each(p.folded))
	JOIN bodies b ON b.revision_id = r.id
	WHERE p.recording_id = ? AND p.part = 'meeting' AND p.revision_id IS NOT NULL`

// mergedPart is a part "meeting" that was merged of several versions, and their state.
type mergedPart struct {
	state string
	raw   json.RawMessage // shared, and not changed
}

// readMerged returns a part "meeting" that is merged of several versions. It merges them only
// where they are not those of the last time: lists that are read show the same again and again.
func (t *applying) readMerged(id int64) (json.RawMessage, error) {
	var state string
	_, err := t.Scan(`SELECT coalesce(p.revision_id || p.folded || group_concat(concat_ws(' ', r.id, r.empty, r.read_at, r.counts_at, r.sharing_rank, r.told_at, b.raw_hash)), '')`+
		mergedRows, []any{id}, &state)
	if err != nil {
		return nil, err
	}
	if known, ok := t.archive.merged.get(id); ok && known.state == state {
		return known.raw, nil
	}
	inputs, err := t.readInputs(id)
	if err == nil && len(inputs) == 0 {
		err = fmt.Errorf("%w: no version has its bytes", ErrUnreadable)
	}
	if err != nil {
		return nil, err
	}
	raw := json.RawMessage(slices.Clip(merge.Meeting(inputs).Raw))
	t.archive.merged.put(id, mergedPart{state, raw})
	return raw, nil
}

// scanVersion reads id, hash, empty, read_at, counts_at, sharing_rank, told_at, encoding
// and body.
func (a *Archive) scanVersion(rows *sql.Rows) (merge.Input, error) {
	e := merge.Input{Version: &merge.Version{}}
	var hash, body []byte
	var encoding int
	if err := rows.Scan(&e.ID, &hash, &e.Empty, &e.ReadAt, &e.CountsAt, &e.SharingRank, &e.ReportedAt, &encoding, &body); err != nil {
		return e, err
	}
	copy(e.Hash[:], hash)
	var err error
	e.Raw, err = a.codec.unpack(encoding, body)
	return e, err
}

// mergedColumn returns the value of parts.folded: null when one version is all that
// is needed.
func mergedColumn(f merge.Result) sql.NullString {
	if len(f.Needed) < 2 {
		return sql.NullString{}
	}
	ids, _ := json.Marshal(f.Needed) // integers always marshal
	return sql.NullString{String: string(ids), Valid: true}
}

func (t *applying) setCurrent(id int64, part api.Part, revision int64, merged sql.NullString) error {
	_, err := t.Exec(`INSERT INTO parts (recording_id, part, revision_id, folded) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET revision_id = excluded.revision_id, folded = excluded.folded`, id, part, revision, merged)
	return err
}
