// Package sqlite opens the SQLite files of a data directory, brings them to the
// newest schema and reads and writes them in transactions.
//
//	db.go                DB: one connection that writes, four that read; transactions
//	connect.go           how a connection is opened, and its pragmas read back
//	migrate.go           the newest schema, in one transaction, after a copy was kept
//	migrate_progress.go  how far that is
//	migrate_room.go      room for the copies of all databases, before the first one is made
//	gaps.go              deleted rows in the unused bytes of pages, overwritten
//	gaps_trees.go        the same in files of 2^25 pages, by the trees of pages
//	copies.go            whole copies of a database, and deleting those of migrations
//	statements.go        statements that are prepared once in a transaction
//	rows.go              rows into slices
//	memo.go              values that are remembered until the next commit
//	errors.go            a full disk, a newer version, a damaged file
//	times.go             times as columns of milliseconds
//
// A transaction that was committed survives a power cut. A crash in a migration
// leaves the database as it was before; the files beside it are removed by
// the next one.
package sqlite
