package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/search/query"
)

// The most that a person's page shows.
const (
	personMeetings = 12
	personMoments  = 5
	personItems    = 20
	mostNames      = 12 // by which their words are searched
)

// personPage is one person.
type personPage struct {
	frame
	personRow
	Others   []string // names and addresses besides the one that is the heading
	With     []personRow
	Moments  []passage
	Said     string // the address of a search in the words of the person
	Items    []openItem
	MoreOpen bool
	Days     []day
	Merges   []merged
	MayMerge bool
	Back     string // where a form leads back to
}

// passage is something that the person said.
type passage struct {
	archive.Passage
	Start   time.Time // in the reader's zone; zero when it is not known
	Address string
}

// merged is a judgement that made one person, as the visitor may see it.
type merged struct {
	ID     int64
	Names  string
	Hidden bool // it has more names, of meetings that the visitor does not see; how many is not told
}

// showPerson answers /people/{key}.
func (s *server) showPerson(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	view, err := s.view(ctx)
	if err != nil {
		return err
	}
	d, err := s.findPerson(r, view, r.PathValue("key"))
	if err != nil {
		return err
	}
	p := &personPage{frame: s.newFrame(r, "person", d.Name), personRow: s.newPersonRow(d.Person), MayMerge: visitorOf(ctx).Admin, Back: personAddress(d.Key)}
	p.Others = slices.DeleteFunc(slices.Clone(d.Names), func(name string) bool { return name == d.Name })
	for _, other := range d.With {
		p.With = append(p.With, s.newPersonRow(other))
	}
	names, err := s.Roster.NamesOf(ctx, view, d.Key)
	if err != nil {
		return err
	}
	if p.Moments, err = s.personMoments(r, d, names); err != nil {
		return err
	}
	p.Said = searchInWords(d, p.Moments)
	if p.Items, p.MoreOpen, err = s.openItems(r, view, roster.ItemQuery{Person: d.Key, State: roster.Open, Limit: personItems}); err != nil {
		return err
	}
	ids := d.IDs[:min(len(d.IDs), personMeetings)]
	rows, err := s.Archive.Rows(ctx, ids)
	if err != nil {
		return err
	}
	var list []*archive.Row
	for _, id := range ids {
		if row := rows[id]; row != nil {
			list = append(list, row)
		}
	}
	p.Days = s.groupByDay(list)
	if p.MayMerge {
		p.Merges = listMerges(view.Groups, d.Person)
	}
	return s.render(w, http.StatusOK, "person", p)
}

// findPerson returns a person whom the visitor sees.
func (s *server) findPerson(r *http.Request, view roster.View, key string) (*roster.Detail, error) {
	d, err := s.Roster.Person(r.Context(), view, key, s.Location)
	if errors.Is(err, archive.ErrNotFound) {
		return nil, &failure{http.StatusNotFound, "Nobody of this name or address is in the meetings that you see."}
	}
	return d, err
}

// personMoments returns the longest passages of the person in the newest meetings.
func (s *server) personMoments(r *http.Request, d *roster.Detail, names []string) ([]passage, error) {
	passages, err := s.Archive.LongestPassages(r.Context(), d.Spoken[:min(len(d.Spoken), personMoments)], append(names, d.Names...))
	if err != nil {
		return nil, err
	}
	var moments []passage
	for _, p := range passages {
		moments = append(moments, passage{p, knownIn(p.Start, s.Location), meetingAddress(p.RecordingID, p.Offset, p.Position, "")})
	}
	return moments, nil
}

// searchInWords returns the address of a search in the words of a person: a transcript may
// name them otherwise than invitations do.
func searchInWords(d *roster.Detail, moments []passage) string {
	said := []string{d.Key}
	for _, m := range moments {
		said = append(said, m.Speaker)
	}
	said = append(said, d.Names...)
	seen := map[string]bool{}
	said = slices.DeleteFunc(said, func(name string) bool {
		fold := notes.Fold(name)
		known := seen[fold]
		seen[fold] = true
		return known
	})
	return resultsAddress((&query.Query{Root: &query.And{}}).With("speaker", said[:min(len(said), mostNames)]...).String())
}

// listMerges returns the judgements that made a person.
func listMerges(g *notes.Groups, p roster.Person) []merged {
	var all []merged
	for _, j := range g.JudgementsOf(p.Key) {
		m := merged{ID: j.ID}
		var names []string
		for _, name := range j.Names {
			if p.IsNamed(name) {
				names = append(names, name)
			} else {
				m.Hidden = true
			}
		}
		m.Names = strings.Join(names, ", ")
		all = append(all, m)
	}
	return all
}
