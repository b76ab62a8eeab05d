package syncer

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// withKeys is testLoader with an account whose key and address setKey replaces. The service answers
// calls with the key "old" as refuse does, once goOn is closed; for others it has empty lists.
func withKeys(t *testing.T, refuse func(http.ResponseWriter, *http.Request)) (s *Syncer, task *downloadTask, setKey func(email, key string), asked, goOn chan struct{}) {
	t.Helper()
	s, task = testLoader(t, newMediaHost(t, 1), true)
	asked, goOn = make(chan struct{}, 9), make(chan struct{})
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isOld := r.Header.Get("X-Api-Key") == "old"
		if isOld {
			asked <- struct{}{}
			<-goOn
		}
		switch {
		case isOld:
			refuse(w, r)
		case strings.Contains(r.URL.Path, "/download"):
			http.NotFound(w, r)
		default:
			_, _ = w.Write([]byte(`{"limit": 10, "next_cursor": null, "items": []}`))
		}
	}))
	t.Cleanup(host.Close)
	setKey = func(email, key string) {
		t.Helper()
		c, err := api.NewClient(api.ClientOptions{BaseURL: host.URL + "/external/v1", Credential: api.APIKey(key)})
		if err == nil {
			err = s.archive.SetAccounts(t.Context(), []archive.AccountSetting{{Name: "a", Email: email, Queries: []string{""}}})
		}
		if err == nil {
			err = s.SetAccounts([]Account{{Name: "a", Client: c}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	setKey("dan@example.com", "old")
	return s, task, setKey, asked, goOn
}

// The key of an account is replaced while a call with the former one waits, which the service
// refuses in whatever way.
func TestAFormerKeySuspendsNobody(t *testing.T) {
	for state, status := range map[archive.DownloadState]int{archive.DownloadWanted: 403, archive.DownloadRequested: 404, archive.DownloadReady: 401} {
		t.Run(string(state), func(t *testing.T) {
			s, task, setKey, asked, goOn := withKeys(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			task.row.State, task.row.RequestedAt, task.url = state, time.Now(), ""
			done := make(chan error, 1)
			go func() { done <- s.downloads.advance(t.Context(), task) }()
			<-asked
			setKey("dan@example.com", "new")
			close(goOn)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if marks, err := s.archive.Marks(t.Context(), suspendedPrefix); err != nil || len(marks) > 0 || s.Suspended("a") != "" {
				t.Errorf("suspended: %s, %q, %v", marks, s.Suspended("a"), err)
			}
			if d, err := s.archive.DownloadOf(t.Context(), 7); err != nil || d.State != archive.DownloadWanted || d.Failures+len(d.RefusedBy) > 0 {
				t.Errorf("the recording is %+v, %v", d, err)
			}
		})
	}
}

// An account becomes another person's while the service forbids a recording to the former one.
func TestAFormerPersonsRefusalIsNotTheNextOnes(t *testing.T) {
	s, task, setKey, asked, goOn := withKeys(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(`{"limit": 10, "next_cursor": null, "items": []}`))
	})
	task.row.State, task.row.Account = archive.DownloadWanted, ""
	done := make(chan error, 1)
	go func() { done <- s.downloads.advance(t.Context(), task) }()
	<-asked
	setKey("kim@example.com", "new")
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if d, err := s.archive.DownloadOf(t.Context(), 7); err != nil || d.State != archive.DownloadWanted || len(d.ForbiddenTo)+len(d.RefusedBy) > 0 {
		t.Errorf("refused by %v, forbidden to %v, %s, %v", d.RefusedBy, d.ForbiddenTo, d.State, err)
	}
}

// A repair wants a meeting's content read again while an earlier read of its summary is under way.
func TestContentThatIsWantedMeanwhileIsRead(t *testing.T) {
	s, _ := testLoader(t, newMediaHost(t, 1), true)
	now := time.Now()
	plan := func(task contentTask) {
		t.Helper()
		if _, err := s.apply(t.Context(), nil, []contentTask{task}, nil); err != nil {
			t.Fatal(err)
		}
	}
	task := contentTask{RecordingID: 7, Account: "a", Summary: true, Created: now, First: now, Due: now}
	plan(task)
	again := task
	again.Transcript = true
	plan(again)
	got := contentAnswers{task: task, remaining: task}
	got.remaining.Summary = false
	if err := s.applyContent(t.Context(), s.account("a"), got, now); err != nil {
		t.Fatal(err)
	}
	if task, ok := s.content.get(7); !ok || !task.Transcript || !task.Summary {
		t.Errorf("wanted are %+v, %t", task, ok)
	}
}
