package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
)

// changeWait is how long /api/changes waits for a change.
const changeWait = 25 * time.Second

// logPosition returns the head of the change log, from which a page waits for
// changes, or "" if it cannot be read: the page then does not update itself.
func (s *server) logPosition(r *http.Request) string {
	head, err := s.Archive.Head(r.Context())
	if err != nil {
		return ""
	}
	return head.Epoch + "." + strconv.FormatInt(head.Seq, 10)
}

// apiChanges answers {"head": …, "changed": bool} as soon as the archive has
// changed after ?from=, or after [changeWait] without a change.
func (s *server) apiChanges(w http.ResponseWriter, r *http.Request) error {
	epoch, seq, ok := strings.Cut(r.URL.Query().Get("from"), ".")
	n, err := strconv.ParseInt(seq, 10, 64)
	if err != nil || !ok {
		return &failure{http.StatusBadRequest, "from is what the page or the last answer said"}
	}
	ctx, cancel := context.WithTimeout(r.Context(), changeWait)
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
