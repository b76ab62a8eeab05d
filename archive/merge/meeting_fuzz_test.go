package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minutebook/api"
	"minutebook/internal/rawjson"
	"minutebook/internal/testrun"
)

// FuzzMeeting merges three versions of any JSON: the result is JSON, is the same
// from the needed versions alone, and stays when it is read back as a version.
func FuzzMeeting(f *testing.F) {
	testrun.SkipUnderRace(f)
	deep := strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500)
	var shapes []string
	for i := range 500 {
		shapes = append(shapes, fmt.Sprintf(`{"name":"N%d","email":"n@%d","matched_speaker_display_name":%d}`, i%7, i%11, i))
	}
	invited := strings.Join(shapes, ",")
	for _, seed := range [][3]string{
		{`{"recorded_by":{"email":"a","email":"b","team":"S"},"recorded_by":{"email":"a"}}`, `{"recorded_by":{"email":"A"}}`, `{}`},
		{`{"calendar_invitees":[1,"x",null,[],{"name":5,"email":{"a":1}}]}`, `{"calendar_invitees":[{"name":"x"}]}`, `{"calendar_invitees":{}}`},
		{`{"calendar_invitees":[` + invited + `]}`, `{"calendar_invitees":[{"email":"n@1"},{"name":"N1"}]}`, `{"a":[` + invited + `]}`},
		{"{\"recorded_by\":{\"name\":\"\xff\xfe\",\"\xff\":1,\"email\":\"\\ud800\"}}", "{\"recorded_by\":{\"name\":null,\"\xff\xff\":2}}", `{"recording_id":99999999999999999999999999}`},
		{`{"recorded_by":{"later":` + deep + `}}`, `{"recorded_by":{"later":[]},"title":1e999}`, `[]`},
		{`5`, `"x"`, `null`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]), []byte(seed[2]))
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		var all []Input
		var kept []Input
		for i, raw := range [][]byte{a, b, c} {
			hash, isEmpty, ok := api.JudgePart(api.PartMeeting, raw)
			if raw = bytes.TrimSpace(raw); !ok || slices.ContainsFunc(all, func(e Input) bool { return e.Hash == hash }) {
				continue
			}
			e := Input{&Version{ID: int64(i + 1), Hash: hash, Empty: isEmpty, ReadAt: int64(7 * (i + 1) % 4)}, raw}
			all, kept = append(all, e), append(kept, e)
			merged, partial := Meeting(slices.Clone(all)), Meeting(kept)
			if !json.Valid(merged.Raw) {
				t.Fatalf("not JSON: %q", merged.Raw)
			}
			if diff := cmp.Diff(merged, partial); diff != "" {
				t.Fatalf("what was kept makes another part:\n%s", diff)
			}
			kept = slices.DeleteFunc(kept, func(k Input) bool { return !slices.Contains(partial.Needed, k.ID) })
		}
		if len(all) == 0 {
			return
		}
		merged := Meeting(slices.Clone(all))
		hash, _ := rawjson.Hash(merged.Raw)
		first := Input{&Version{ID: 9, Hash: hash, ReadAt: 99}, merged.Raw}
		if again := Meeting(append([]Input{first}, all...)); !bytes.Equal(again.Raw, merged.Raw) {
			t.Fatalf("shown what it makes, it makes another:\n%q\n%q", merged.Raw, again.Raw)
		}
	})
}
