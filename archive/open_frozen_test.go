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

// TestFirstReadsOfAnEarlierVersion opens an archive of the schema before first_reads: a list
// is read since it first showed a meeting that is still here, or since its last complete walk, and not
// since before its account's present holder.
func TestFirstReadsOfAnEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	a := openArchive(t, dir)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	damageDatabase(t, filepath.Join(dir, "archive.db"), `DROP TABLE first_reads;
		DELETE FROM goose_db_version WHERE version_id >= 82;
		INSERT INTO accounts (name, holder, email, credential, since) VALUES ('anna', 1, '', '', 900), ('bob', 2, '', '', 500);
		INSERT INTO sightings (recording_id, account, query, first_at, last_at, holder) VALUES
			(1, 'anna', '', 300, 400, 1), (2, 'anna', '', 200, 400, 1), (2, 'anna', 'teams:x', 350, 400, 1),
			(1, 'bob', '', 100, 600, 2), (3, 'bob', 'teams:x', 100, 100, 1), (1, 'cy', '', 50, 50, 1);
		INSERT INTO walks (account, query, begun, completed, ended_at) VALUES
			('anna', '', 9, 9, 800), ('anna', 'empty', 9, 9, 700), ('bob', 'empty', 9, 9, 400), ('anna', 'begun', 1, 0, NULL)`)
	got, err := columnOf(openArchive(t, dir).db, `SELECT account || '/' || query || ' ' || holder || ' ' || at FROM first_reads ORDER BY account, query`)
	want := []string{"anna/ 1 200", "anna/empty 1 700", "anna/teams:x 1 350", "bob/ 2 500", "bob/empty 2 500", "cy/ 1 50"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
