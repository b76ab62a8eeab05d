// Package segment writes and reads the segments of Bleve's indexes in the private
// format of zapx version 17. It is the only package that knows this format.
//
//	fields.go           the fields of both indexes
//	vocabulary.go       words of a batch as numbers
//	builder.go          documents of a batch, inverted by sorting numbers
//	pairs.go            neighbouring words as terms
//	writer*.go          a batch's segment in zapx's format
//	plugin.go           the segment type that has Bleve use the writer
//	reader.go           the documents and counts of a term
//	postings.go         how often a term occurs in each document
//	checksum.go         the checksum of a file
//	layout.go           the numbers of a file that are too great for it
//	damage.go           panics over damaged files as errors
//
// The writer buys the building of an index in a third to a quarter of the time
// that Bleve's own analysis takes. To delete it, hand Bleve documents with fields in
// [Builder.AddTo] and remove plugin.go and the writer; the format of the indexes
// stays. The reader buys common words in milliseconds: Bleve reads each count
// through three interfaces. To delete it, let [TermReader] read all segments as it
// reads those in memory, through Bleve.
//
// Nothing is kept here: after a crash Bleve recovers the segments. Damage ends in
// [ErrDamaged] or in a panic that [RecoverDamage] turns into it.
package segment
