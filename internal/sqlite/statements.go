package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

// Statements is a transaction that prepares each statement once. The end of its
// context does not interrupt a statement: for every statement under a context
// that can end, SQLite's driver starts a goroutine. Callers look at their context
// between meetings instead.
type Statements struct {
	ctx      context.Context
	tx       *sql.Tx
	prepared map[string]*sql.Stmt
}

// NewStatements returns the statements of a transaction. They end with it.
func NewStatements(ctx context.Context, tx *sql.Tx) *Statements {
	return &Statements{context.WithoutCancel(ctx), tx, map[string]*sql.Stmt{}}
}

// Tx returns the transaction.
func (s *Statements) Tx() *sql.Tx { return s.tx }

// Context returns the context of the statements, which does not end.
func (s *Statements) Context() context.Context { return s.ctx }

func (s *Statements) prepare(query string) (*sql.Stmt, error) {
	if stmt, ok := s.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := s.tx.PrepareContext(s.ctx, query)
	if err != nil {
		return nil, fmt.Errorf("prepare statement: %w", err)
	}
	s.prepared[query] = stmt
	return stmt, nil
}

// Exec runs a statement that returns no rows.
func (s *Statements) Exec(query string, args ...any) (sql.Result, error) {
	stmt, err := s.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(s.ctx, args...)
}

// Scan reads the first row into dest; found is false when there is no row.
func (s *Statements) Scan(query string, args []any, dest ...any) (found bool, err error) {
	stmt, err := s.prepare(query)
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(s.ctx, args...).Scan(dest...)
	if err == sql.ErrNoRows {
		return false, nil
	}
	return err == nil, err
}

// QueryContext makes Statements a [Querier]. It ignores the context.
func (s *Statements) QueryContext(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(s.ctx, args...)
}

// Each calls fn for every row.
func (s *Statements) Each(query string, args []any, fn func(*sql.Rows) error) error {
	rows, err := s.QueryContext(s.ctx, query, args...)
	if err != nil {
		return err
	}
	return EachRow(rows, fn)
}
