// Package text cuts text into the words by which it is indexed and found, the same
// way for documents and for queries. It knows no index.
//
//	tokenize.go  words, numbers, addresses, scripts without spaces
//	fold.go      capitals, accents and compatibility forms left off
//	sequence.go  words in their order, and phrases in them
//	lang.go      stop words and stems of the languages that Bleve has
//
// A change of how words are cut or folded changes the index: raise its format, see
// package search.
package text
