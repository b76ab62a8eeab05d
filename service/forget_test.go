package service

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/residue"
)

func TestForgettingLeavesNothingInTheService(t *testing.T) {
	dir := ArchiveDir(t)
	s := newSandbox(t, Options{Archive: openTestArchive(t, dir), Sandbox: true, Hold: 1},
		meeting(1, "default_summary", `{"markdown_formatted": "unmistakable words"}`))
	s.webhook(s.key("ann@acme.example"), "https://hooks.example/", `"my_recordings"`)
	if _, _, err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := s.call(http.MethodPost, "/recordings/1/download", s.admin, ""); a.status != http.StatusAccepted {
		t.Fatal(a.status)
	}
	if files := mentions(t, dir, "unmistakable"); len(files) == 0 {
		t.Fatal("the words are in no file of the service before")
	}
	if _, err := s.archive.Forget(t.Context(), 1, "asked to"); err != nil {
		t.Fatal(err)
	}
	if files := mentions(t, dir, "unmistakable"); len(files) > 0 {
		t.Errorf("the words are still in %v", files)
	}
	if list, err := s.Deliveries(t.Context(), "", 10); err != nil || len(list) != 0 {
		t.Errorf("queued: %+v, %v", list, err)
	}
	s.get("/recordings/1/transcript", s.admin, http.StatusNotFound)
	if got := s.walk("", s.admin); len(got) != 0 {
		t.Errorf("listed: %v", got)
	}
}

// TestADamagedMeetingHidesNoOther damages the stored summary of a meeting, and then the meeting
// itself. Clients take a meeting that a list lacks for deleted: with a damaged summary it is listed,
// and the summary itself is an error and not absent.
func TestADamagedMeetingHidesNoOther(t *testing.T) {
	dir := ArchiveDir(t)
	s := newSandbox(t, Options{Archive: openTestArchive(t, dir), Sandbox: true},
		meeting(1, "default_summary", `{"markdown_formatted": "one"}`), meeting(2, "default_summary", `{"markdown_formatted": "two"}`))
	damage := func(part string) {
		archivetest.Damage(t, filepath.Join(dir, "archive.db"), `UPDATE bodies SET encoding = 1, body = x'00'
			WHERE revision_id IN (SELECT id FROM revisions WHERE recording_id = 1 AND part = '`+part+`')`)
	}
	damage("default_summary")
	if got := s.walk("include_summary=true", s.admin); len(got) != 2 {
		t.Errorf("listed: %v", got)
	}
	s.get("/recordings/1/summary", s.admin, http.StatusInternalServerError)
	s.get("/recordings/2/summary", s.admin, http.StatusOK)
	damage("meeting")
	if got := s.walk("include_summary=true", s.admin); len(got) != 1 || got[0] != 2 {
		t.Errorf("listed: %v", got)
	}
}

// TestNothingForgottenIsSentAfterwards forgets a meeting while a callback with its
// transcript is under way, and between the reading of content and its queueing.
func TestNothingForgottenIsSentAfterwards(t *testing.T) {
	dir := ArchiveDir(t)
	s := newSandbox(t, Options{Archive: openTestArchive(t, dir), Sandbox: true, AllowPrivate: true},
		meeting(1, "default_summary", `{"markdown_formatted": "unmistakable words"}`))
	began, ended := make(chan struct{}, 9), make(chan struct{}, 9)
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		began <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	t.Cleanup(sink.Close)
	ctx, stop := context.WithCancel(t.Context())
	running := make(chan error, 1)
	go func() { running <- s.Run(ctx) }()
	s.get("/recordings/1/summary?destination_url="+sink.URL, s.admin, http.StatusOK)
	<-began
	if _, err := s.archive.Forget(t.Context(), 1, "asked to"); err != nil {
		t.Fatal(err)
	}
	s.transfers.mu.Lock()
	if n := len(s.transfers.open); n != 0 {
		t.Errorf("forgotten, %d attempts are under way", n)
	}
	s.transfers.mu.Unlock()
	<-ended
	err := s.store.queueCallback(t.Context(), callback{owner: "ann@acme.example", kind: "summary", url: sink.URL, recordingID: 1, body: []byte("unmistakable"), at: s.now()})
	if f := new(failure); !errors.As(err, &f) || f.status != http.StatusNotFound {
		t.Errorf("content is queued after it was forgotten: %v", err)
	}
	err = s.store.putDownload(t.Context(), &download{id: "dl_1", recordingID: 1, destination: sink.URL}, []byte("unmistakable"))
	if f := new(failure); !errors.As(err, &f) || f.status != http.StatusNotFound {
		t.Errorf("a download is made after it was forgotten: %v", err)
	}
	err = s.store.db.WriteTx(t.Context(), func(tx *sql.Tx) error {
		return s.store.insertEvent(t.Context(), tx, webhook{id: "wh_1", url: sink.URL}, 1, "pending", []byte("unmistakable"), s.now())
	})
	if err != nil {
		t.Errorf("an event about a forgotten meeting: %v", err)
	}
	stop()
	if err := <-running; err != nil {
		t.Error(err)
	}
	if files := residue.Find(t, "unmistakable", dir); files != nil {
		t.Errorf("the words are in %v", files)
	}
}

// mentions lists the files of service.db that hold the text.
func mentions(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "service.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(text)) {
			files = append(files, filepath.Base(name))
		}
	}
	return files
}

// TestAServiceThatFailsToOpenIsNotOpen: it hinders neither forgetting nor the next that opens.
func TestAServiceThatFailsToOpenIsNotOpen(t *testing.T) {
	a := openTestArchive(t, ArchiveDir(t))
	arrive(t, a, archive.SourceList, newer(1))
	if _, err := New(t.Context(), Options{Archive: a, Window: "other"}); err == nil {
		t.Fatal("opened with a window that does not exist")
	}
	if _, err := a.Forget(t.Context(), 1, "asked to"); err != nil {
		t.Error(err)
	}
	if _, err := New(t.Context(), Options{Archive: a}); err != nil {
		t.Error(err)
	}
}
