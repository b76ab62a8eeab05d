package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
)

// patience is how long a page's question for changes waits for one.
const patience = 25 * time.Second

// position writes the change log's head for a page to wait on; nothing when it
// cannot be read: the page then stands still, which is no error.
func (s *server) position(r *http.Request) string {
	head, err := s.Archive.Head(r.Context())
	if err != nil {
		return ""
	}
	return head.Epoch + "." + strconv.FormatInt(head.Seq, 10)
}

// apiChanges answers once the archive has changed after ?from=, or after some
// time without: {"head": …, "changed": bool}.
func (s *server) apiChanges(w http.ResponseWriter, r *http.Request) error {
	epoch, seq, ok := strings.Cut(r.URL.Query().Get("from"), ".")
	n, err := strconv.ParseInt(seq, 10, 64)
	if err != nil || !ok {
		return &failure{http.StatusBadRequest, "from is what the page or the last answer said"}
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	err = s.Archive.WaitChange(ctx, archive.Position{Epoch: epoch, Seq: n})
	if err != nil && ctx.Err() == nil {
		return err
	}
	head, herr := s.Archive.Head(r.Context())
	if herr != nil {
		return herr
	}
	writeJSON(w, http.StatusOK, struct {
		Head    string `json:"head"`
		Changed bool   `json:"changed"`
	}{head.Epoch + "." + strconv.FormatInt(head.Seq, 10), err == nil})
	return nil
}
