package archive

import "fmt"

// DamageClass is a kind of damage that Verify names.
type DamageClass string

// The classes, the gravest first: it decides a command's exit code.
const (
	DamageDatabase    DamageClass = "database"     // SQLite's own check failed
	DamagePart        DamageClass = "part"         // a revision's bytes are not what arrived, or no longer parse
	DamageFileMissing DamageClass = "file-missing" // a row of a recording without its file
	DamageFile        DamageClass = "file"         // a recording's bytes are not what was fetched
	DamageDelivery    DamageClass = "delivery"     // a delivery's body cannot be read back
	DamageForeignKey  DamageClass = "foreign-key"  // a row refers to one that is not there
	DamageNoPart      DamageClass = "no-part"      // rows of a meeting without the part they come from
	DamageRows        DamageClass = "rows"         // parts or rows are not what the revisions make
	DamageForgetting  DamageClass = "forgetting"   // something of a forgotten meeting is still there
	DamageCursor      DamageClass = "cursor"       // a follower is ahead of the change log
	DamageIndex       DamageClass = "index"        // the search index is unreadable or behind
	DamageIndexExtra  DamageClass = "index-extra"  // the index has a meeting that the archive has not
	DamageFileExtra   DamageClass = "file-extra"   // a file that nothing refers to
	// DamageMode is a file or directory that others can reach. Nothing is damaged
	// yet, and someone may have meant it: it has no exit code and is not counted.
	DamageMode DamageClass = "mode"
)

// damageClasses in the order of gravity.
var damageClasses = [...]DamageClass{
	DamageDatabase, DamagePart, DamageFileMissing, DamageFile, DamageDelivery, DamageForeignKey, DamageNoPart,
	DamageRows, DamageForgetting, DamageCursor, DamageIndex, DamageIndexExtra, DamageFileExtra,
}

// ExitCode is the exit code of a command that found damage of the class: 10 for
// the gravest and rising; 9 for a class not known here, 0 for DamageMode.
func (c DamageClass) ExitCode() int {
	if c == DamageMode {
		return 0
	}
	for i, class := range damageClasses {
		if class == c {
			return 10 + i
		}
	}
	return 9
}

// Damage is one thing that is not as it should be.
type Damage struct {
	Class       DamageClass `json:"class"`
	Path        string      `json:"path,omitempty"` // whole path of the file or database
	RecordingID int64       `json:"recording_id,omitempty"`
	What        string      `json:"what"`
	Repaired    bool        `json:"repaired"`
	// Outcome says what a repair came to, where that is more than repaired, and
	// Aside where the bytes are that it could not read.
	Outcome string `json:"outcome,omitempty"`
	Aside   string `json:"aside,omitempty"`
	Lost    bool   `json:"lost,omitempty"` // what was damaged could be brought back from nowhere
}

// LostCode is the exit code of a repair that found something lost.
const LostCode = 23

// String is a line for a person.
func (d Damage) String() string {
	s := string(d.Class) + ": "
	if d.RecordingID != 0 {
		s += fmt.Sprintf("meeting %d: ", d.RecordingID)
	}
	if d.Path != "" {
		s += d.Path + ": "
	}
	s += d.What
	switch {
	case d.Outcome != "":
		s += " (" + d.Outcome + ")"
	case d.Repaired:
		s += " (repaired)"
	}
	if d.Aside != "" {
		s += "; its bytes are in " + d.Aside
	}
	return s
}
