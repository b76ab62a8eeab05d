package importer

import (
	"testing"

	"minutebook/archive"
)

// TestViewersStayUnlessMetadataNamesOthers imports a talk with the viewers and the owner of the
// command, and again without them: they are of new meetings alone.
func TestViewersStayUnlessMetadataNamesOthers(t *testing.T) {
	a, dir := ticking(t), t.TempDir()
	const ben, kim = "ben@north.example", "kim@north.example"
	imports := func(step string, o Options, toml string, viewers ...string) {
		t.Helper()
		writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "a.toml": toml})
		if r, err := ReadPath(t.Context(), a, o, dir); err != nil || len(r.Wrong) > 0 {
			t.Fatalf("%s: %+v, %v", step, r, err)
		}
		row := allRows(t, a)[0]
		if row.RecordedBy.Email != "ada@north.example" || row.RecordedBy.Name != "Ada Lovelace" {
			t.Errorf("%s: recorded by %+v", step, row.RecordedBy)
		}
		for _, person := range []string{ben, kim} {
			want := false
			for _, v := range viewers {
				want = want || v == person
			}
			if visible, _, err := a.MayPlay(t.Context(), archive.ViewerWith(person), row.RecordingID); visible != want || err != nil {
				t.Errorf("%s: %s sees it: %t, %v", step, person, visible, err)
			}
		}
	}
	imports("new", Options{Owner: "Ada Lovelace <ada@north.example>", VisibleTo: []string{ben}}, "", ben)
	imports("without options", Options{}, "", ben)
	imports("with others", Options{Owner: "Kim <kim@north.example>", VisibleTo: []string{kim}}, "title = \"x\"", ben)
	imports("stated", Options{}, "visible_to = [\"kim@north.example\"]", kim)
	imports("stated before", Options{VisibleTo: []string{ben}}, "", ben)
	imports("stated before, and then not", Options{}, "", ben)
	imports("stated as nobody", Options{VisibleTo: []string{ben}}, "visible_to = []")
	imports("not stated any more", Options{}, "")
}
