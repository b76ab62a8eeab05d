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
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/roster"
)

// changeWait is how long a request for changes waits for one.
const changeWait = 25 * time.Second

// vantage is a position in the change log, and a digest of the meetings that its reader sees there.
type vantage struct {
	archive.Position
	sight uint64
}

// places makes the names of vantages that pages hold. They are encrypted, since a position
// says how much changes in meetings that its reader does not see. Key and seed live as long
// as the process.
type places struct {
	sealer cipher.AEAD
	seed   maphash.Seed // of digests of rights
}

func newPlaces() (*places, error) {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	return &places{sealer, maphash.MakeSeed()}, err
}

// name returns the name of a vantage.
func (p *places) name(at vantage) string {
	text := binary.BigEndian.AppendUint64([]byte(at.Epoch), uint64(at.Seq)) //nolint:gosec // never negative
	text = binary.BigEndian.AppendUint64(text, at.sight)
	return base64.RawURLEncoding.EncodeToString(p.sealer.Seal(nil, nil, text, nil))
}

// find returns the vantage of a name. It is not ours when an earlier process named
// it. It fails for a text that is no name.
func (p *places) find(name string) (at vantage, ok bool, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil || len(raw) < p.sealer.Overhead() {
		return at, false, &failure{http.StatusBadRequest, "from is what the page or the last answer said"}
	}
	text, err := p.sealer.Open(nil, nil, raw, nil)
	if err != nil || len(text) < 16 {
		return at, false, nil
	}
	split := len(text) - 16
	at.Epoch, at.Seq = string(text[:split]), int64(binary.BigEndian.Uint64(text[split:])) //nolint:gosec // as above
	at.sight = binary.BigEndian.Uint64(text[split+8:])
	return at, true, nil
}

// logPosition returns the name of the change log's head, from which a page waits for
// changes, or "" if it cannot be read: the page then does not update itself. It is asked
// for before the content of the page; only is the one meeting of the page, or 0.
func (s *server) logPosition(r *http.Request, only int64) string {
	head, err := s.Archive.Head(r.Context())
	if err != nil {
		return ""
	}
	sight, err := s.sight(r.Context(), only)
	if err != nil {
		return ""
	}
	return s.places.name(vantage{head, sight})
}

// sight returns a digest of the visitor's rights, and, where all meetings count, of those
// that the visitor sees. Without it nobody could tell that a meeting which the visitor does
// not see now is one that the page shows still.
func (s *server) sight(ctx context.Context, only int64) (uint64, error) {
	viewer := viewerOf(ctx)
	if viewer.All {
		return 0, nil // every change is seen
	}
	rights, err := s.Archive.ViewerPrincipals(ctx, viewer)
	if err != nil {
		return 0, fmt.Errorf("read the visitor's rights: %w", err)
	}
	sum := maphash.String(s.places.seed, strings.Join(rights, "\x00"))
	if only != 0 {
		return sum, nil
	}
	meetings, err := s.Roster.Digest(ctx, roster.View{Viewer: viewer})
	return sum + meetings, err
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
	at, ok, err := s.places.find(r.URL.Query().Get("from"))
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
		at.Position, err = s.Archive.Head(r.Context())
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
	ctx := context.WithValue(r.Context(), visitorKey{}, now)
	if before := viewerOf(r.Context()); now.Viewer.All != before.All || !slices.Equal(now.Viewer.Emails, before.Emails) {
		changed = true
		err = s.checkSeen(ctx, only)
	}
	if err == nil && changed {
		at.sight, err = s.sight(ctx, only) // before the page reads itself again
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, changesJSON{s.places.name(at), changed})
	return nil
}

// waitChange is waitVisible for [changeWait], and not after a person is changed, who may be
// the visitor.
func (s *server) waitChange(ctx context.Context, at vantage, only int64) (vantage, bool, error) {
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

// waitVisible waits for a change that the visitor sees and returns the vantage up to
// which it looked; only names the one meeting whose changes count, 0 all. It ends with ctx,
// without an error.
func (s *server) waitVisible(ctx context.Context, at vantage, only int64) (vantage, bool, error) {
	for {
		if err := s.Archive.WaitChange(ctx, at.Position); ctx.Err() != nil {
			return at, false, nil
		} else if err != nil {
			return at, false, err
		}
		next, seen, err := s.seesChange(ctx, at, only)
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

// seesChange looks at the changes after a vantage: whether one of them is of a meeting
// that the visitor sees, and the only one that counts unless that is 0, or has changed the
// visitor's rights or meetings. Changes of CRM matches count for the owner alone: others may see
// the meeting without them. It returns the vantage up to which it looked, and fails when the
// visitor does not see the only one that counts.
func (s *server) seesChange(ctx context.Context, at vantage, only int64) (vantage, bool, error) {
	viewer := viewerOf(ctx)
	head, err := s.Archive.Head(ctx)
	if err != nil || viewer.All && only == 0 {
		return vantage{head, at.sight}, err == nil, err
	}
	if err := s.checkSeen(ctx, only); err != nil { // after the head: a later loss is a later change
		return at, false, err
	}
	changes, err := s.Archive.Changes(ctx, at.Position, changesRead)
	if errors.Is(err, archive.ErrForeignEpoch) {
		return vantage{head, at.sight}, true, nil
	}
	if err != nil {
		return at, false, err
	}
	if at.Position = head; len(changes) == changesRead {
		at.Seq = changes[changesRead-1].Seq
	}
	var ids []int64
	for _, c := range changes {
		if (only == 0 || c.RecordingID == only) && (viewer.All || c.Part != api.PartCRM) {
			ids = append(ids, c.RecordingID)
		}
	}
	visible, err := s.Archive.SeenOf(ctx, viewer, ids)
	if err != nil || len(visible) > 0 {
		return at, err == nil, err
	}
	if !slices.ContainsFunc(changes, movesSight) {
		return at, false, nil
	}
	now, err := s.sight(ctx, only)
	return at, err == nil && now != at.sight, err
}

// movesSight reports whether a change can take a meeting away from a viewer, or change the
// viewer's rights.
func movesSight(c archive.Change) bool {
	return c.Kind == archive.ChangeVisibility || c.Kind == archive.ChangeForgotten || c.Kind == archive.ChangeDirectory
}
