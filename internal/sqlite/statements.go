package sqlite

import (
	"context"
	"database/sql"
)

// Statements are a transaction whose statements the connection keeps prepared. The end
// of its context does not interrupt a statement: for every statement under a context
// that can end, SQLite's driver starts a goroutine. Callers look at their context
// between meetings instead.
type Statements struct {
	ctx context.Context
	tx  *sql.Tx
}

// NewStatements returns the statements of a transaction. They end with it.
func NewStatements(ctx context.Context, tx *sql.Tx) *Statements {
	return &Statements{context.WithoutCancel(ctx), tx}
}

// Tx returns the transaction.
func (s *Statements) Tx() *sql.Tx { return s.tx }

// Context returns the context of the statements, which does not end.
func (s *Statements) Context() context.Context { return s.ctx }

// Exec runs a statement that returns no rows.
func (s *Statements) Exec(query string, args ...any) (sql.Result, error) {
	return s.tx.ExecContext(s.ctx, query, args...)
}

// Scan reads the first row into dest; found is false when there is no row.
func (s *Statements) Scan(query string, args []any, dest ...any) (found bool, err error) {
	err = s.tx.QueryRowContext(s.ctx, query, args...).Scan(dest...)
	if err == sql.ErrNoRows {
		return false, nil
	}
	return err == nil, err
}

// QueryContext makes Statements a [Querier]. It ignores the context.
func (s *Statements) QueryContext(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	return s.tx.QueryContext(s.ctx, query, args...)
}

// Each calls fn for every row.
func (s *Statements) Each(query string, args []any, fn func(*sql.Rows) error) error {
	rows, err := s.QueryContext(s.ctx, query, args...)
	if err != nil {
		return err
	}
	return EachRow(rows, fn)
}
