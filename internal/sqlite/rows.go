package sqlite

import (
	"context"
	"database/sql"
)

// Querier runs queries: a *sql.DB, *sql.Conn or *sql.Tx, or [Statements].
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// EachRow calls fn for every row, closes rows and returns the first error.
func EachRow(rows *sql.Rows, fn func(*sql.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Each runs a query and calls fn for every row. It returns the first error.
func Each(ctx context.Context, q Querier, fn func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	return EachRow(rows, fn)
}

// Map returns the rows of a query with two columns: the first is the key, the second
// its value.
func Map[K comparable, V any](ctx context.Context, q Querier, query string, args ...any) (map[K]V, error) {
	m := map[K]V{}
	err := Each(ctx, q, func(rows *sql.Rows) error {
		var key K
		var value V
		err := rows.Scan(&key, &value)
		m[key] = value
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Column returns the values of a query with one column.
func Column[T any](ctx context.Context, q Querier, query string, args ...any) ([]T, error) {
	return List(ctx, q, func(rows *sql.Rows, value *T) error { return rows.Scan(value) }, query, args...)
}

// List returns the rows of a query, each as scan reads it into a zero T.
func List[T any](ctx context.Context, q Querier, scan func(*sql.Rows, *T) error, query string, args ...any) ([]T, error) {
	var list []T
	err := Each(ctx, q, func(rows *sql.Rows) error {
		var row T
		err := scan(rows, &row)
		list = append(list, row)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return list, nil
}
