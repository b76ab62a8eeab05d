package web

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"minutebook/archive"
)

// changeWait is how long a request for changes waits for one.
const changeWait = 25 * time.Second

// places makes the names of positions in the change log that pages hold. They are
// encrypted, since a position says how much changes in meetings that its reader does not
// see. The key lives as long as the process.
type places struct{ sealer cipher.AEAD }

func newPlaces() (*places, error) {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	return &places{sealer}, err
}

// name returns the name of a position.
func (p *places) name(at archive.Position) string {
	text := binary.BigEndian.AppendUint64([]byte(at.Epoch), uint64(at.Seq)) //nolint:gosec // never negative
	return base64.RawURLEncoding.EncodeToString(p.sealer.Seal(nil, nil, text, nil))
}

// position returns the position of a name. It is not ours when an earlier process named
// it. It fails for a text that is no name.
func (p *places) position(name string) (at archive.Position, ok bool, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil || len(raw) < p.sealer.Overhead() {
		return at, false, &failure{http.StatusBadRequest, "from is what the page or the last answer said"}
	}
	text, err := p.sealer.Open(nil, nil, raw, nil)
	if err != nil || len(text) < 8 {
		return at, false, nil
	}
	split := len(text) - 8
	at.Epoch, at.Seq = string(text[:split]), int64(binary.BigEndian.Uint64(text[split:])) //nolint:gosec // as above
	return at, true, nil
}

// logPosition returns the name of the change log's head, from which a page waits for
// changes, or "" if it cannot be read: the page then does not update itself.
func (s *server) logPosition(r *http.Request) string {
	head, err := s.Archive.Head(r.Context())
	if err != nil {
		return ""
	}
	return s.places.name(head)
}

// changesJSON is the answer to a request for changes.
type changesJSON struct {
	Head    string `json:"head"`
	Changed bool   `json:"changed"`
}

// apiChanges answers as soon as something that the visitor sees has changed after
// ?from=, or after [changeWait] without such a change. With ?recording_id= the changes of
// this meeting alone count, and it fails like the meeting's page once the visitor does not
// see the meeting. A position that an earlier process named counts as changed.
func (s *server) apiChanges(w http.ResponseWriter, r *http.Request) error {
	at, ok, err := s.places.position(r.URL.Query().Get("from"))
	if err != nil {
		return err
	}
	var only int64
	if id := r.URL.Query().Get("recording_id"); id != "" {
		if only, err = strconv.ParseInt(id, 10, 64); err != nil || only <= 0 {
			return &failure{http.StatusBadRequest, "recording_id is the number of a meeting"}
		}
	}
	if err := s.checkSeen(r.Context(), only); err != nil {
		return err
	}
	changed := true
	if ok {
		at, changed, err = s.waitChange(r.Context(), at, only)
	} else {
		at, err = s.Archive.Head(r.Context())
	}
	if err == nil {
		err = r.Context().Err() // the daemon stops, and after an answer without a change pages ask again at once
	}
	if err != nil {
		return err
	}
	now, err := s.identifyAgain(r) // the wait was long
	if err != nil {
		return err
	}
	if before := viewerOf(r.Context()); now.Viewer.All != before.All || !slices.Equal(now.Viewer.Emails, before.Emails) {
		changed = true
		err = s.checkSeen(context.WithValue(r.Context(), visitorKey{}, now), only)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, changesJSON{s.places.name(at), changed})
	return nil
}

// waitChange is waitVisible for [changeWait], and not after a person is changed, who may be
// the visitor.
func (s *server) waitChange(ctx context.Context, at archive.Position, only int64) (archive.Position, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, changeWait)
	defer cancel()
	if s.Entry.People != nil {
		person := s.Entry.People.Changed()
		go func() {
			select {
			case <-person:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return s.waitVisible(ctx, at, only)
}

// checkSeen fails like [server.visibleRow] for a meeting that the visitor does not see; 0
// stands for none.
func (s *server) checkSeen(ctx context.Context, only int64) error {
	if only == 0 {
		return nil
	}
	_, err := s.visibleRow(ctx, only)
	return err
}

// waitVisible waits for a change that the visitor sees and returns the position up to
// which it looked; only names the one meeting whose changes count, 0 all. It ends with ctx,
// without an error.
func (s *server) waitVisible(ctx context.Context, at archive.Position, only int64) (archive.Position, bool, error) {
	rights, err := s.Archive.ViewerPrincipals(ctx, viewerOf(ctx))
	if ctx.Err() != nil {
		return at, false, nil
	}
	if err != nil {
		return at, false, err
	}
	for {
		if err := s.Archive.WaitChange(ctx, at); ctx.Err() != nil {
			return at, false, nil
		} else if err != nil {
			return at, false, err
		}
		next, seen, err := s.seesChange(ctx, at, rights, only)
		if ctx.Err() != nil {
			return at, false, nil
		}
		if err != nil || seen {
			return next, seen, err
		}
		at = next
	}
}

// changesRead is how many changes are looked at in one step.
const changesRead = 500

// seesChange looks at the changes after a position: whether one of them is of a meeting
// that the visitor sees, and the only one that counts unless that is 0, or has changed the
// visitor's rights. It returns the position up to which it looked, and fails when the visitor
// does not see the only one that counts.
func (s *server) seesChange(ctx context.Context, at archive.Position, rights []string, only int64) (archive.Position, bool, error) {
	viewer := viewerOf(ctx)
	head, err := s.Archive.Head(ctx)
	if err != nil || viewer.All && only == 0 {
		return head, err == nil, err
	}
	if err := s.checkSeen(ctx, only); err != nil { // after the head: a later loss is a later change
		return at, false, err
	}
	changes, err := s.Archive.Changes(ctx, at, changesRead)
	if errors.Is(err, archive.ErrForeignEpoch) {
		return head, true, nil
	}
	if err != nil {
		return at, false, err
	}
	if at = head; len(changes) == changesRead {
		at.Seq = changes[changesRead-1].Seq
	}
	var ids []int64
	for _, c := range changes {
		if only == 0 || c.RecordingID == only {
			ids = append(ids, c.RecordingID)
		}
	}
	visible, err := s.Archive.SeenOf(ctx, viewer, ids)
	if err != nil || len(visible) > 0 {
		return at, err == nil, err
	}
	if !slices.ContainsFunc(changes, func(c archive.Change) bool { return c.Kind == archive.ChangeDirectory }) {
		return at, false, nil
	}
	now, err := s.Archive.ViewerPrincipals(ctx, viewer)
	if err != nil {
		return at, false, fmt.Errorf("look whether rights have changed: %w", err)
	}
	return at, !slices.Equal(now, rights), nil
}
