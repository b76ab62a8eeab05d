// Package search answers questions about what was said: it keeps two Bleve
// indexes over an archive, reads the query language of docs/search.md, and
// returns meetings with the moments that answer, counted, quoted and led to
// the second.
package search
