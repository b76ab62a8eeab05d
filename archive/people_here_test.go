package archive

import (
	"slices"
	"testing"

	"minutebook/api"
)

// TestADeactivationAtTheServiceCounts has a user who was made active here, and lists that say
// otherwise: the newest list's deactivation counts, and a deactivation here counts before all
// lists. What is said here stays.
func TestADeactivationAtTheServiceCounts(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	ctx := t.Context()
	const kim = "kim@acme.example"
	put := func(account, status string) error {
		return a.PutUsers(ctx, account, []api.User{userWithView(kim, status)})
	}
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"here alone", func() error { return put(LocalAccount, api.StatusActive) }, api.StatusActive},
		{"active in a list", func() error { return put("boss", api.StatusActive) }, api.StatusActive},
		{"invited in a list", func() error { return put("boss", api.StatusInvited) }, api.StatusActive},
		{"deactivated in the last list", func() error { return put("boss", api.StatusDeactivated) }, api.StatusDeactivated},
		{"written here again", func() error { return put(LocalAccount, api.StatusActive) }, api.StatusDeactivated},
		{"active in a later list", func() error { return put("zed", api.StatusActive) }, api.StatusActive},
		{"deactivated here", func() error { return put(LocalAccount, api.StatusDeactivated) }, api.StatusDeactivated},
		{"active here", func() error { return put(LocalAccount, api.StatusActive) }, api.StatusActive},
		{"deactivated, and the account leaves", func() error {
			if err := put("boss", api.StatusDeactivated); err != nil {
				return err
			}
			return a.SetAccounts(ctx, []AccountSetting{{Name: "zed"}})
		}, api.StatusDeactivated},
		{"active in the whole list of here", func() error { return put(LocalAccount, api.StatusActive) }, api.StatusDeactivated},
		{"made active here", func() error { return a.PutLocalUser(ctx, userWithView(kim, api.StatusActive)) }, api.StatusActive},
		{"the account comes back, and says the same", func() error {
			if err := a.SetAccounts(ctx, []AccountSetting{{Name: "zed"}, {Name: "boss"}}); err != nil {
				return err
			}
			return put("boss", api.StatusDeactivated)
		}, api.StatusDeactivated},
		{"made active here, and the list is read", func() error { return a.PutLocalUser(ctx, userWithView(kim, api.StatusActive)) }, api.StatusDeactivated},
		{"the list may not be read any more", func() error { return second(a.EndUsers(ctx, "boss")) }, api.StatusDeactivated},
		{"made active here after that", func() error { return a.PutLocalUser(ctx, userWithView(kim, api.StatusActive)) }, api.StatusActive},
		{"the list is read again", func() error { return put("boss", api.StatusDeactivated) }, api.StatusDeactivated},
		{"made active here before the next list", func() error { return a.PutLocalUser(ctx, userWithView(kim, api.StatusActive)) }, api.StatusDeactivated},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		u, err := a.User(ctx, kim)
		if err != nil || u.Status != step.want {
			t.Errorf("%s: %+v, %v; want %s", step.name, u, err, step.want)
		}
		all, err := a.Users(ctx)
		if err != nil || len(all) != 1 || all[0].Status != step.want {
			t.Errorf("%s: users are %+v, %v; want %s", step.name, all, err, step.want)
		}
		if is, err := a.IsDeactivated(ctx, []string{kim}); err != nil || is != (step.want == api.StatusDeactivated) {
			t.Errorf("%s: deactivated %t, %v", step.name, is, err)
		}
		if own, err := a.UsersOf(ctx, LocalAccount); err != nil || len(own) != 1 {
			t.Errorf("%s: here are %+v, %v", step.name, own, err)
		}
		principals, err := a.ViewerPrincipals(ctx, ViewerWith(kim))
		if err != nil || slices.Contains(principals, UserPrincipal(kim)) != (step.want == api.StatusActive) {
			t.Errorf("%s: %v, %v", step.name, principals, err)
		}
	}
}

// TestAKeyThatWorksLeavesWhatIsSaidHere lists meetings with the key of a user whom a list has
// deactivated: the list's row goes, and the one of here counts again.
func TestAKeyThatWorksLeavesWhatIsSaidHere(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	ctx := t.Context()
	const kim = "kim@acme.example"
	for _, err := range []error{
		a.SetAccounts(ctx, []AccountSetting{{Name: "kim", Email: kim, Credential: "k", Queries: []string{""}}}),
		a.PutUsers(ctx, LocalAccount, statuses(kim, api.StatusActive)),
		a.PutUsers(ctx, "boss", statuses(kim, api.StatusDeactivated)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := a.BeginWalk(ctx, "kim", "")
	if err != nil {
		t.Fatal(err)
	}
	o := listedMeeting(t, "kim", "", 0, 1, "bob@acme.example", "", api.SharedNoTeams)
	o.Walk, w.ByKey = w.Number, true
	apply(t, a, o)
	if _, err := a.CompleteWalk(ctx, w); err != nil {
		t.Fatal(err)
	}
	if u, err := a.User(ctx, kim); err != nil || u.Status != api.StatusActive {
		t.Errorf("kim is %+v, %v", u, err)
	}
	if here, err := a.UsersOf(ctx, LocalAccount); err != nil || len(here) != 1 {
		t.Errorf("here are %+v, %v", here, err)
	}
	if listed, err := a.UsersOf(ctx, "boss"); err != nil || len(listed) != 0 {
		t.Errorf("the list has %+v, %v", listed, err)
	}
}

// TestWhoIsDeactivatedSeesNothingByAnotherAddress has a person who was deactivated under a new
// address, and a meeting that they recorded under the former one, which no list has any more. An
// address that is active counts.
func TestWhoIsDeactivatedSeesNothingByAnotherAddress(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	ob := observe(t, SourceList, epoch0, meetingJSON(1, "T", "said"))
	apply(t, a, ob)
	row, err := a.Row(t.Context(), 1)
	if err != nil || row.RecordedBy.Email == "" {
		t.Fatal(row, err)
	}
	const now = "kim@acme.example"
	for status, want := range map[string]int{api.StatusDeactivated: 0, api.StatusActive: 1} {
		if err := a.PutUsers(t.Context(), "boss", []api.User{userWithView(now, status)}); err != nil {
			t.Fatal(err)
		}
		rows, err := a.List(t.Context(), ListQuery{Viewer: ViewerWith(now, row.RecordedBy.Email), IncludeGone: true})
		if err != nil || len(rows) != want {
			t.Errorf("%s: sees %d meetings, %v; want %d", status, len(rows), err, want)
		}
	}
}
