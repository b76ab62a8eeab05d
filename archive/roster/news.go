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
// sees, the latest change first: at most limit of them, and how many there are. The
// position until which it looked is returned too. A position of an earlier epoch counts
// as the log's beginning.
func (r *Roster) News(ctx context.Context, q View, after archive.Position, limit int) (news []News, total int, until archive.Position, err error) {
	err = r.open(ctx, q, func(v *view) error {
		until = v.at
		if after.Epoch != v.at.Epoch {
			after.Seq = 0
		}
		for m := range v.visible() {
			if m.changes.Last <= after.Seq {
				continue
			}
			if total++; limit > 0 {
				news = append(news, News{m.id, m.changes.First > after.Seq, m.changes.Last})
			}
		}
		return nil
	})
	slices.SortFunc(news, func(a, b News) int { return cmp.Compare(b.Last, a.Last) })
	return news[:min(limit, len(news))], total, until, err
}
