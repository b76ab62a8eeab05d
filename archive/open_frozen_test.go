package archive

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const schemaOf = `SELECT name || ': ' || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name`

// TestEveryFrozenSchemaIsUpgraded opens archives as each frozen version left
// them, in testdata/schemas as SQL: the schema is then that of a new archive,
// and all that was in them is there and sound.
func TestEveryFrozenSchemaIsUpgraded(t *testing.T) {
	want, err := columnOf(newArchive(t).db, schemaOf)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/schemas/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("frozen schemas: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			frozen, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			damageDatabase(t, filepath.Join(dir, "archive.db"), string(frozen))
			a := openArchive(t, dir)
			got, err := columnOf(a.db, schemaOf)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			v, damages := verify(t, a, VerifyOptions{SkipMedia: true})
			for _, d := range damages {
				if d.Class != DamageFileMissing && d.Class != DamageMode { // files are not in the frozen copy
					t.Error(d)
				}
			}
			if v.Meetings != 5 {
				t.Errorf("%d meetings; want the 5 that were in it", v.Meetings)
			}
		})
	}
}
