package archive

import (
	"database/sql"
	"encoding/json"
	"slices"

	"minutebook/api"
)

// keepRevision stores what was shown, unless it is held, and moves its dates. It
// returns the version as it is now and, when it was held, as it was.
func (t *applying) keepRevision(o *Observation, p shown) (v, before *version, err error) {
	v = &version{hash: p.hash}
	found, err := t.Scan(`SELECT id, empty, read_at, told_at FROM revisions WHERE recording_id = ? AND part = ? AND hash = ?`,
		[]any{o.RecordingID, p.part, p.hash[:]}, &v.id, &v.empty, &v.readAt, &v.toldAt)
	if err != nil {
		return nil, nil, err
	}
	if found {
		before = &version{}
		*before = *v
	}
	v.empty = p.empty // which an earlier version may have judged otherwise
	order, err := t.order(o, v.id)
	if err != nil {
		return nil, nil, err
	}
	if o.Source.read() {
		v.readAt = max(v.readAt, order)
	} else {
		v.toldAt = max(v.toldAt, order)
	}
	if found {
		err = t.againRevision(v, before, p)
	} else {
		err = t.newRevision(o, v, p)
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
		v.id, o.Account, o.Source, max(o.At.UnixMilli(), 1), order)
	return v, before, err
}

// order is an observation's number; revision is 0 when its content is new.
func (t *applying) order(o *Observation, revision int64) (int64, error) {
	var known int64
	if o.Source == SourceCallback && revision != 0 {
		_, err := t.Scan(`SELECT last_order FROM observations WHERE revision_id = ? AND account = ? AND source = ?
			AND ? BETWEEN first_at AND last_at`, []any{revision, o.Account, o.Source, o.At.UnixMilli()}, &known)
		if err != nil {
			return 0, err
		}
	}
	return t.archive.orderOf(o, known), nil
}

func (t *applying) newRevision(o *Observation, v *version, p shown) error {
	res, err := t.Exec(`INSERT INTO revisions (recording_id, part, hash, empty, read_at, told_at) VALUES (?, ?, ?, ?, ?, ?)`,
		o.RecordingID, p.part, p.hash[:], p.empty, v.readAt, v.toldAt)
	if err != nil {
		return err
	}
	if v.id, err = res.LastInsertId(); err != nil {
		return err
	}
	t.applied.Revisions++
	if p.packed == nil {
		p.encoding, p.packed = t.archive.codec.pack(p.raw)
	}
	_, err = t.Exec(`INSERT INTO bodies (revision_id, raw_hash, size, encoding, body) VALUES (?, ?, ?, ?, ?)`,
		v.id, p.rawHash, len(p.raw), p.encoding, p.packed)
	return err
}

func (t *applying) againRevision(v, before *version, p shown) error {
	if *v != *before {
		_, err := t.Exec(`UPDATE revisions SET read_at = ?, told_at = ?, empty = ? WHERE id = ?`, v.readAt, v.toldAt, v.empty, v.id)
		if err != nil {
			return err
		}
	}
	var held int64
	if _, err := t.Scan(`SELECT raw_hash FROM bodies WHERE revision_id = ?`, []any{v.id}, &held); err != nil {
		return err
	}
	if !keepsBytes(p.rawHash, held) {
		return nil
	}
	encoding, body := t.archive.codec.pack(p.raw)
	_, err := t.Exec(`UPDATE bodies SET raw_hash = ?, size = ?, encoding = ?, body = ? WHERE revision_id = ?`,
		p.rawHash, len(p.raw), encoding, body, v.id)
	return err
}

// decide makes v the current version of a part if it beats the one that is.
func (t *applying) decide(id int64, part api.Part, v *version, raw []byte) ([]byte, bool, error) {
	held := &version{}
	var hash []byte
	found, err := t.Scan(`SELECT r.id, r.hash, r.empty, r.read_at, r.told_at FROM parts p JOIN revisions r ON r.id = p.revision_id
		WHERE p.recording_id = ? AND p.part = ?`, []any{id, part}, &held.id, &hash, &held.empty, &held.readAt, &held.toldAt)
	if err != nil {
		return nil, false, err
	}
	copy(held.hash[:], hash)
	if found && (held.id == v.id || !v.beats(held)) {
		return nil, false, nil
	}
	return raw, true, t.setCurrent(id, part, v.id, sql.NullString{})
}

// decideMeeting folds v into the versions that the part "meeting" is made of.
// was is nil when there was none.
func (t *applying) decideMeeting(id int64, v, before *version, raw []byte) (was *folded, now folded, err error) {
	held, err := t.editions(id)
	if err != nil {
		return nil, folded{}, err
	}
	all := slices.Clone(held)
	if at := slices.IndexFunc(held, func(e edition) bool { return e.id == v.id }); at >= 0 {
		held[at].version = before // the rows are newer than what was current
	} else {
		all = append(all, edition{v, raw})
	}
	if len(held) > 0 {
		f := fold(held)
		was = &f
		if f.base == v.id {
			return was, f, nil // the greatest stays so, and so does all below it
		}
	}
	now = fold(all)
	return was, now, t.setCurrent(id, api.PartMeeting, now.base, foldedColumn(now))
}

// editions reads the versions that the current part "meeting" is folded of.
func (t *applying) editions(id int64) ([]edition, error) {
	var editions []edition
	err := t.Each(`SELECT r.id, r.hash, r.empty, r.read_at, r.told_at, b.encoding, b.body
		FROM parts p JOIN revisions r ON r.id = p.revision_id OR r.id IN (SELECT value FROM json_each(p.folded))
		JOIN bodies b ON b.revision_id = r.id
		WHERE p.recording_id = ? AND p.part = 'meeting' AND p.revision_id IS NOT NULL`, []any{id}, func(rows *sql.Rows) error {
		e, err := t.archive.scanEdition(rows)
		editions = append(editions, e)
		return err
	})
	return editions, err
}

// scanEdition reads id, hash, empty, read_at, told_at, encoding and body.
func (a *Archive) scanEdition(rows *sql.Rows) (edition, error) {
	e := edition{version: &version{}}
	var hash, body []byte
	var encoding int
	if err := rows.Scan(&e.id, &hash, &e.empty, &e.readAt, &e.toldAt, &encoding, &body); err != nil {
		return e, err
	}
	copy(e.hash[:], hash)
	var err error
	e.raw, err = a.codec.unpack(encoding, body)
	return e, err
}

// foldedColumn is parts.folded: null when one version is all that is needed.
func foldedColumn(f folded) sql.NullString {
	if len(f.kept) < 2 {
		return sql.NullString{}
	}
	ids, _ := json.Marshal(f.kept) // integers always marshal
	return sql.NullString{String: string(ids), Valid: true}
}

func (t *applying) setCurrent(id int64, part api.Part, revision int64, folded sql.NullString) error {
	_, err := t.Exec(`INSERT INTO parts (recording_id, part, revision_id, folded) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET revision_id = excluded.revision_id, folded = excluded.folded`, id, part, revision, folded)
	return err
}
