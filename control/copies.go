package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/archive/export"
	"minutebook/archive/generation"
	"minutebook/archive/importer"
	"minutebook/config"
	"minutebook/internal/phrase"
	"minutebook/search"
	"minutebook/web/access"
)

// registerCopies registers the operations that bring meetings in and out.
func (h Deps) registerCopies(r *Registry) {
	registerLong(r, h.Activities, "export", h.exportFiles)
	registerLong(r, h.Activities, "import", h.importFiles)
	registerLong(r, h.Activities, "backup", h.backUp)
}

// Copied is an event of export, import and backup: the number of meetings or files
// so far.
type Copied struct {
	Done  int `json:"done"`
	Total int `json:"total,omitempty"` // 0: unknown
}

// ExportRequest asks for meetings as files. Dir is absolute, or the address of a bucket.
type ExportRequest struct {
	Dir        string   `json:"dir"`
	Format     string   `json:"format"`
	Query      string   `json:"query"` // "" for all meetings
	Recipients []string `json:"recipients"`
}

func (h Deps) exportFiles(ctx context.Context, q ExportRequest, emit Emit) (export.Result, error) {
	o := export.Options{Dir: q.Dir, Format: export.Format(q.Format),
		Progress: func(done int) { _ = emit(Copied{Done: done}) }}
	var err error
	if o.Format == export.HTML {
		if o.Site, err = h.Site(); err != nil {
			return export.Result{}, err
		}
	}
	if o.Recipients, err = h.recipients(q.Recipients); err != nil {
		return export.Result{}, err
	}
	if strings.TrimSpace(q.Query) != "" {
		if o.IDs, err = h.findAll(ctx, q.Query); err != nil {
			return export.Result{}, err
		}
	}
	if err := h.recordEvent(ctx, access.Exported, access.IDs{Count: len(o.IDs)}); err != nil {
		return export.Result{}, err
	}
	if o.Notes, err = h.openNotes(ctx); err != nil {
		return export.Result{}, err
	}
	if o.Authors, err = h.authors(ctx); err != nil {
		return export.Result{}, err
	}
	return export.Run(ctx, h.Archive, o)
}

// findAll returns the ids of all meetings that match a whole query. It fails where the
// index that is there has not all of them yet, or has not checked all: an export takes the
// others out of its folder.
func (h Deps) findAll(ctx context.Context, query string) ([]int64, error) {
	index, err := h.Index(ctx)
	if err != nil {
		return nil, err
	}
	ids := []int64{}
	request := search.Request{Query: query, Limit: 100, Moments: 1, Viewer: archive.Viewer{All: true}, Location: h.Location, Whole: true}
	if err := h.addNotes(ctx, &request); err != nil {
		return nil, err
	}
	for {
		answer, err := index.Search(ctx, request)
		if _, ok := errors.AsType[*search.QueryError](err); ok {
			return nil, &Error{Kind: KindQuery, Message: err.Error(), ExitCode: 2}
		}
		if err != nil {
			return nil, err
		}
		if p := answer.Progress; p.Rebuilding && p.Indexed < p.Total {
			return nil, fmt.Errorf("export what a query finds: the index has %d of %s: wait until it is built (`minutebook status`)", p.Indexed, phrase.Meetings(p.Total))
		}
		if !answer.Exact {
			return nil, errors.New("export what a query finds: a phrase or the beginning of a word is so frequent that not every meeting was checked for it: narrow the query by dates, or ask for whole words without quotation marks")
		}
		for _, hit := range answer.Meetings {
			ids = append(ids, hit.Row.RecordingID)
		}
		if request.After = answer.Next; request.After == "" {
			return ids, nil
		}
	}
}

// recipients parses the requested public keys, or the configured ones where none
// are requested.
func (h Deps) recipients(asked []string) ([]age.Recipient, error) {
	if len(asked) == 0 {
		asked = h.Recipients
	}
	if len(asked) == 0 {
		return nil, nil
	}
	recipients, err := age.ParseRecipients(strings.NewReader(strings.Join(asked, "\n")))
	if err != nil {
		return nil, fmt.Errorf("read age recipients: %w; write public keys as age-keygen prints them (age1…)", err)
	}
	return recipients, nil
}

// ImportRequest asks for files to be imported. Paths are absolute. Identity is the
// file with the keys of encrypted ones, or "".
type ImportRequest struct {
	Paths    []string `json:"paths"`
	Account  string   `json:"account"`
	Identity string   `json:"identity"`
	// Owner and VisibleTo are for meetings of other programs; where empty, the
	// configuration says them.
	Owner     string   `json:"owner,omitempty"`
	VisibleTo []string `json:"visible_to,omitempty"`
}

func (h Deps) importFiles(ctx context.Context, q ImportRequest, emit Emit) (importer.Result, error) {
	var all importer.Result
	identities, err := ReadIdentities(q.Identity)
	if err != nil {
		return all, err
	}
	if q.Account != "" && !config.IsAccountName(q.Account) {
		return all, &Error{Message: fmt.Sprintf("import: --account %q: use small letters, digits, - and _", q.Account), ExitCode: 2}
	}
	o := h.importOptions()
	o.Taken = map[string]bool{}
	o.Account, o.Owner = q.Account, cmp.Or(q.Owner, o.Owner)
	if len(q.VisibleTo) > 0 {
		o.VisibleTo = q.VisibleTo
	}
	if _, err := importer.ParseVisibleTo(o.VisibleTo); err != nil {
		return all, &Error{Message: "import: --visible-to: " + err.Error(), ExitCode: 2}
	}
	if h.Notes != nil {
		if o.Notes, err = h.Notes(ctx); err != nil {
			return all, err
		}
		if o.Authors, err = h.authors(ctx); err != nil {
			return all, err
		}
	}
	if len(q.Paths) == 1 { // there is nothing to go on with
		if _, err := os.Stat(q.Paths[0]); err != nil {
			return all, fmt.Errorf("import %s: %w", q.Paths[0], err)
		}
	}
	for _, path := range q.Paths {
		o.Progress = func(done int) { _ = emit(Copied{Done: all.Read + done}) }
		r, err := importer.ReadPath(ctx, h.Archive, o, path, identities...)
		all.Add(r)
		if wrong, ok := errors.AsType[importer.Wrong](err); ok && ctx.Err() == nil {
			all.Wrong, err = append(all.Wrong, wrong), nil // the others are well
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func (h Deps) importOptions() importer.Options {
	return importer.Options{Owner: h.Import.Owner, VisibleTo: h.Import.VisibleTo, Zone: h.Location, MinFree: h.ImportMinFree}
}

// WatchImports imports the meetings that appear in the folder of the configuration, until
// ctx ends or changed is closed. It logs each meeting it takes, and each file it refuses or leaves out.
func (h Deps) WatchImports(ctx context.Context, changed <-chan struct{}, every time.Duration) {
	var again <-chan time.Time // nil: only other settings
	w := importer.NewWatcher(h.Archive, h.importOptions(), h.Import.Watch)
	failed := ""
	for {
		r, err := w.Look(ctx)
		h.logImport(ctx, r, err, &failed)
		if h.Import.Watch != "" || err != nil {
			again = time.After(every)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			return
		case <-again:
		}
	}
}

// logImport logs the result of a look. An error that stays the same is logged once.
func (h Deps) logImport(ctx context.Context, r importer.Result, err error, failed *string) {
	for _, w := range r.Wrong {
		h.Logger.Warn().Str("file", w.File).Err(w).Msg("a file in the watched folder is refused")
	}
	for _, file := range r.Unused {
		h.Logger.Info().Str("file", file).Msg("a recording in the watched folder is left out: its meeting has another")
	}
	if r.Read > 0 || r.Recordings > 0 {
		h.Logger.Info().Int("meetings", r.Read).Int("new", r.New).Int("recordings", r.Recordings).Int("forgotten", r.Forgotten).Msg("imported from the watched folder")
	}
	text := ""
	if err != nil && ctx.Err() == nil {
		if text = err.Error(); text != *failed {
			h.Logger.Error().Err(err).Msg("import from the watched folder")
		}
	}
	*failed = text
}

// ReadIdentities reads the age keys of a file. An empty path has none.
func ReadIdentities(path string) ([]age.Identity, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read age identities: %w", err)
	}
	defer f.Close()
	identities, err := age.ParseIdentities(f)
	if err != nil {
		return nil, fmt.Errorf("read age identities of %s: it is not as age-keygen writes it", path) // the error could quote a key
	}
	return identities, nil
}

// KeepGenerations is the default number of generations of backups that stay in a
// directory.
const KeepGenerations = 7

// BackupRequest asks for a backup. Destination is absolute.
type BackupRequest struct {
	Destination  string   `json:"destination"`
	WithoutMedia bool     `json:"without_media"`
	Recipients   []string `json:"recipients"`
	Keep         int      `json:"keep"` // generations
	AcceptFewer  bool     `json:"accept_fewer"`
	Reread       bool     `json:"reread,omitempty"`
	// Scheduled says that nobody reads the answer.
	Scheduled bool `json:"scheduled,omitempty"`
}

func (h Deps) backUp(ctx context.Context, q BackupRequest, emit Emit) (backup.Result, error) {
	recipients, err := h.recipients(q.Recipients)
	if err != nil {
		return backup.Result{}, err
	}
	if q.Destination, err = generation.Absolute(q.Destination); err != nil {
		return backup.Result{}, err
	}
	began := h.Archive.Now()
	proof, err := h.UpkeepState(ctx, UpkeepProve)
	if err != nil {
		return backup.Result{}, err
	}
	isRotten := proof.Rotten && h.isPlanned(q.Destination)
	o := backup.Options{Recipients: recipients, WithoutMedia: q.WithoutMedia, Keep: q.Keep, AcceptFewer: q.AcceptFewer, Reread: q.Reread || isRotten,
		Progress: func(done, total int) { _ = emit(Copied{Done: done, Total: total}) }}
	r, err := guarded(h, UpkeepBackup, func() (backup.Result, error) { return backup.Run(ctx, h.Archive, q.Destination, o) })
	if errors.Is(err, backup.ErrBusy) && !q.Scheduled {
		return r, err // nothing failed
	}
	err = h.recordBackup(ctx, q, began, r, err)
	if err == nil && isRotten { // mended; else the next proof says so
		if proof, err = h.UpkeepState(ctx, UpkeepProve); err == nil {
			proof.Rotten = false
			err = h.keepUpkeep(ctx, UpkeepProve, proof)
		}
	}
	return r, err
}
