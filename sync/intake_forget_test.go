package syncer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/internal/residue"
	"minutebook/internal/testrun"
)

// A meeting is forgotten after each step of intake: before its delivery is
// received, once it is received, read, applied, marked as applied, and once its
// body is dropped. Intake goes on with the deliveries that it had read by then. Nothing of the
// meeting is left in the data directory: neither of a whole webhook, nor of one
// that goes to quarantine, nor of a callback's answer.
func TestForgetAtEachStepOfIntake(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const marker = "Xylophonist-Q7w3"
	text := strings.Repeat(marker+" whispered. ", 500) // more than a page
	wholeBody := fmt.Sprintf(strings.Replace(whole, "hello", text, 1), 1, time.Now().UTC().Format(time.RFC3339))
	bodies := map[string]inbox.Delivery{
		"webhook":     {Kind: inbox.KindWebhook, Body: []byte(wholeBody)},
		"unreadable":  {Kind: inbox.KindWebhook, Body: []byte(wholeBody[:len(wholeBody)-5])},
		"no meeting":  {Kind: inbox.KindWebhook, Body: fmt.Appendf(nil, `{"id": {"recording_id": 1}, "text": %q}`, text)},
		"callback":    {Kind: inbox.KindTranscript, RecordingID: 1, Body: fmt.Appendf(nil, `{"transcript": [{"text": %q}]}`, text)},
		"bad answer":  {Kind: inbox.KindSummary, RecordingID: 1, Body: fmt.Appendf(nil, `{"summary": %q}`, text)},
		"quarantined": {Kind: inbox.KindWebhook, Body: []byte(wholeBody)},
	}
	steps := []string{"before", "received", "read", "applied", "marked", "dropped"}
	for name, d := range bodies {
		for _, at := range steps {
			t.Run(name+" "+at, func(t *testing.T) {
				t.Parallel()
				s, _ := testLoader(t, newMediaHost(t, 1), true)
				box := s.archive.Inbox()
				observation, err := archive.FromMeeting("a", archive.SourceList, time.Now(), []byte(`{"recording_id": 1, "title": "known"}`))
				if err == nil {
					_, err = s.apply(t.Context(), []archive.Observation{observation}, nil, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				forgetAt := func(step string) {
					t.Helper()
					if step == at {
						if _, err := s.archive.Forget(t.Context(), 1, "asked for"); err != nil {
							t.Fatal(err)
						}
					}
				}
				forgetAt("before")
				d := d // the steps run side by side
				d.Account, d.WebhookID, d.ReceivedAt = "a", "m1", time.Now()
				if _, err := box.Put(t.Context(), d); err != nil {
					t.Fatal(err)
				}
				if name == "quarantined" {
					if err := box.Quarantine(t.Context(), 1, "an earlier version could not read it"); err != nil {
						t.Fatal(err)
					}
				}
				forgetAt("received")
				pending, err := box.Pending(t.Context(), 10)
				if err != nil {
					t.Fatal(err)
				}
				forgetAt("read")
				in, err := s.applyDeliveries(t.Context(), pending)
				if err != nil {
					t.Fatal(err)
				}
				forgetAt("applied")
				if err := box.Settle(t.Context(), in.outcomes...); err != nil {
					t.Fatal(err)
				}
				forgetAt("marked")
				if _, err := box.DropBodiesBefore(t.Context(), time.Now().Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
				forgetAt("dropped")
				if left := residue.Find(t, marker, s.archive.Dir()); left != nil {
					t.Errorf("it is in %v", left)
				}
			})
		}
	}
}
