package roster

import (
	"cmp"
	"context"
	"slices"

	"minutebook/archive"
)

// News is a meeting that arrived or changed.
type News struct {
	RecordingID int64
	IsNew       bool  // it arrived after the position
	Last        int64 // its last change
}

// News returns the meetings that arrived or changed after a position and that the viewer
// sees, the latest change first: at most limit of them, and how many there are. Changes of
// CRM matches count for the owner alone: another viewer may not see them. The position
// until which it looked is returned too; a position of an earlier epoch counts as the log's
// beginning.
func (r *Roster) News(ctx context.Context, q View, after archive.Position, limit int) (news []News, total int, until archive.Position, err error) {
	err = r.open(ctx, q, func(v *view) error {
		until = v.at
		if after.Epoch != v.at.Epoch {
			after.Seq = 0
		}
		for m := range v.visible() {
			last := m.changes.LastShown
			if q.Viewer.All {
				last = m.changes.Last
			}
			if last <= after.Seq {
				continue
			}
			if total++; limit > 0 {
				news = append(news, News{m.id, m.changes.First > after.Seq, last})
			}
		}
		return nil
	})
	slices.SortFunc(news, func(a, b News) int { return cmp.Compare(b.Last, a.Last) })
	return news[:min(limit, len(news))], total, until, err
}

// Arrivals returns the meetings that arrived after since and whose last change lies after
// seen and not after until, as far as the viewer sees them: at most limit of them, the
// earliest change first. Up to reached there are no others. The positions are of the same
// epoch, see [archive.Archive.TranslatePosition].
func (r *Roster) Arrivals(ctx context.Context, q View, since, seen, until archive.Position, limit int) (ids []int64, reached archive.Position, err error) {
	reached = seen
	var found []News
	err = r.open(ctx, q, func(v *view) error {
		if until.Epoch != v.at.Epoch {
			return nil // it is to be asked again
		}
		reached = archive.Position{Epoch: v.at.Epoch, Seq: min(until.Seq, v.at.Seq)}
		for m := range v.visible() {
			if m.changes.First > since.Seq && m.changes.Last > seen.Seq && m.changes.Last <= reached.Seq {
				found = append(found, News{m.id, true, m.changes.Last})
			}
		}
		return nil
	})
	slices.SortFunc(found, func(a, b News) int { return cmp.Compare(a.Last, b.Last) })
	if len(found) > limit {
		found = found[:limit]
		reached.Seq = found[limit-1].Last
	}
	for _, n := range found {
		ids = append(ids, n.RecordingID)
	}
	return ids, reached, err
}
