package segment

// Names of the fields in the indexes. Fields of text keep how often and among how
// many words a word occurs; keys and pairs keep only the documents.
const (
	FieldText       = "t" // the transcript; in moments without stop words
	FieldTitle      = "h"
	FieldSummary    = "s"
	FieldHighlights = "g" // in moments: the notes about the moment
	FieldActions    = "a"
	FieldCRM        = "c"
	FieldPeople     = "p" // words of names, of meetings
	FieldKeys       = "k" // values that filters ask for
	FieldPairs      = "q" // neighbouring words of meetings, for phrases
	FieldRecord     = "r" // stored: values for counting and ordering
)
