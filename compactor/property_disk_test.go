// The disk of a history: faults, crashes, restarts, and changes in the channel above a thread.

package compactor_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
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

// borrow returns the folder for a rig, which leaves it open.
func (f *file) borrow() folder {
	return folder{dir: f.dir, store: f.store, look: f.look, borrowed: true}
}

func newFile(t *testing.T) *file {
	t.Helper()
	f := &file{dir: t.TempDir()}
	storetest.CopyEmpty(t, f.dir)
	f.open(t)
	t.Cleanup(func() { f.store.Close() })
	f.look = openToLook(t, f.dir)
	t.Cleanup(func() { // of all histories in the file
		found, err := f.look.Upkeep().Check(context.Background())
		check.That(t, err == nil && len(found) == 0, "got %v, %v in the database", found, err)
		f.look.Close()
	})
	f.db = check.Must(sql.Open("sqlite3", filepath.Join(f.dir, "cairn.db")+"?_busy_timeout=20000"))(t)
	t.Cleanup(func() { f.db.Close() })
	// While the table refused has a row, this many more writing statements succeed, and then none.
	check.NoError(t, check.ErrorOf(f.db.Exec("CREATE TABLE refused (after INTEGER NOT NULL)")))
	for i, at := range []string{
		"INSERT ON compactions", "UPDATE ON compactions", "UPDATE OF version ON conversations", "INSERT ON sessions", "INSERT ON memories",
	} {
		check.NoError(t, check.ErrorOf(f.db.Exec(fmt.Sprintf(`CREATE TRIGGER refuse%d BEFORE %s WHEN EXISTS (SELECT 1 FROM refused) BEGIN
			UPDATE refused SET after = after - 1;
			SELECT raise(ABORT, 'the disk refuses') FROM refused WHERE after < 0;
		END`, i, at))))
	}
	return f
}

func (f *file) open(t testing.TB) {
	f.store = check.Must(store.Open(context.Background(), store.Options{Dir: f.dir}))(t)
}

// failDisk makes the disk reject writes of compactions after this many statements.
func (m *machine) failDisk(rt *rapid.T, after int) {
	if len(m.r.messages) == 0 {
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

// disk wraps the records until the process is killed: from then on nothing reaches the file, and nothing is read.
type disk struct {
	compactor.Records

	left    atomic.Int64 // calls until the process is killed, if positive
	done    atomic.Bool  // this last call still reaches the disk
	dead    atomic.Bool
	version atomic.Int64 // of the newest head that the process has read
}

func (d *disk) arm(calls int, done bool) {
	d.done.Store(done)
	d.left.Store(int64(calls))
}

func (d *disk) armed() bool { return d.left.Load() > 0 || d.dead.Load() }

// gave notes the version of a head that the process has read. Only the owner reads heads.
func (d *disk) gave(h compactor.Head) { d.version.Store(max(d.version.Load(), h.Version)) }

// call runs one transaction, unless the process is dead or dies with it.
func (d *disk) call(f func() error) error {
	if d.dead.Load() {
		return errCrashed
	}
	if d.left.Add(-1) != 0 {
		return f()
	}
	d.dead.Store(true)
	if d.done.Load() {
		_ = f()
	}
	return errCrashed
}

// result is call for a transaction that returns a value.
func result[T any](d *disk, f func() (T, error)) (v T, err error) {
	err = d.call(func() error { v, err = f(); return err })
	return v, err
}

func (d *disk) Load(ctx context.Context) (s transcript.Snapshot, err error) {
	s, err = result(d, func() (transcript.Snapshot, error) { return d.Records.Load(ctx) })
	d.gave(s.Head)
	return s, err
}

func (d *disk) Reload(ctx context.Context, known int64, running []chat.Message) (s transcript.Snapshot, err error) {
	s, err = result(d, func() (transcript.Snapshot, error) { return d.Records.Reload(ctx, known, running) })
	d.gave(s.Head)
	return s, err
}

func (d *disk) Begin(ctx context.Context, row compactor.Summary) (compactor.Job, error) {
	j, err := result(d, func() (compactor.Job, error) { return d.Records.Begin(ctx, row) })
	return &diskJob{j, d}, err
}

func (d *disk) Commit(ctx context.Context, s *transcript.State, change transcript.Change) (compactor.Head, error) {
	h, err := result(d, func() (compactor.Head, error) { return d.Records.Commit(ctx, s, change) })
	d.gave(h)
	return h, err
}

func (d *disk) Stretch(ctx context.Context, sp compactor.Span) (transcript.Stretch, error) {
	return result(d, func() (transcript.Stretch, error) { return d.Records.Stretch(ctx, sp) })
}

func (d *disk) Latest(ctx context.Context) (transcript.Undoable, error) {
	return result(d, func() (transcript.Undoable, error) { return d.Records.Latest(ctx) })
}

func (d *disk) Span(ctx context.Context, from, to int64) ([]chat.Message, error) {
	return result(d, func() ([]chat.Message, error) { return d.Records.Span(ctx, from, to) })
}

func (d *disk) Declined(ctx context.Context, row int64, n compactor.Declined) error {
	return d.call(func() error { return d.Records.Declined(ctx, row, n) })
}

func (d *disk) Measured(ctx context.Context, row int64, before, after int) error {
	return d.call(func() error { return d.Records.Measured(ctx, row, before, after) })
}

type diskJob struct {
	compactor.Job
	d *disk
}

func (j *diskJob) Messages(ctx context.Context, spans ...compactor.Span) ([]chat.Message, error) {
	return result(j.d, func() ([]chat.Message, error) { return j.Job.Messages(ctx, spans...) })
}

func (j *diskJob) Children(ctx context.Context, rollup int64) ([]compactor.Summary, error) {
	return result(j.d, func() ([]compactor.Summary, error) { return j.Job.Children(ctx, rollup) })
}

func (j *diskJob) Store(ctx context.Context, s summarize.Summary) ([]summarize.MemoryDraft, error) {
	return result(j.d, func() ([]summarize.MemoryDraft, error) { return j.Job.Store(ctx, s) })
}

func (j *diskJob) Fail(ctx context.Context, cause string) ([]summarize.MemoryDraft, error) {
	return result(j.d, func() ([]summarize.MemoryDraft, error) { return j.Job.Fail(ctx, cause) })
}

// restart ends the process in order, possibly during a job, and starts it again.
func (m *machine) restart(rt *rapid.T) {
	m.repairDisk() // room was made
	if m.gate != nil && m.gate.place != atWork {
		m.release()
	}
	m.r.c.Close()
	m.reopen(rt)
}

// reopen starts the process after it ended, in order or not: the old one no longer writes to the
// disk. Its started transaction is finished.
func (m *machine) reopen(rt *rapid.T) {
	m.disk.dead.Store(true)
	m.repairDisk()
	m.release()
	m.r.close()
	if chance(rt, 8, "the file too") {
		check.NoError(rt, m.f.store.Close())
		m.f.open(m.r.t)
		m.tally.add(1, "restarts of the file too")
	}
	m.r.store = m.f.store
	m.r.open()
	m.last = view{}
	m.tally.add(1, "restarts")
	if head := m.r.storedHead(); head.Start == int64(len(m.r.messages))+1 && head.Start > m.r.start() { // it was started, and the process did not see its result
		m.r.ends = append(m.r.ends, head.Start-1)
	}
	if m.asked != nil {
		m.answer(rt, nil)
	}
}

// checkRestartRendersSame checks that a restart renders the same bytes. It starts no work, which
// might be applied at once: a new process does not know earlier failures.
func (m *machine) checkRestartRendersSame(rt *rapid.T) {
	m.repairFaults(rt)
	r := m.r
	ttl := r.policy.CacheTTL
	r.set(func(p *compactor.Policy) { p.CacheTTL = compactor.TTL(100 * 365 * 24 * time.Hour) }) // or prepared summaries may be applied
	r.waitIdle()
	before := inLines(r.c.Sight())
	last := m.last
	m.restart(rt)
	after := inLines(r.c.Sight())
	check.Require(rt, after == before, "a restart changed the view:\n%s\n--- became\n%s", before, after)
	r.set(func(p *compactor.Policy) { p.CacheTTL = ttl })
	m.last = last // the next request extends it, restart or not
}

// becomeThread makes the conversation a thread of a channel with nine messages: two rows cover
// three each, one is hidden, and the thread starts on the last.
func (m *machine) becomeThread(rt *rapid.T) {
	ctx := context.Background()
	m.channel = fmt.Sprintf("terminal:server%d/channel", m.f.histories)
	m.r.name = m.channel + "/a9"
	c := check.Must(m.f.store.Conversation(ctx, m.channel))(rt)
	var past []store.Inbound
	for n := range 9 {
		past = append(past, store.Inbound{ID: fmt.Sprint("a", n+1), AuthorID: "u2", Author: "Bob", Text: fmt.Sprintf("above %d said %s", n+1, filler(one(rt, "size above", 1, 40, 700))), Time: time.Date(2025, 1, 1, 0, n, 0, 0, time.UTC)})
	}
	check.NoError(rt, check.ErrorOf(c.Past().Import(ctx, past)))
	for _, from := range []int64{1, 4} {
		row := compactor.Summary{Kind: compactor.Leaf, By: compactor.ByWorker, Span: compactor.Span{From: from, To: from + 2}, Messages: 3}
		j := check.Must(memory.Of(c).Records().Begin(ctx, row))(rt)
		text := fmt.Sprintf("Of above %d said, above %d said and above %d said. %s", from, from+1, from+2, filler(1+below(rt, 80, "summary above")))
		check.NoError(rt, check.ErrorOf(j.Store(ctx, summarize.Summary{Text: text, Tokens: tokens.Estimate(text)})))
		storetest.ApplyRows(rt, c, j.ID())
	}
	storetest.Hide(rt, c, 7, 7)
}

func (m *machine) deleteInChannel(rt *rapid.T) {
	if m.channel == "" {
		return
	}
	c := check.Must(m.f.store.Conversation(context.Background(), m.channel))(rt)
	n := 1 + below(rt, 9, "message above")
	err := privacy.Of(c).Delete(context.Background(), []string{fmt.Sprint("a", n)})
	if err != nil && m.refusing {
		return
	}
	check.NoError(rt, err)
	m.last = view{}
	m.r.c.Reread()
	m.waitForWorker(rt)
	m.checkNotShown(rt, fmt.Sprintf("above %d said", n))
}

func (m *machine) checkNotShown(rt *rapid.T, deleted ...string) {
	prompt, err := m.r.c.Request(context.Background())
	if err != nil && m.disk.dead.Load() {
		return
	}
	check.NoError(rt, err)
	text := inLines(prompt.Messages)
	for _, d := range deleted {
		check.Require(rt, !strings.Contains(text, d), "got deleted %q in the view:\n%s", d, text)
	}
}

func (m *machine) reshaped() {
	m.r.c.Check(context.Background())
	m.last = view{}
}
