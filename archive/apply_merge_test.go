package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/internal/rawjson"
	"minutebook/internal/testrun"
)

// contentOf returns the content that the rules decide about: the current parts and the set of
// revisions with their dates and bytes, without the numbers given to them.
func contentOf(t interface{ Fatal(...any) }, a *Archive, ids ...int64) map[string]string {
	content := map[string]string{}
	ctx := context.Background()
	for _, id := range ids {
		parts, err := a.PartsOf(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		for p, raw := range parts {
			content[fmt.Sprintf("%d current %s", id, p)] = string(raw)
		}
	}
	rows, err := a.db.R.QueryContext(ctx, `SELECT r.recording_id, r.part, hex(r.hash), r.read_at, r.told_at, b.encoding, b.body,
		(SELECT group_concat(account || source || first_at || '-' || last_at, ' ' ORDER BY account, source)
			FROM observations o WHERE o.revision_id = r.id)
		FROM revisions r JOIN bodies b ON b.revision_id = r.id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, read, reported int64
		var part, hash, seen string
		var encoding int
		var body []byte
		if err := rows.Scan(&id, &part, &hash, &read, &reported, &encoding, &body, &seen); err != nil {
			t.Fatal(err)
		}
		raw, err := a.codec.unpack(encoding, body)
		if err != nil {
			t.Fatal(err)
		}
		content[fmt.Sprintf("%d revision %s %s", id, part, hash)] = fmt.Sprintf("%d %d %s %s", read, reported, seen, raw)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return content
}

// drawObservation makes observations that collide often: few meetings, few
// contents, few times, null and empty parts, spellings of the same content.
func drawObservation(t *rapid.T) Observation {
	o := Observation{
		Account:     rapid.SampledFrom([]string{"a", "b"}).Draw(t, "account"),
		Source:      rapid.SampledFrom([]Source{SourceList, SourceWebhook, SourceTranscript, SourceImport}).Draw(t, "source"),
		At:          epoch0.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "at")) * time.Hour),
		RecordingID: rapid.Int64Range(1, 2).Draw(t, "id"),
		Parts:       map[api.Part]json.RawMessage{},
	}
	if rapid.Bool().Draw(t, "has meeting") {
		meeting := map[string]any{"recording_id": o.RecordingID}
		for _, key := range []string{"title", "url", "meeting_url", "recorded_by"} {
			if v := rapid.SampledFrom([]any{"absent", nil, "", "one", "two", []string{}}).Draw(t, key); v != "absent" {
				meeting[key] = v
			}
		}
		o.Parts[api.PartMeeting], _ = json.Marshal(meeting)
	}
	for _, c := range []struct {
		part   api.Part
		values []string
	}{
		{api.PartTranscript, []string{"", "null", "[]", `[{"speaker":{"display_name":"A"},"text":"x","timestamp":"00:00:01"}]`,
			`[ {"text":"x","speaker":{"display_name":"A"},"timestamp":"00:00:01"}]`, `[{"text":"y","timestamp":"?"}]`}},
		{api.PartSummary, []string{"", "null", "{}", `{"markdown_formatted":"# A"}`, `{"markdown_formatted":"# B"}`}},
	} {
		if v := rapid.SampledFrom(c.values).Draw(t, string(c.part)); v != "" {
			o.Parts[c.part] = json.RawMessage(v)
		}
	}
	return o
}

func TestAnyOrderEndsTheSame(t *testing.T) {
	testrun.SkipUnderRace(t)
	ids := []int64{1, 2}
	a := drawArchive(t)
	rapid.Check(t, func(rt *rapid.T) {
		batch := rapid.SliceOfN(rapid.Custom(drawObservation), 1, 12).Draw(rt, "batch")
		for _, id := range ids { // so that both meetings are known, whatever was drawn
			batch = append(batch, Observation{Account: "a", Source: SourceList, At: epoch0, RecordingID: id})
		}
		shuffled := rapid.Permutation(append(slices.Clone(batch), batch[:rapid.IntRange(0, len(batch)).Draw(rt, "again")]...)).Draw(rt, "shuffled")
		var contents []map[string]string
		for _, order := range [][]Observation{batch, shuffled} {
			clearArchive(rt, a)
			for len(order) > 0 {
				n := rapid.IntRange(1, len(order)).Draw(rt, "batch size")
				if _, err := a.Apply(context.Background(), order[:n]); err != nil {
					rt.Fatal(err)
				}
				order = order[n:]
			}
			checkRules(rt, a, batch)
			contents = append(contents, contentOf(rt, a, ids...))
		}
		if diff := cmp.Diff(contents[0], contents[1]); diff != "" {
			rt.Fatalf("another order ends otherwise:\n%s", diff)
		}
	})
}

// drawArchive is an archive for many draws of a property, without syncing:
// the properties proved with it are not about crashes. Every draw begins with empty.
func drawArchive(t *testing.T) *Archive {
	t.Helper()
	a := newArchive(t)
	if _, err := a.db.W.Exec(`PRAGMA synchronous = OFF`); err != nil {
		t.Fatal(err)
	}
	return a
}

// clearArchive deletes everything in an archive.
func clearArchive(rt interface{ Fatal(...any) }, a *Archive) {
	err := a.db.WriteTx(context.Background(), func(tx *sql.Tx) error {
		for _, table := range append(meetingTables[:], "entries", "speakers", "media") {
			if _, err := tx.Exec(`DELETE FROM ` + table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
}

// checkRules holds the outcome against the promise itself, without the merge's
// own code: a part that had content has content, and so has each key of a meeting.
func checkRules(rt *rapid.T, a *Archive, batch []Observation) {
	for _, o := range batch {
		parts, err := a.PartsOf(context.Background(), o.RecordingID)
		if err != nil {
			rt.Fatal(err)
		}
		for p, raw := range o.Parts {
			if api.HasContent(p, raw) && !api.HasContent(p, parts[p]) {
				rt.Fatalf("content of %s was blanked: had %s, now %s", p, raw, parts[p])
			}
		}
		for key, raw := range rawjson.Map(o.Parts[api.PartMeeting]) {
			if !api.Empty(raw) && api.Empty(rawjson.Map(parts[api.PartMeeting])[key]) {
				rt.Fatalf("key %s was blanked: had %s in %s", key, raw, parts[api.PartMeeting])
			}
		}
	}
}

// TestMergeTable goes through the rows of the table in merge.go.
func TestMergeTable(t *testing.T) {
	testrun.SkipUnderRace(t)
	const old, new = `{"markdown_formatted":"# Old"}`, `{"markdown_formatted":"# New"}`
	type step struct {
		src  Source
		hour int
		raw  string
	}
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"null over content":              {[]step{{SourceList, 1, old}, {SourceList, 2, "null"}}, old},
		"empty over content":             {[]step{{SourceList, 1, old}, {SourceList, 2, "{}"}}, old},
		"another type over content":      {[]step{{SourceList, 1, old}, {SourceList, 2, `["x"]`}}, old},
		"Markdown that is no text":       {[]step{{SourceList, 1, old}, {SourceList, 2, `{"markdown_formatted":7}`}}, old},
		"content over empty sent later":  {[]step{{SourceList, 2, "{}"}, {SourceWebhook, 1, old}}, old},
		"read over told":                 {[]step{{SourceWebhook, 2, old}, {SourceList, 1, new}}, new},
		"told over read":                 {[]step{{SourceList, 1, old}, {SourceWebhook, 2, new}}, old},
		"import over read":               {[]step{{SourceSummary, 1, old}, {SourceImport, 9, new}}, old},
		"later read":                     {[]step{{SourceList, 1, old}, {SourceSummary, 2, new}}, new},
		"earlier read arriving late":     {[]step{{SourceList, 2, old}, {SourceCallback, 1, new}}, old},
		"later told":                     {[]step{{SourceWebhook, 1, old}, {SourceImport, 2, new}}, new},
		"changed and changed back":       {[]step{{SourceList, 1, old}, {SourceList, 2, new}, {SourceList, 3, old}}, old},
		"told again does not revive old": {[]step{{SourceList, 1, old}, {SourceList, 2, new}, {SourceWebhook, 9, old}}, new},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			for _, s := range c.steps {
				apply(t, a, Observation{Account: "a", Source: s.src, At: epoch0.Add(time.Duration(s.hour) * time.Hour),
					RecordingID: 1, Parts: map[api.Part]json.RawMessage{api.PartSummary: json.RawMessage(s.raw)}})
			}
			parts, err := a.PartsOf(t.Context(), 1)
			if err != nil || string(parts[api.PartSummary]) != c.want {
				t.Fatalf("current is %s, %v; want %s", parts[api.PartSummary], err, c.want)
			}
			row, err := a.Row(t.Context(), 1)
			if err != nil || row.HasSummary != api.HasContent(api.PartSummary, parts[api.PartSummary]) {
				t.Fatalf("row %+v, %v disagrees with the part", row, err)
			}
		})
	}
}

// TestWhatSaysNothingReplacesNoContent: a part that is not empty and yet lacks its
// content, as when a notice comes in its place.
func TestWhatSaysNothingReplacesNoContent(t *testing.T) {
	a := newArchive(t)
	for part, c := range map[api.Part]struct {
		content string
		notices []string
	}{
		api.PartSummary: {`{"template_name":"G","markdown_formatted":"# A"}`,
			[]string{`{"status":"processing"}`, `{"template_name":"G","error":"x"}`, `{"destination_url":"https://x.example"}`, `["# A"]`}},
		api.PartTranscript: {`[{"speaker":null,"text":"x","timestamp":"00:00:01"}]`,
			[]string{`["x","y"]`, `[1,2]`, `[{"text":7}]`, `[{"display_name":"A","timestamp":"00:00:01"}]`, `{"text":"x"}`}},
		api.PartActionItems: {`[{"description":"x"}]`, []string{`[7]`, `[{"description":7,"completed":false}]`, `[{"description":" ","completed":true}]`}},
		api.PartHighlights:  {`[{"type":"x","start_time":1}]`, []string{`[true]`, `["x"]`, `[[{"type":"x"}]]`}},
		api.PartCRM:         {`{"deals":[{"amount":5}],"error":"x"}`, []string{`{"status":"x"}`, `{"deals":{"a":1}}`, `{"deals":[5],"contacts":["x"]}`}},
	} {
		for _, notice := range c.notices {
			clearArchive(t, a)
			shown := func(hour int, raw string) Observation {
				return Observation{Account: "a", Source: SourceList, At: epoch0.Add(time.Duration(hour) * time.Hour), RecordingID: 1,
					Parts: map[api.Part]json.RawMessage{part: json.RawMessage(raw)}}
			}
			apply(t, a, shown(1, c.content), shown(2, notice))
			if parts, err := a.PartsOf(t.Context(), 1); err != nil || string(parts[part]) != c.content {
				t.Errorf("%s took the place of content: current is %s, %v", notice, parts[part], err)
			}
		}
	}
}
