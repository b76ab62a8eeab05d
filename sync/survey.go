package syncer

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
)

// refinements is how many evenly spread pages are looked at once the length of a
// long history is known.
const refinements = 6

// survey finds out with a few light pages how an order's meetings are spread
// over time, so that its windows can be made to hold about as many each.
func (s *Syncer) survey(ctx context.Context, o order) ([]sample, error) {
	first, err := s.probe(ctx, o, o.before)
	if err != nil || !first.More {
		return []sample{first}, err
	}
	samples := []sample{first}
	oldest := first.Oldest
	for back := max(first.Newest.Sub(first.Oldest), time.Hour); ; back *= 4 {
		before := first.Oldest.Add(-back)
		if before.Before(latest(o.after, earliest())) {
			break
		}
		at, err := s.probe(ctx, o, before)
		if err != nil {
			return nil, err
		}
		samples = append(samples, at)
		if at.Items == 0 || !at.More {
			break
		}
		oldest = at.Oldest
	}
	if len(layout(samples, maxWindow)) == 0 {
		return samples, nil
	}
	return s.refine(ctx, o, samples, oldest, first.Oldest)
}

// refine adds pages that are spread evenly between two times.
func (s *Syncer) refine(ctx context.Context, o order, samples []sample, from, to time.Time) ([]sample, error) {
	more := make([]sample, refinements)
	g, ctx := errgroup.WithContext(ctx)
	for i := range more {
		before := from.Add(to.Sub(from) / (refinements + 1) * time.Duration(i+1))
		g.Go(func() (err error) {
			more[i], err = s.probe(ctx, o, before)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return append(samples, more...), nil
}

// probe reads one light page of what was created before a time.
func (s *Syncer) probe(ctx context.Context, o order, before time.Time) (sample, error) {
	q := api.MeetingQuery{CreatedAfter: o.after, CreatedBefore: before,
		RecordedBy: o.pass.RecordedBy, Teams: o.pass.Teams}
	page, err := o.account.Client.MeetingsPage(ctx, q, "")
	if err != nil {
		return sample{}, s.judge(ctx, o.account, err)
	}
	out := sample{Before: before, More: page.NextCursor != ""}
	for _, raw := range page.Items {
		created := createdAt(raw)
		if created.IsZero() {
			continue
		}
		if out.Items == 0 || created.After(out.Newest) {
			out.Newest = created
		}
		if out.Items == 0 || created.Before(out.Oldest) {
			out.Oldest = created
		}
		out.Items++
	}
	return out, nil
}

// createdAt reads a meeting's created_at, or zero when there is none.
func createdAt(raw json.RawMessage) time.Time {
	var m struct {
		CreatedAt api.Time `json:"created_at"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return time.Time{}
	}
	return m.CreatedAt.Time
}
