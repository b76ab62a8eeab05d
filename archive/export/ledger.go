package export

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"minutebook/internal/durable"
	"minutebook/internal/sqlite"
)

// ledgerName is the file that records the exports into a directory. It is a database
// and not a value in memory, so that a large archive needs no more memory than a
// small one.
const ledgerName = ".minutebook-export.db"

// pendingName is the file that lists the files that an export has written or is about to
// write, one JSON object a line, until the ledger's last commit. A killed export leaves it.
const pendingName = ".minutebook-export.pending"

const ledgerVersion = 1

const ledgerSchema = `
	CREATE TABLE files ( -- every file that was written
		what   TEXT NOT NULL,    -- recording_id, person:KEY or file:NAME
		format TEXT NOT NULL,
		name   TEXT NOT NULL,    -- below the directory, with slashes
		sha256 TEXT NOT NULL,    -- of the content before encryption
		size   INTEGER NOT NULL, -- in bytes, as stored
		sealed INTEGER NOT NULL,
		PRIMARY KEY (what, format)
	) STRICT, WITHOUT ROWID;
	CREATE TABLE meetings ( -- the lists of meetings whose files are not encrypted
		format       TEXT NOT NULL,
		recording_id INTEGER NOT NULL,
		start        INTEGER NOT NULL, -- milliseconds UTC
		title        TEXT NOT NULL,
		type         TEXT NOT NULL,
		recorded_by  TEXT NOT NULL,
		length       INTEGER NOT NULL, -- seconds
		PRIMARY KEY (format, recording_id)
	) STRICT, WITHOUT ROWID;
	CREATE INDEX meetings_by_time ON meetings (format, start DESC, recording_id DESC);
	CREATE TABLE people ( -- the name that each person's page keeps
		key   TEXT PRIMARY KEY,
		name  TEXT NOT NULL,
		email TEXT NOT NULL,
		page  TEXT NOT NULL UNIQUE -- below the directory, without the format's ending
	) STRICT, WITHOUT ROWID;
	CREATE TABLE present ( -- who is in which of the meetings
		format       TEXT NOT NULL,
		person       TEXT NOT NULL,
		start        INTEGER NOT NULL,
		recording_id INTEGER NOT NULL,
		PRIMARY KEY (format, person, start, recording_id)
	) STRICT, WITHOUT ROWID;
	CREATE INDEX present_by_meeting ON present (format, recording_id);
	PRAGMA user_version = 1`

// ledgerAdditions are columns and tables that came later, and the step that fills them from the
// files of an earlier version. That version does not know them, and writes rows without.
var ledgerAdditions = []struct {
	table, column, change string
	fill                  func(*ledger) error
}{
	{"files", "recipients", `ALTER TABLE files ADD COLUMN recipients TEXT NOT NULL DEFAULT ''`, nil}, // a hash of the age recipients
	{"present", "name", `ALTER TABLE present ADD COLUMN name TEXT NOT NULL DEFAULT ''`, nil},         // the person's in that meeting
	{"joined", "recording_id", `CREATE TABLE joined (recording_id INTEGER PRIMARY KEY) STRICT`, nil}, // the meetings of meetings.ndjson
	{"whole", "format", `CREATE TABLE whole (format TEXT PRIMARY KEY) STRICT`, (*ledger).findWhole},  // the formats that have every meeting
}

// ledger is the open ledger of an export's directory. Its methods may be
// called by several goroutines.
type ledger struct {
	path string
	db   *sql.DB

	mu                 sync.Mutex // guards the fields below; one method runs at a time
	tx                 *sql.Tx
	*sqlite.Statements                   // of tx
	writes             int               // since the last commit
	folded             map[string]holder // of people's pages, by foldPage; nil: not read yet
	pending            *os.File          // nil until the first file is announced
}

// ledgerBatch is the number of writes in a transaction.
const ledgerBatch = 4000

// errNoLedger: the file is no ledger that this program can use.
var errNoLedger = errors.New("it is not a ledger of exports")

// openLedger opens the ledger of a directory. A ledger that cannot be read, or that has another
// version, is replaced by an empty one: every file is then compared with the one on the disk. It
// fails while another export into the directory is running.
func openLedger(ctx context.Context, dir string) (*ledger, error) {
	path := filepath.Join(dir, ledgerName)
	l, err := readLedger(ctx, path)
	if errors.Is(err, errNoLedger) {
		for _, end := range []string{"", "-journal"} {
			if err := durable.Remove(path + end); err != nil {
				return nil, err
			}
		}
		l, err = readLedger(ctx, path)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", ledgerName, err)
	}
	if err := l.recoverAnnounced(); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", pendingName, err), l.tx.Rollback(), l.db.Close())
	}
	return l, nil
}

func readLedger(ctx context.Context, path string) (_ *ledger, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	db := sqlite.Connect(path, "?mode=rw&_busy_timeout=1000&_synchronous=NORMAL&_secure_delete=on&_txlock=immediate&_cache_size=-2000&_stmt_cache_size=32", map[string]string{"secure_delete": "1"})
	db.SetMaxOpenConns(1)
	l := &ledger{path: path, db: db}
	if err = l.begin(ctx); err == nil {
		err = l.prepareSchema()
	}
	if err != nil {
		if l.tx != nil {
			l.tx.Rollback()
		}
		return nil, errors.Join(explainOpenError(err), db.Close())
	}
	return l, nil
}

// explainOpenError returns [errNoLedger] where SQLite finds another file or a damaged one,
// and names the cause where another process holds the ledger.
func explainOpenError(err error) error {
	if lite, ok := errors.AsType[sqlite3.Error](err); ok {
		switch lite.Code {
		case sqlite3.ErrNotADB, sqlite3.ErrCorrupt:
			return fmt.Errorf("%w: %w", errNoLedger, err)
		case sqlite3.ErrBusy, sqlite3.ErrLocked:
			return fmt.Errorf("another export into the same directory is running: %w", err)
		}
	}
	return err
}

// begin starts the next transaction.
func (l *ledger) begin(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx) // a canceled context would roll back the writes
	if l.tx, err = l.db.BeginTx(ctx, nil); err != nil {
		return err
	}
	l.Statements = sqlite.NewStatements(ctx, l.tx)
	return nil
}

func (l *ledger) prepareSchema() error {
	var result string
	if _, err := l.Scan(`PRAGMA quick_check(1)`, nil, &result); err != nil {
		return err
	}
	if result != "ok" {
		return fmt.Errorf("%w: %s", errNoLedger, result)
	}
	var version, tables int
	if _, err := l.Scan(`SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`, nil, &version, &tables); err != nil {
		return err
	}
	if version == 0 && tables == 0 {
		if _, err := l.tx.Exec(ledgerSchema); err != nil {
			return err
		}
	} else if version != ledgerVersion {
		return fmt.Errorf("%w of this version", errNoLedger)
	}
	for _, a := range ledgerAdditions {
		var ignored int
		found, err := l.Scan(`SELECT 1 FROM pragma_table_info(?) WHERE name = ?`, []any{a.table, a.column}, &ignored)
		if err == nil && !found {
			if _, err = l.tx.Exec(a.change); err == nil && a.fill != nil {
				err = a.fill(l)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// afterWrite counts a write that ended with err, and commits every [ledgerBatch]
// writes. The caller holds l.mu.
func (l *ledger) afterWrite(err error) error {
	if err != nil {
		return fmt.Errorf("write to %s: %w", ledgerName, sqlite.WrapDiskFull(err))
	}
	if l.writes++; l.writes < ledgerBatch {
		return nil
	}
	l.writes = 0
	if err := l.commit(); err != nil {
		return fmt.Errorf("write to %s: %w", ledgerName, sqlite.WrapDiskFull(err))
	}
	return l.begin(l.Context())
}

// commit commits the writes, once the files that they tell of are on the disk.
func (l *ledger) commit() error {
	if l.pending != nil {
		if err := syncFiles(filepath.Dir(l.path)); err != nil {
			return err
		}
	}
	return l.tx.Commit()
}

// announce lists a file before it is written. The next export then knows the file also when this one
// is killed before the ledger's commit.
func (l *ledger) announce(f *file) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, err := json.Marshal(file{What: f.What, Format: f.Format, Name: f.Name, Sealed: f.Sealed})
	if err == nil && l.pending == nil {
		l.pending, err = os.OpenFile(l.pendingPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	if err == nil {
		_, err = l.pending.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write to %s: %w", pendingName, err)
	}
	return nil
}

func (l *ledger) pendingPath() string { return filepath.Join(filepath.Dir(l.path), pendingName) }

// recoverAnnounced adds the files of a killed export to the ledger, without their content, so that
// they are compared or written again.
func (l *ledger) recoverAnnounced() error {
	f, err := os.Open(l.pendingPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF { // a line without an end was cut off before its file was written
			break
		}
		if err != nil {
			return err
		}
		var announced file
		if json.Unmarshal(line, &announced) != nil || !filepath.IsLocal(filepath.FromSlash(announced.Name)) {
			continue
		}
		if found, err := isFile(filepath.Join(filepath.Dir(l.path), filepath.FromSlash(announced.Name))); err != nil {
			return err
		} else if !found { // the export was killed before it wrote the file, or the line is damaged
			continue
		}
		last, err := l.findFile(announced.What, announced.Format)
		if err == nil && last != nil && last.Name != announced.Name {
			err = removeFile(filepath.Join(filepath.Dir(l.path), filepath.FromSlash(last.Name)))
		}
		if err == nil {
			err = l.record(&announced)
		}
		if err != nil {
			return err
		}
	}
	if err := l.tx.Commit(); err != nil {
		return err
	}
	return errors.Join(l.begin(l.Context()), durable.Remove(l.pendingPath()))
}

// isFile reports whether a path is a file, and not a folder or a name that no file can have.
func isFile(path string) (bool, error) {
	info, err := os.Lstat(path)
	for _, none := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.EINVAL, syscall.ENAMETOOLONG} {
		if errors.Is(err, none) {
			return false, nil
		}
	}
	return err == nil && info.Mode().IsRegular(), err
}

// close commits the last writes, overwrites the rows that were deleted, and unlocks the
// directory.
func (l *ledger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.OpenFile(l.path, os.O_RDWR, 0)
	err = errors.Join(err, l.commit())
	if err == nil {
		err = l.begin(l.Context())
	}
	if err == nil {
		err = errors.Join(sqlite.EraseFileGaps(f), l.tx.Rollback())
	}
	if l.pending != nil {
		if err = errors.Join(err, l.pending.Close()); err == nil {
			err = durable.Remove(l.pendingPath())
		}
	}
	if err != nil {
		err = fmt.Errorf("write to %s: %w", ledgerName, sqlite.WrapDiskFull(err))
	}
	err = errors.Join(err, l.db.Close())
	if f != nil {
		err = errors.Join(err, f.Close())
	}
	return err
}
