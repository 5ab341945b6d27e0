package compactor_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/store"
	"cairn/transcript"

	"pgregory.net/rapid"
)

// file is a real database, shared by many histories one after the other.
type file struct {
	dir       string
	store     *store.Store
	look      *store.Store // read concurrently
	db        *sql.DB      // for the test's own writes
	histories int
}

func newFile(t *testing.T) *file {
	t.Helper()
	f := &file{dir: t.TempDir()}
	f.open(t)
	t.Cleanup(func() { f.store.Close() })
	var err error
	if f.look, err = store.Open(t.Context(), store.Options{Dir: f.dir, Shared: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.look.Close() })
	t.Cleanup(func() { // of all histories in the file
		if found, err := f.look.Upkeep().Check(context.Background()); err != nil || len(found) > 0 {
			t.Errorf("got %v, %v in the database", found, err)
		}
	})
	if f.db, err = sql.Open("sqlite3", filepath.Join(f.dir, "cairn.db")+"?_busy_timeout=20000"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.db.Close() })
	// While the table refused has a row, this many more writing statements succeed, and then none.
	check.NoError(t, check.ErrorOf(f.db.Exec("CREATE TABLE refused (after INTEGER NOT NULL)")))
	for name, at := range map[string]string{
		"begin": "INSERT ON compactions", "change": "UPDATE ON compactions", "raise": "UPDATE OF version ON conversations",
		"session": "INSERT ON sessions", "save": "INSERT ON memories",
	} {
		check.NoError(t, check.ErrorOf(f.db.Exec("CREATE TRIGGER refuse_"+name+" BEFORE "+at+` WHEN EXISTS (SELECT 1 FROM refused) BEGIN
			UPDATE refused SET after = after - 1;
			SELECT raise(ABORT, 'the disk refuses') FROM refused WHERE after < 0;
		END`)))
	}
	return f
}

func (f *file) open(t testing.TB) {
	var err error
	if f.store, err = store.Open(context.Background(), store.Options{Dir: f.dir}); err != nil {
		t.Fatal(err)
	}
}

// failDisk makes the disk reject writes of compactions after this many statements.
func (m *machine) failDisk(rt *rapid.T, after int) {
	if len(m.r.said) == 0 {
		return // the first message of a thread inherits: this is no write of a compaction
	}
	check.NoError(rt, check.ErrorOf(m.f.db.Exec("INSERT INTO refused (after) VALUES (?)", after)))
	m.refusing = true
}

func (m *machine) repairDisk() {
	if !m.refusing {
		return
	}
	check.NoError(m.r.t, check.ErrorOf(m.f.db.Exec("DELETE FROM refused")))
	m.refusing = false
}

var errCrashed = errors.New("the process has ended")

// disk wraps the records until the process is killed: from then on nothing reaches the file, and
// nothing is read.
type disk struct {
	compactor.Records

	mu      sync.Mutex // guards everything below
	left    int        // calls until the process is killed; 0: never
	done    bool       // this last call still reaches the disk
	dead    bool
	version int64 // of the newest head that the process has read
}

func (d *disk) arm(calls int, done bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.done = calls, done
}

func (d *disk) armed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.left > 0 || d.dead
}

func (d *disk) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

func (d *disk) isDead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

func (d *disk) newest() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.version
}

func (d *disk) gave(h compactor.Head) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.version = max(d.version, h.Version)
}

// call runs one transaction, unless the process is dead or dies with it.
func (d *disk) call(f func() error) error {
	d.mu.Lock()
	if d.dead {
		d.mu.Unlock()
		return errCrashed
	}
	if d.left > 0 {
		d.left--
		d.dead = d.left == 0
	}
	dies, done := d.dead, d.done
	d.mu.Unlock()
	if dies && !done {
		return errCrashed
	}
	err := f()
	if dies {
		return errCrashed
	}
	return err
}

func (d *disk) Load(ctx context.Context) (s transcript.Snapshot, err error) {
	err = d.call(func() error { s, err = d.Records.Load(ctx); return err })
	d.gave(s.Head)
	return s, err
}

func (d *disk) Head(ctx context.Context) (h compactor.Head, first []chat.Message, err error) {
	err = d.call(func() error { h, first, err = d.Records.Head(ctx); return err })
	d.gave(h)
	return h, first, err
}

func (d *disk) Begin(ctx context.Context, row compactor.Compaction) (j compactor.Job, err error) {
	err = d.call(func() error { j, err = d.Records.Begin(ctx, row); return err })
	return &diskJob{j, d}, err
}

func (d *disk) Commit(ctx context.Context, s *transcript.State, change transcript.Change) (h compactor.Head, err error) {
	err = d.call(func() error { h, err = d.Records.Commit(ctx, s, change); return err })
	d.gave(h)
	return h, err
}

func (d *disk) Stretches(ctx context.Context, spans []compactor.Span) (found []transcript.Stretch, err error) {
	err = d.call(func() error { found, err = d.Records.Stretches(ctx, spans); return err })
	return found, err
}

func (d *disk) Latest(ctx context.Context) (l compactor.Undoable, err error) {
	err = d.call(func() error { l, err = d.Records.Latest(ctx); return err })
	return l, err
}

func (d *disk) Declined(ctx context.Context, row int64, n compactor.Declined) error {
	return d.call(func() error { return d.Records.Declined(ctx, row, n) })
}

func (d *disk) Span(ctx context.Context, from, to int64) (all []chat.Message, err error) {
	err = d.call(func() error { all, err = d.Records.Span(ctx, from, to); return err })
	return all, err
}

func (d *disk) ClearDeclined(ctx context.Context) error {
	return d.call(func() error { return d.Records.ClearDeclined(ctx) })
}

func (d *disk) Measured(ctx context.Context, row int64, before, after int) error {
	return d.call(func() error { return d.Records.Measured(ctx, row, before, after) })
}

// diskJob is a job on such a disk.
type diskJob struct {
	compactor.Job
	d *disk
}

func (j *diskJob) Messages(ctx context.Context, from, to int64, limit int) (found []chat.Message, err error) {
	err = j.d.call(func() error { found, err = j.Job.Messages(ctx, from, to, limit); return err })
	return found, err
}

func (j *diskJob) Children(ctx context.Context, rollup int64) (found []compactor.Compaction, err error) {
	err = j.d.call(func() error { found, err = j.Job.Children(ctx, rollup); return err })
	return found, err
}

func (j *diskJob) Store(ctx context.Context, s summarize.Summary) (saved []summarize.MemoryDraft, err error) {
	err = j.d.call(func() error { saved, err = j.Job.Store(ctx, s); return err })
	return saved, err
}

func (j *diskJob) Fail(ctx context.Context, cause string) error {
	return j.d.call(func() error { return j.Job.Fail(ctx, cause) })
}
