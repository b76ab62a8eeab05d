package syncer

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/internal/guard"
)

const (
	// maxHalvings limits how often the period in which a history ends is halved.
	// Halving stops when the period is reachPrecision times shorter than the known
	// history.
	maxHalvings    = 7
	reachPrecision = 20
	// refinements is how many evenly spread pages are read of a long history once
	// its length is known.
	refinements = 6
)

// surveyHistory reads a few light pages to learn how meetings are spread over
// time, so that the walk's windows can hold about as many each.
func (s *Syncer) surveyHistory(ctx context.Context, o walkSpec) ([]pageSample, error) {
	first, err := s.probePage(ctx, o, o.before)
	if err != nil || !first.More {
		return []pageSample{first}, err
	}
	samples, err := s.findReach(ctx, o, first)
	if err != nil || len(cutHistory(samples, maxWindows)) == 0 {
		return samples, err
	}
	return s.refineSamples(ctx, o, samples)
}

// findReach looks back from the first page in growing steps until it finds the
// end of the history, and then narrows that end down from both sides.
func (s *Syncer) findReach(ctx context.Context, o walkSpec, first pageSample) ([]pageSample, error) {
	samples := []pageSample{first}
	oldest, end := first.Oldest, later(o.after, earliestMeeting()) // the history ends between the two
	look := func(before time.Time) (finished bool, err error) {
		at, err := s.probePage(ctx, o, before)
		if err != nil {
			return false, err
		}
		if at.Items == 0 {
			end = before
			return false, nil
		}
		samples, oldest = append(samples, at), at.Oldest
		return !at.More, nil
	}
	open := end
	for back := max(first.Newest.Sub(first.Oldest), time.Hour); end.Equal(open); back *= 4 {
		before := first.Oldest.Add(-back)
		if !before.After(end) {
			break
		}
		if finished, err := look(before); finished || err != nil {
			return samples, err
		}
	}
	for range maxHalvings {
		if rest := oldest.Sub(end); rest < first.Oldest.Sub(oldest)/reachPrecision || isTooShort(samples, rest) {
			break
		}
		if finished, err := look(end.Add(oldest.Sub(end) / 2)); finished || err != nil {
			return samples, err
		}
	}
	return samples, nil
}

// isTooShort reports whether a history is too short to be divided, even if its
// unknown rest is as dense as its densest known part.
func isTooShort(samples []pageSample, rest time.Duration) bool {
	meetings, gap := 0.0, time.Duration(0)
	for _, st := range estimateDensity(samples) {
		meetings += st.count
	}
	for _, at := range samples {
		if g := at.meanGap(); g > 0 && (gap == 0 || g < gap) {
			gap = g
		}
	}
	return gap == 0 || meetings+float64(rest)/float64(gap) < 2*meetingsPerWindow
}

// refineSamples adds pages that are spread evenly over the sampled history.
func (s *Syncer) refineSamples(ctx context.Context, o walkSpec, samples []pageSample) ([]pageSample, error) {
	from, to := samples[0].Oldest, samples[0].Oldest
	for _, at := range samples {
		if at.Oldest.Before(from) {
			from = at.Oldest
		}
	}
	more := make([]pageSample, refinements)
	g, ctx := errgroup.WithContext(ctx)
	for i := range more {
		before := from.Add(to.Sub(from) / (refinements + 1) * time.Duration(i+1))
		g.Go(func() error {
			return guard.Run(s.log, "survey of "+o.account.Name, func() (err error) {
				more[i], err = s.probePage(ctx, o, before)
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return append(samples, more...), nil
}

// probePage reads one light page of meetings created before a time.
func (s *Syncer) probePage(ctx context.Context, o walkSpec, before time.Time) (pageSample, error) {
	q := api.MeetingQuery{CreatedAfter: o.after, CreatedBefore: before,
		RecordedBy: o.list.RecordedBy, Teams: o.list.Teams}
	page, err := o.account.Client.MeetingsPage(ctx, q, "")
	if err != nil {
		return pageSample{}, s.classifyRefusal(ctx, o.account, err)
	}
	out := pageSample{Before: before, More: page.NextCursor != ""}
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

// createdAt returns a meeting's created_at, zero when it has none.
func createdAt(raw json.RawMessage) time.Time {
	var m struct {
		CreatedAt api.Time `json:"created_at"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return time.Time{}
	}
	return m.CreatedAt.Time
}
