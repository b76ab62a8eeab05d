package roster

import (
	"context"
	"slices"
	"time"

	"minutebook/archive"
)

// State is a state of action items.
type State string

// The states.
const (
	Open State = "open"
	Done State = "done" // at the service or here
	All  State = "all"
)

// Nobody is the person of action items that were given to nobody.
const Nobody = "-"

// ItemQuery selects action items. Zero fields do not restrict.
type ItemQuery struct {
	Person        string   // an address or name of the person, or Nobody
	Aliases       []string // more addresses and names of the person
	State         State
	Since, Before time.Time // start of the meeting: at or after, before; no meeting without a date
	Among         map[archive.ItemKey]bool
	Oldest        bool               // the oldest meetings first; then After is not looked at
	After         *archive.ActionKey // only items behind this place
	Limit         int                // at most; 0 means all
}

// ItemList is an answer to an ItemQuery.
type ItemList struct {
	Keys   []archive.ItemKey          // in order
	More   bool                       // there are more than Limit
	Last   archive.ActionKey          // the place of the last of Keys
	People []Person                   // with action items, whosever are asked for, those with most open ones first
	Asked  []string                   // the keys of those of People who are asked for by name
	Nobody Person                     // the items of nobody
	Owners map[archive.ItemKey]string // the Key of the person of each of Keys; Nobody
}

// Items returns action items that a viewer sees, those of the newest meetings first and in
// each meeting in their order.
func (r *Roster) Items(ctx context.Context, q View, o ItemQuery) (ItemList, error) {
	var list ItemList
	err := r.open(ctx, q, func(v *view) error {
		list = v.items(o)
		return nil
	})
	return list, err
}

// reaches reports whether a meeting lies within the dates of a query, and on a page that
// continues an earlier one.
func (o *ItemQuery) reaches(m *meeting) bool {
	if o.After != nil && !o.Oldest && (m.start > o.After.Start.UnixMilli() || m.start == o.After.Start.UnixMilli() && m.id > o.After.RecordingID) {
		return false
	}
	start := time.UnixMilli(m.start)
	if m.start == 0 && !(o.Since.IsZero() && o.Before.IsZero()) {
		return false // its time is not known
	}
	return (o.Since.IsZero() || !start.Before(o.Since)) && (o.Before.IsZero() || start.Before(o.Before))
}

// selects reports whether an item is after After, among Among and in the State.
func (o ItemQuery) selects(key archive.ItemKey, isDone bool) bool {
	return (o.After == nil || key.RecordingID != o.After.RecordingID || key.Position > o.After.Position) &&
		(o.Among == nil || o.Among[key]) && (o.State != Open || !isDone) && (o.State != Done || isDone)
}

func (v *view) items(o ItemQuery) ItemList {
	l := ItemList{Owners: map[archive.ItemKey]string{}}
	var wanted []int32
	if o.Person == Nobody {
		wanted = []int32{-1}
	} else if o.Person != "" {
		for _, name := range append([]string{o.Person}, o.Aliases...) {
			wanted = append(wanted, v.mainsOf(name)...)
		}
	}
	c := v.newCount()
	var mains []int32 // of Keys
	for m := range v.visibleInOrder(o.Oldest) {
		c.addItems(m, &l.Nobody)
		if !o.reaches(m) {
			continue
		}
		for _, i := range m.items {
			key := archive.ItemKey{RecordingID: m.id, Position: i.position()}
			main := v.person(i.alias)
			if o.Person != "" && !slices.Contains(wanted, main) || !o.selects(key, v.isDone(m, i)) {
				continue
			}
			if o.Limit > 0 && len(l.Keys) == o.Limit {
				l.More = true
				continue
			}
			l.Keys, mains = append(l.Keys, key), append(mains, main)
			l.Last = archive.ActionKey{Key: archive.Key{Start: time.UnixMilli(m.start), RecordingID: m.id}, Position: key.Position}
		}
	}
	keys := map[int32]string{-1: Nobody}
	for i := range c.by {
		if t := &c.by[i]; len(t.aliases) > 0 {
			p := c.finish(t, int32(i)) //nolint:gosec // as index.add
			keys[int32(i)] = p.Key     //nolint:gosec // likewise
			l.People = append(l.People, p)
			if slices.Contains(wanted, int32(i)) { //nolint:gosec // likewise
				l.Asked = append(l.Asked, p.Key)
			}
		}
	}
	slices.SortFunc(l.People, comparePeopleByItems)
	for i, key := range l.Keys {
		l.Owners[key] = keys[mains[i]]
	}
	return l
}

// addItems counts the action items of a meeting.
func (c *count) addItems(m *meeting, nobody *Person) {
	for _, i := range m.items {
		p := nobody
		if i.alias >= 0 {
			p = &c.tally(i.alias).Person
		}
		if c.isDone(m, i) {
			p.Done++
		} else {
			p.Open++
		}
	}
}
