// Package search answers questions about meetings: it keeps two Bleve indexes over an
// archive, reads the query language of docs/search.md, and returns meetings with the
// moments that answer, counted and quoted.
//
// # How a query flows
//
// [Index.Search] parses the query (package query) and opens a snapshot: both indexes
// at one instant, with the viewer's meetings only. Then it
//
//   - matches: a plan lists the query's terms and where each is looked for, each term
//     is found in the index, and the tree is evaluated over the sets of meetings;
//   - scores and ranks: the meetings by BM25, the best hundred by their moments too;
//   - quotes: the page's meetings are read from the archive and their hits marked.
//
// Each step takes the results of the one before as values. Facets, histogram and
// corrections are counted from the same set of meetings.
//
// # How the index is kept
//
// A generation is a pair of indexes in a folder. [Index.Follow] writes the meetings in
// the archive's change log, and the place in the log, in one batch: a crash loses both
// or neither, and an index is never ahead of its archive. A generation that is damaged,
// of another archive or of an older format is replaced by a new one; each building logs
// its reason. The archive is whole without the index.
//
// # Files
//
//	index, generation, store, boltcheck      open, close, and the files on disk
//	follow, build, write, forget, throttle   the index follows, is built, forgets
//	check, compare                           the index is verified
//	source, document, momentdoc             meetings and moments as documents
//	keys, crm, record, columns*, markdown    values for filters, counts and quotations
//	search, answer, result, cursor           the question and its answer
//	snapshot, rights, meetingset, moments    reading both indexes, as the viewer may
//	plan, variants, speakers                 terms, their spellings, the speakers named
//	match, match_terms, _phrase, _filter     the meetings that a query holds for
//	score, rank, rank_moments, page          their order
//	quote, quote_notes, highlight            their best moments
//	facets, months, correct, why             counts, words put right, and reasons
//	suggest, suggest_said, suggest_values    how a text goes on that is being typed
//	trends, trends_owners                    how often words were said, and in whose meetings
//
// Package query is the language, text cuts and folds words, segment writes and reads
// the files of Bleve's segments.
package search
