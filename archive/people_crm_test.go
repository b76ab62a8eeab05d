package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/internal/testrun"
)

// TestAccountsWithOtherCRMsDoNotTakeTurns shows one meeting to two accounts, each
// night again, with the matches of the CRM of each. Nothing is logged before an
// account sees other matches, and a rebuild finds the same current.
func TestAccountsWithOtherCRMsDoNotTakeTurns(t *testing.T) {
	testrun.SkipUnderRace(t)
	for name, c := range map[string][2]string{
		"two CRMs":            {`{"deals": [{"name": "Apple"}]}`, `{"deals": [{"name": "Banana"}]}`},
		"one CRM":             {`{"deals": [{"name": "Apple"}]}`, `{"error": "no CRM is connected"}`},
		"none in two ways":    {`{"contacts": [], "deals": []}`, `{"error": "no CRM is connected"}`},
		"the same of one CRM": {`{"deals": [{"name": "Apple"}]}`, `{"deals": [{"name": "Apple"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			show := func(night int, account, crm string) {
				t.Helper()
				o := observe(t, SourceList, epoch0.Add(time.Duration(night)*24*time.Hour), fmt.Appendf(nil, `{"recording_id": 1, "title": "t", "crm_matches": %s}`, crm))
				o.Account = account
				apply(t, a, o)
			}
			seq := func() int64 {
				t.Helper()
				head, err := a.Head(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return head.Seq
			}
			current := func() string {
				t.Helper()
				parts, err := a.PartsOf(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
				later, err := a.PartsAt(t.Context(), 1, epoch0.Add(9999*time.Hour))
				if err != nil || string(later[api.PartCRM]) != string(parts[api.PartCRM]) {
					t.Errorf("as of a later time: %s, %v; now: %s", later[api.PartCRM], err, parts[api.PartCRM])
				}
				return string(parts[api.PartCRM])
			}
			show(0, "anns", c[0])
			show(1, "bobs", c[1])
			before, old := seq(), current()
			for night := range 3 {
				show(2*night+2, "anns", c[0])
				show(2*night+3, "bobs", c[1])
			}
			if now := current(); seq() != before || now != old {
				t.Errorf("%d rows were logged of a repeat; current was %s and is %s", seq()-before, old, now)
			}
			if err := a.Rebuild(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if now := current(); now != old {
				t.Errorf("a rebuild makes %s current instead of %s", now, old)
			}
			const other = `{"deals": [{"name": "Cherry"}]}`
			before = seq()
			if show(9, "anns", other); seq() != before+1 || current() != other {
				t.Errorf("an account sees others: %d rows, current %s", seq()-before, current())
			}
		})
	}
}

// TestOwnMatchesAreForTheOrganisation shows the CRM matches of this program's own
// organisation to its people alone, not to a guest with whom a meeting is shared.
func TestOwnMatchesAreForTheOrganisation(t *testing.T) {
	a := newArchive(t)
	putOrganisation(t, a)
	o := observe(t, SourceImport, epoch0, []byte(`{"recording_id": 1, "crm_matches": {"deals": [{"name": "Apple"}]}}`))
	o.Account = LocalAccount
	apply(t, a, o)
	for _, guest := range []string{"guest@elsewhere.example", "bob@example.com"} {
		if err := a.PutShares(t.Context(), Share{1, UserPrincipal(guest), ShareStandard}); err != nil {
			t.Fatal(err)
		}
	}
	for email, want := range map[string]bool{"ann@example.com": true, "bob@example.com": true, "guest@elsewhere.example": false,
		"guest@elsewhere.example bob@example.com": true, "left@example.com": false} {
		raw, err := a.MeetingJSONFor(t.Context(), ViewerWith(strings.Fields(email)...), 1)
		if errors.Is(err, ErrNotFound) {
			raw, err = nil, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(raw), "Apple"); got != want {
			t.Errorf("%s is shown the matches: %t, want %t", email, got, want)
		}
	}
}

// Reads of several accounts after a rebuild leave nothing for verify to find.
func TestVerifyAgreesWithReadsAfterRebuild(t *testing.T) {
	a := newArchive(t)
	show := func(account string, hour int) {
		t.Helper()
		matches := fmt.Sprintf(`[{"name":%q}]`, account)
		o := Observation{Account: account, Source: SourceList, At: epoch0.Add(time.Duration(hour) * time.Hour), RecordingID: 1,
			Parts: map[api.Part]json.RawMessage{api.PartMeeting: json.RawMessage(`{"recording_id":1,"title":"T"}`), api.PartCRM: json.RawMessage(matches)}}
		if _, err := a.Apply(t.Context(), []Observation{o}); err != nil {
			t.Fatal(err)
		}
	}
	show("ann", 1)
	show("bob", 2)
	if err := a.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	show("ann", 3)
	show("bob", 4)
	if _, err := a.Verify(t.Context(), VerifyOptions{}, func(d Damage) {
		if d.Class == DamageRows {
			t.Error(d)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedCRMDelaysNoMeeting shows a meeting again whose CRM matches have lost their
// bytes: the rest of it is kept, a past state is refused in words, and verify repairs it.
func TestDamagedCRMDelaysNoMeeting(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := filledArchive(t)
	damageDatabase(t, a.db.Path, `DELETE FROM bodies WHERE revision_id = (SELECT revision_id FROM parts WHERE recording_id = 3 AND part = 'crm_matches')`)
	if _, err := a.PartsAt(t.Context(), 3, epoch0.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "verify") {
		t.Errorf("a past state of the damaged meeting: %v", err)
	}
	apply(t, a, observe(t, SourceList, epoch0.Add(2*time.Hour), meetingJSON(3, "New", "hello 3")))
	if row, err := a.Row(t.Context(), 3); err != nil || row.Title != "New" {
		t.Errorf("the meeting is titled %q, %v", row.Title, err)
	}
	verify(t, a, VerifyOptions{Repair: true})
	apply(t, a, observe(t, SourceList, epoch0.Add(3*time.Hour), meetingJSON(3, "New", "hello 3")))
	if _, damages := verify(t, a, VerifyOptions{}); len(damages) != 0 {
		t.Errorf("after the repair: %v", damages)
	}
	if parts, err := a.PartsOf(t.Context(), 3); err != nil || !strings.Contains(string(parts[api.PartCRM]), "Cy") {
		t.Errorf("the matches are %s, %v", parts[api.PartCRM], err)
	}
}

// TestMatchesShownAgainMoveDatesOnly shows accounts matches in a random order, by reads that
// overtake one another and by webhooks: a change is logged where the matches of an account or the
// current ones change and nowhere else, and deciding about all of them anew changes nothing.
func TestMatchesShownAgainMoveDatesOnly(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := newArchive(t)
	r := rand.New(rand.NewPCG(1, 1))
	var numbers []int64
	state := func() string {
		views, err := a.CRMViews(t.Context(), []int64{1})
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, v := range views[1] {
			text = append(text, fmt.Sprintf("%s %s", v.Principal, v.Matches))
		}
		slices.Sort(text)
		parts, err := a.PartsOf(t.Context(), 1)
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s, current %s", text, parts[api.PartCRM])
	}
	head := func() int64 {
		p, err := a.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p.Seq
	}
	changed := 0
	for i := range 400 {
		matches := []string{`{"contacts":[{"name":"Ann"}]}`, `{"contacts":[{"name":"Bob"}]}`, `{"error":"not linked"}`}[r.IntN(3)]
		o := Observation{Account: []string{"ann", "bob"}[r.IntN(2)], Source: SourceList, At: epoch0.Add(time.Duration(i) * time.Minute), RecordingID: 1,
			Parts: map[api.Part]json.RawMessage{api.PartCRM: json.RawMessage(matches)}}
		switch r.IntN(8) {
		case 0:
			o.Source = SourceWebhook
		case 1, 2: // sent before others whose answers were here sooner
			if o.Order = a.NextOrder(); len(numbers) > 0 {
				o.Order = numbers[r.IntN(len(numbers))] - 1
			}
		default:
			o.Order = a.NextOrder() + 1
			numbers = append(numbers, o.Order)
		}
		before, logged := state(), head()
		apply(t, a, o)
		after := state()
		if before != after {
			changed++
		}
		if i > 0 && (before != after) != (head() != logged) {
			t.Fatalf("step %d, %s by %s of %s: %s becomes %s, and the log goes from %d to %d", i, o.Account, o.Source, matches, before, after, logged, head())
		}
		if i%10 != 9 {
			continue
		}
		if err := a.Rebuild(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if anew := state(); anew != after {
			t.Fatalf("step %d: %s, decided anew %s", i, after, anew)
		}
	}
	if changed < 40 {
		t.Errorf("only %d changes", changed)
	}
}
