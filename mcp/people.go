package mcp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"minutebook/archive/roster"
	"minutebook/search"
	"minutebook/search/text"
)

type peopleArgs struct {
	Name   string `json:"name,omitempty" jsonschema:"only people with this in a name or address"`
	Limit  int    `json:"limit,omitempty" jsonschema:"1 to 200; default 50"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
}

type peopleAnswer struct {
	People     []person `json:"people"`
	Total      int      `json:"total"`
	NextCursor string   `json:"next_cursor,omitempty"`
}

// person is somebody who appears in meetings. Persons that were merged are one.
type person struct {
	Name     string   `json:"name"`
	Names    []string `json:"names" jsonschema:"all names and addresses; each works as person of other tools"`
	Meetings int      `json:"meetings"`
	Spoke    int      `json:"spoke" jsonschema:"in so many of them"`
	Share    float64  `json:"share,omitempty" jsonschema:"of the words said in these, 0 to 1"`
	Last     string   `json:"last,omitempty" jsonschema:"the newest meeting's date; absent when it is not known"`
	Open     int      `json:"open_action_items,omitempty"`
	Done     int      `json:"done_action_items,omitempty"`
}

// errPeopleCursor is the error of a cursor that goes on from other people than the list begins with.
var errPeopleCursor = errors.New("cursor is not the next_cursor of an answer, or people have changed places since: begin again without cursor")

func (s *Server) listPeople(ctx context.Context, _ *sdk.CallToolRequest, a peopleArgs) (*sdk.CallToolResult, peopleAnswer, error) {
	view, err := s.view(ctx)
	if err != nil {
		return nil, peopleAnswer{}, s.publicError("listing people", err)
	}
	people, err := s.Roster.People(ctx, view)
	if err != nil {
		return nil, peopleAnswer{}, s.publicError("listing people", err)
	}
	wanted := text.Fold(a.Name)
	people = slices.DeleteFunc(people, func(p roster.Person) bool {
		return !slices.ContainsFunc(p.Names, func(name string) bool { return strings.Contains(text.Fold(name), wanted) })
	})
	first := 0
	if a.Cursor != "" {
		number, _, _ := strings.Cut(a.Cursor, "-")
		if first, err = strconv.Atoi(number); err != nil || first < 0 || first > len(people) || a.Cursor != cursorAfter(people[:first]) {
			return nil, peopleAnswer{}, errPeopleCursor
		}
	}
	next := min(first+clampLimit(a.Limit, 50, 200), len(people))
	out := peopleAnswer{People: []person{}, Total: len(people)}
	for _, p := range people[first:next] {
		out.People = append(out.People, person{p.Name, p.Names, p.Meetings, p.Spoke, p.Share(), s.formatDate(p.Last), p.Open, p.Done})
	}
	if next < len(people) {
		out.NextCursor = cursorAfter(people[:next])
	}
	return nil, out, nil
}

// cursorAfter names the people that were shown, in whatever order. As long as the list begins
// with the same ones, the rest of it has nobody twice and lacks nobody.
func cursorAfter(shown []roster.Person) string {
	var keys []string
	for _, p := range shown {
		keys = append(keys, p.Key)
	}
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(keys, "\x00")))
	return fmt.Sprintf("%d-%x", len(keys), sum[:8])
}

type trendsArgs struct {
	Queries []string `json:"queries" jsonschema:"1 to 6 queries, such as budget or speaker:ada"`
	By      string   `json:"by,omitempty" jsonschema:"month, team or person; default month"`
}

type trendsAnswer struct {
	Trends []trend `json:"trends"`
}

type trend struct {
	Query    string       `json:"query"`
	Total    int          `json:"total"`
	AtLeast  bool         `json:"at_least,omitempty" jsonschema:"the counts are lower bounds"`
	Meetings bool         `json:"meetings,omitempty" jsonschema:"meetings are counted, since the query has no words"`
	Points   []trendPoint `json:"points"`
	More     bool         `json:"more,omitempty" jsonschema:"the points were too many: the earliest months, or the teams or people with least, are left out"`
}

type trendPoint struct {
	Key   string `json:"key" jsonschema:"month as 2026-03, team or person"`
	Count int    `json:"count"`
}

// The bounds of a call for trends.
const (
	mostTrends = 6
	mostPoints = 120
)

func (s *Server) countTrends(ctx context.Context, _ *sdk.CallToolRequest, a trendsArgs) (*sdk.CallToolResult, trendsAnswer, error) {
	if len(a.Queries) == 0 || len(a.Queries) > mostTrends {
		return nil, trendsAnswer{}, fmt.Errorf("give 1 to %d queries", mostTrends)
	}
	request := search.TrendsRequest{Queries: a.Queries, By: a.By, Limit: mostPoints, Viewer: s.ViewerOf(ctx), Location: s.Location}
	switch a.By {
	case "":
		request.By = search.TrendMonth
	case search.TrendMonth, search.TrendTeam, search.TrendPerson:
	default:
		return nil, trendsAnswer{}, errors.New("by is month, team or person")
	}
	if s.AddNotes != nil {
		var known search.Request
		s.AddNotes(ctx, &known)
		request.Notes, request.SamePerson = known.Notes, known.SamePerson
	}
	trends, err := s.Index.Trends(ctx, request)
	if err != nil {
		return nil, trendsAnswer{}, s.publicError("counting trends", err)
	}
	out := trendsAnswer{Trends: []trend{}}
	for _, t := range trends {
		v := trend{Query: t.Query, Total: t.Total, AtLeast: !t.Exact, Meetings: t.Meetings, Points: []trendPoint{}, More: t.More || len(t.Points) > mostPoints}
		for _, p := range t.Points[max(0, len(t.Points)-mostPoints):] { // the latest months
			v.Points = append(v.Points, trendPoint(p))
		}
		out.Trends = append(out.Trends, v)
	}
	return nil, out, nil
}
