package syncer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/api"
	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// The account of a user who is deactivated is suspended and names the remedy, across
// a restart too; the others go on. Once the user is active again it goes on within
// an hour, and a command does not wait for that.
func TestADeactivatedUserIsSuspendedAndComesBack(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{Hold: 2}, append(rig.Meetings(12, newest, time.Hour), meetingOfBob(90, newest.Add(-90*time.Minute))...))
		status := func(status string) {
			t.Helper()
			if err := u.Service.SetUserStatus(context.Background(), bob, status); err != nil {
				t.Fatal(err)
			}
		}
		ar := rig.NewArchive(t, archivetest.Dir(t))
		o := syncer.Options{Archive: ar, Schedule: nightly(), Accounts: []syncer.Account{
			{Name: "ada", Client: u.Client(t, ar)}, {Name: "bob", Client: clientOf(t, u, bob)}}}
		s, stop := running(t, o)
		time.Sleep(time.Minute)
		suspended := func(want bool) {
			t.Helper()
			st, err := s.Status(t.Context())
			if err != nil || st.Accounts[0].Suspended != "" || (st.Accounts[1].Suspended != "") != want {
				t.Errorf("suspended: %q, %q, %v", st.Accounts[0].Suspended, st.Accounts[1].Suspended, err)
			}
			if want && !strings.Contains(st.Accounts[1].Suspended, "check its key") {
				t.Errorf("suspended: %s", st.Accounts[1].Suspended)
			}
		}
		suspended(false)
		status(api.StatusDeactivated)
		if _, _, err := u.Service.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		suspended(true)
		before := meetingCounts(t, ar).Meetings
		stop()
		s, stop = running(t, o)
		time.Sleep(10 * time.Second)
		suspended(true)
		if _, _, err := u.Service.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if n := meetingCounts(t, ar).Meetings; n != before+1 {
			t.Errorf("%d meetings, and %d before another was finished", n, before)
		}
		status(api.StatusActive)
		if err := s.Sync(t.Context(), syncer.Request{Account: "bob"}, nil); err != nil {
			t.Error(err)
		}
		suspended(false)
		status(api.StatusDeactivated)
		time.Sleep(10 * time.Minute)
		suspended(true)
		if err := s.Sync(t.Context(), syncer.Request{}, nil); err == nil || !strings.Contains(err.Error(), "bob") || strings.Contains(err.Error(), "account ada") {
			t.Errorf("a command of both is told %v", err)
		}
		status(api.StatusActive)
		time.Sleep(70 * time.Minute)
		suspended(false)
		stop()
	})
}

// A command beside no daemon applies the deliveries that wait in the inbox.
func TestACommandAppliesWhatWaitsInTheInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(3, newest, time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		for id, body := range map[string][]byte{"msg_1": rig.Meeting(50, newest), "msg_2": []byte(`{"no": "meeting"}`)} {
			if _, err := ar.Inbox().Put(t.Context(), inbox.Delivery{Account: "ada", Kind: inbox.KindWebhook, WebhookID: id,
				ReceivedAt: time.Now(), Body: body}); err != nil {
				t.Fatal(err)
			}
		}
		if err := newSyncer(t, u, ar).Sync(t.Context(), syncer.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		in, err := ar.Inbox().Counts(t.Context())
		if err != nil || in.Received != 0 || in.Applied != 1 || in.Quarantined != 1 || meetingCounts(t, ar).Meetings != 4 {
			t.Errorf("inbox %+v, %v; archive %+v", in, err, meetingCounts(t, ar))
		}
	})
}
