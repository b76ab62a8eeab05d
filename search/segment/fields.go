package segment

// Names of the fields in the indexes. Those of text keep how often and among
// how many words a word occurs; keys and pairs keep only where.
const (
	FieldText       = "t" // what was said; in moments without stop words
	FieldTitle      = "h"
	FieldSummary    = "s"
	FieldHighlights = "g" // in moments: of what was noted about the moment
	FieldActions    = "a"
	FieldCRM        = "c"
	FieldPeople     = "p" // words of names, of meetings
	FieldKeys       = "k" // what filters ask for, see keys.go
	FieldPairs      = "q" // neighbouring words of meetings, for phrases
	FieldRecord     = "r" // what counting and ordering need, see record.go
)
