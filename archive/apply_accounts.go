package archive

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"sync"

	"minutebook/api"
	"minutebook/archive/merge"
	"minutebook/internal/rawjson"
)

// hasOtherReaders reports whether a part was read for another account before. Only
// then its versions compete by merge.CountingDates.
func (t *applying) hasOtherReaders(o *Observation, part api.Part) (others bool, err error) {
	_, err = t.Scan(`SELECT EXISTS (SELECT 1 FROM revisions r JOIN observations s ON s.revision_id = r.id
		WHERE r.recording_id = ? AND r.part = ? AND s.account <> ? AND s.source NOT IN ('webhook', 'import'))`,
		[]any{o.RecordingID, part, o.Account}, &others)
	return others, err
}

// observeShared is observePart for a part that several accounts were shown. It decides
// among all versions, since a read can change how the others count.
func (t *applying) observeShared(o *Observation, p preparedPart) error {
	id := o.RecordingID
	if p.part == api.PartMeeting {
		return t.observeSharedMeeting(o, p)
	}
	if _, _, err := t.storeRevision(o, p); err != nil {
		return err
	}
	return t.decideAmongAll(id, p.part)
}

// decideAmongAll makes the greatest of all versions of a part, which is not "meeting", the
// current version.
func (t *applying) decideAmongAll(id int64, part api.Part) error {
	versions, err := t.readCountedVersions(id, part)
	if err != nil {
		return err
	}
	var current sql.NullInt64
	if _, err := t.Scan(`SELECT revision_id FROM parts WHERE recording_id = ? AND part = ?`, []any{id, part}, &current); err != nil {
		return err
	}
	best := merge.Greatest(versions)
	if best == nil || current.Int64 == best.ID {
		return nil
	}
	raw, err := t.archive.readBody(t.Context(), t.Tx(), best.ID)
	if err != nil {
		return err
	}
	if err := t.setCurrent(id, part, best.ID, sql.NullString{}); err != nil {
		return err
	}
	if err := t.derive(id, part, raw); err != nil {
		return err
	}
	return t.logChange(id, ChangePart, part)
}

func (t *applying) observeSharedMeeting(o *Observation, p preparedPart) error {
	id := o.RecordingID
	before, err := t.readVersions(id, p.part)
	if err != nil {
		return err
	}
	v, _, err := t.storeRevision(o, p)
	if err != nil {
		return err
	}
	now := slices.DeleteFunc(slices.Clone(before), func(w *merge.Version) bool { return w.ID == v.ID })
	now = append(now, v)
	if err := t.noteRead(id, v, before, now); err != nil {
		return err
	}
	return t.decideShared(id, before, now)
}

// decideAfterListing decides a meeting's parts again after a list began or ceased to show
// the meeting. It leaves a part with an unreadable version as it is.
func (t *applying) decideAfterListing(id int64) error {
	recorder, err := t.readRecorder(id)
	if err != nil {
		return err
	}
	for _, part := range api.Parts() {
		if part == api.PartCRM { // each account has its own
			continue
		}
		before, err := t.readVersions(id, part)
		if err == nil && len(before) > 1 {
			if part == api.PartMeeting {
				err = t.decideShared(id, before, before)
			} else {
				err = t.decideAmongAll(id, part)
			}
		}
		if err != nil {
			err = t.passUnreadable(id, fmt.Errorf("part %s: %w", part, err))
		}
		if err != nil {
			return err
		}
	}
	return t.deriveOutside(id, recorder, false)
}

// decideShared decides the part "meeting" among all its versions, which are those of now and
// were those of before.
func (t *applying) decideShared(id int64, before, now []*merge.Version) error {
	versions, err := t.countVersions(id, api.PartMeeting, now)
	if err != nil || merge.HaveSameOrder(before, versions) {
		return err // the same order: nearly every read of a night
	}
	previous, err := t.mergePrevious(id, before)
	if err != nil {
		return err
	}
	merged, err := t.archive.mergeAt(t.Context(), t.Tx(), id, api.PartMeeting, versions, math.MaxInt64)
	if err != nil {
		return err
	}
	if err := t.setCurrent(id, api.PartMeeting, merged.Base, mergedColumn(merged)); err != nil {
		return err
	}
	return t.deriveChanges(id, previous, merged)
}

// mergePrevious returns the part "meeting" as it was merged when its versions were those of
// before, nil when there was none.
func (t *applying) mergePrevious(id int64, before []*merge.Version) (*merge.Result, error) {
	inputs, err := t.readInputs(id)
	if err != nil || len(inputs) == 0 {
		return nil, err
	}
	for i := range inputs {
		at := slices.IndexFunc(before, func(v *merge.Version) bool { return v.ID == inputs[i].ID })
		inputs[i].Version = before[at]
	}
	f := merge.Meeting(inputs)
	return &f, nil
}

// readVersions reads all versions of a part.
func (t *applying) readVersions(id int64, part api.Part) (versions []*merge.Version, err error) {
	err = t.Each(`SELECT id, hash, empty, read_at, counts_at, sharing_rank, told_at FROM revisions WHERE recording_id = ? AND part = ?`,
		[]any{id, part}, func(rows *sql.Rows) error {
			v := &merge.Version{}
			var hash []byte
			err := rows.Scan(&v.ID, &hash, &v.Empty, &v.ReadAt, &v.CountsAt, &v.SharingRank, &v.ReportedAt)
			copy(v.Hash[:], hash)
			versions = append(versions, v)
			return err
		})
	return versions, err
}

// readCountedVersions reads all versions of a part, counted.
func (t *applying) readCountedVersions(id int64, part api.Part) ([]*merge.Version, error) {
	versions, err := t.readVersions(id, part)
	if err != nil {
		return nil, err
	}
	return t.countVersions(id, part, versions)
}

// countVersions returns all versions of a part with their counting dates and sharing ranks,
// and stores these where they have changed. It does not change the given versions.
func (t *applying) countVersions(id int64, part api.Part, stored []*merge.Version) ([]*merge.Version, error) {
	var counts, ranks map[int64]int64
	var err error
	if len(stored) > 1 { // a single version competes with none
		counts, ranks, err = t.rankVersions(id, part, stored)
	}
	if err != nil {
		return nil, err
	}
	versions := make([]*merge.Version, len(stored))
	for i, w := range stored {
		v := *w
		versions[i] = &v
		if v.CountsAt == counts[v.ID] && v.SharingRank == ranks[v.ID] {
			continue
		}
		v.CountsAt, v.SharingRank = counts[v.ID], ranks[v.ID]
		if _, err := t.Exec(`UPDATE revisions SET counts_at = ?, sharing_rank = ? WHERE id = ?`, v.CountsAt, v.SharingRank, v.ID); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// rankVersions returns the counting dates and the sharing ranks of the versions of a part.
func (t *applying) rankVersions(id int64, part api.Part, versions []*merge.Version) (counts, ranks map[int64]int64, err error) {
	var showings []merge.Showing
	err = t.Each(`SELECT o.revision_id, o.account, o.first_order, o.last_order, `+endedTerm("?3")+` FROM revisions r JOIN observations o ON o.revision_id = r.id
		WHERE r.recording_id = ?1 AND r.part = ?2 AND o.source NOT IN ('webhook', 'import')`, []any{id, part, math.MaxInt64}, func(rows *sql.Rows) error {
		var s merge.Showing
		err := rows.Scan(&s.Version, &s.Account, &s.First, &s.Last, &s.Ended)
		showings = append(showings, s)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return t.archive.rankShown(t.Context(), t.Tx(), part, versions, showings)
}

// endedTerm is the condition on an observation o of revision r that, at a time, its account
// was not shown the meeting any more: the account had left the configuration or had another
// holder, or every list that had shown the meeting lacked it or was not read any more.
func endedTerm(at string) string {
	return `(EXISTS (SELECT 1 FROM accounts a WHERE a.name = o.account AND (a.left_at <= ` + at + ` OR a.holder > o.holder AND a.since <= ` + at + `))
		OR EXISTS (SELECT 1 FROM sightings s WHERE s.recording_id = r.recording_id AND s.account = o.account)
			AND NOT EXISTS (SELECT 1 FROM sightings s LEFT JOIN watches w USING (account, query)
				WHERE s.recording_id = r.recording_id AND s.account = o.account
				AND (s.gone_at IS NULL OR s.gone_at > ` + at + `) AND (w.ended_at IS NULL OR w.ended_at > ` + at + `)))`
}

// rankShown returns the counting dates and the sharing ranks of the versions of a part, nil
// where there are none.
func (a *Archive) rankShown(ctx context.Context, tx *sql.Tx, part api.Part, versions []*merge.Version, shown []merge.Showing) (counts, ranks map[int64]int64, err error) {
	others := slices.ContainsFunc(shown, func(s merge.Showing) bool { return s.Account != shown[0].Account })
	switch {
	case !others || part == api.PartCRM: // each account has its own matches: see observeCRM
		return nil, nil, nil
	case part != api.PartMeeting:
		return merge.CountingDates(shown, nil), nil, nil
	}
	gists, err := a.readGists(ctx, tx, versions)
	if err != nil {
		return nil, nil, err
	}
	return merge.CountingDates(shown, gists), merge.SharingRanks(shown, versions, gists), nil
}

// readGists returns the gists of versions by their IDs. It reads only bodies of which none is
// remembered: else these were most of the work of a walk that finds nothing new.
func (a *Archive) readGists(ctx context.Context, tx *sql.Tx, versions []*merge.Version) (map[int64]merge.Gist, error) {
	byID := make(map[int64]merge.Gist, len(versions))
	for _, v := range versions {
		gist, ok := a.gists.get(v.Hash)
		if !ok {
			raw, err := a.readBody(ctx, tx, v.ID)
			if err != nil {
				return nil, err
			}
			gist = merge.ReadGist(raw)
			if hash, valid := rawjson.Hash(raw); valid && hash == v.Hash { // else it is damaged, and may be repaired
				a.gists.put(hash, gist)
			}
		}
		byID[v.ID] = gist
	}
	return byID, nil
}

// recent remembers up to most values, and begins anew when there are more. It is safe for
// concurrent use.
type recent[K comparable, V any] struct {
	most   int
	mu     sync.Mutex // guards values
	values map[K]V
}

func newRecent[K comparable, V any](most int) *recent[K, V] {
	return &recent[K, V]{most: most, values: map[K]V{}}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	value, ok := r.values[key]
	return value, ok
}

func (r *recent[K, V]) put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.values) >= r.most {
		clear(r.values)
	}
	r.values[key] = value
}

func (r *recent[K, V]) forget(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.values, key)
}
