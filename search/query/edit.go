package query

import (
	"slices"
	"strconv"
)

// Parts returns the parts of a query that must all hold, in their order. The caller
// does not change them.
func (q *Query) Parts() []Node {
	if and, ok := q.Root.(*And); ok {
		return and.Kids
	}
	return []Node{q.Root}
}

// withParts returns a query with other parts and the same order of its answer.
func (q *Query) withParts(parts []Node) *Query {
	if len(parts) == 1 {
		return &Query{Root: parts[0], Sort: q.Sort}
	}
	return &Query{Root: &And{Kids: parts}, Sort: q.Sort}
}

// WithoutPart returns the query without one of its parts.
func (q *Query) WithoutPart(i int) *Query {
	return q.withParts(slices.Delete(slices.Clone(q.Parts()), i, i+1))
}

// WithoutValues returns the query without the values of one of its parts that drop accepts, see
// [ValuesOf].
func (q *Query) WithoutValues(i int, drop func(value string) bool) *Query {
	parts := slices.Clone(q.Parts())
	rest := []Node{parts[i]}
	if or, ok := parts[i].(*Or); ok {
		rest = slices.Clone(or.Kids)
	}
	rest = slices.DeleteFunc(rest, func(kid Node) bool {
		f, ok := kid.(*Filter)
		return ok && drop(f.Value)
	})
	switch len(rest) {
	case 0:
		return q.WithoutPart(i)
	case 1:
		parts[i] = rest[0]
	default:
		parts[i] = &Or{Kids: rest}
	}
	return q.withParts(parts)
}

// ValuesOf returns the field and the values that a part asks for: those of type:a, and of
// type:a OR type:b. field is "" for every other part.
func ValuesOf(part Node) (field string, values []string) {
	kids := []Node{part}
	if or, ok := part.(*Or); ok {
		kids = or.Kids
	}
	for _, kid := range kids {
		f, ok := kid.(*Filter)
		if !ok || field != "" && f.Field != field {
			return "", nil
		}
		field, values = f.Field, append(values, f.Value)
	}
	return field, values
}

// Within returns the query with the number of a meeting as a further part. It may have more
// parts and be longer than [Parse] allows.
func (q *Query) Within(id int64) *Query {
	return q.withParts(append(slices.Clone(q.Parts()), &Filter{Field: "id", Value: strconv.FormatInt(id, 10)}))
}

// Values returns the values of a field that the query asks for.
func (q *Query) Values(field string) []string {
	var out []string
	for _, part := range q.Parts() {
		if f, values := ValuesOf(part); f == field {
			out = append(out, values...)
		}
	}
	return out
}

// Without returns the query without the parts that ask for values of fields.
func (q *Query) Without(fields ...string) *Query {
	return q.withParts(slices.DeleteFunc(slices.Clone(q.Parts()), func(part Node) bool {
		field, _ := ValuesOf(part)
		return field != "" && slices.Contains(fields, field)
	}))
}

// With returns the query with values of a field in place of those that it asks for. One
// of them must hold.
func (q *Query) With(field string, values ...string) *Query {
	parts := slices.Clone(q.Without(field).Parts())
	var filters []Node
	for _, value := range values {
		if value = cleanPhrase(value); value != "" {
			filters = append(filters, &Filter{Field: field, Value: value})
		}
	}
	switch {
	case len(filters) == 0:
	case len(filters) == 1 || field == "in": // several in: add up by themselves
		parts = append(parts, filters...)
	default:
		parts = append(parts, &Or{Kids: filters})
	}
	return q.withParts(parts)
}
