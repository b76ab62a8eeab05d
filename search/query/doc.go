// Package query reads the query language of docs/search.md into a tree. It looks
// nothing up: whether a word exists, or whom a name stands for, is the search's.
//
//	lex.go       pieces of a query: words, phrases, fields, signs
//	parse.go     the tree, [Parse], and the limits of a query
//	node.go      the tree's nodes, which print as they parse
//	edit.go      queries with a part more, less, or in the place of another
//	fields.go    the fields, their values, and hints for wrong ones
//	dates.go     dates, spans and lengths of time
//	question.go  queries that read like plain English
//
// Reading never fails because of stray signs; an unknown field or value is an
// [Error] that says where it stands.
package query
