package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/channel/report"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/pgtest"
	"cairn/testkit/storetest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // the program's default: rendered text must not depend on the machine
	check.InMemory()
	storetest.Prepare()
	code := m.Run()
	pgtest.Stop()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

type connector struct {
	mu sync.Mutex // guards everything below
	faults
	sent     []channel.Piece
	mayBeOld []channel.Piece // those of sent whose replies an earlier process may have started
	shown    []string
	seen     []string // what was shown and sent, in order
	opened   int      // number of writers opened
	canceled int
	accepted []string
	events   []compactor.Event
	memories []string
}

// faults are how a connector misbehaves.
type faults struct {
	failures int                       // number of sends that fail first
	fails    func(channel.Piece) error // nil: no piece is refused
	delay    time.Duration             // how long each send takes
	panics   atomic.Int32              // number of calls of Accepted that panic first
	looks    bool                      // each send first looks for what an earlier process has sent, until its context ends
}

func (d *connector) Name() string { return "test" }

func (d *connector) Split(text string) []string {
	if len(text) <= 2000 {
		return []string{text}
	}
	return append([]string{text[:2000]}, d.Split(text[2000:])...)
}

func (d *connector) Reply(conversation string, to []string) channel.Writer {
	d.note(func() { d.opened++ })
	return &writer{d: d}
}

func (d *connector) note(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func (d *connector) Accepted(_, id string, seq int64) {
	if d.panics.Add(-1) >= 0 {
		panic("accepted")
	}
	d.note(func() { d.accepted = append(d.accepted, fmt.Sprintf("%s=%d", id, seq)) })
}

func (d *connector) Compaction(_ string, e compactor.Event) {
	d.note(func() { d.events = append(d.events, e) })
}

func (d *connector) Remembered(_ string, _ int64, _, content string) {
	d.note(func() { d.memories = append(d.memories, content) })
}

func (d *connector) Used(string, string, string, report.Expense) {}
func (d *connector) Task(string, channel.Task)                   {}

// until waits until ok, called under the lock, returns true.
func (d *connector) until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	check.Require(t, check.Soon(func() (done bool) { d.note(func() { done = ok() }); return done }), "timed out waiting for %s", what)
}

// countTaken counts the dequeued messages. It is called under the lock.
func (d *connector) countTaken() int {
	return len(slices.DeleteFunc(slices.Clone(d.accepted), func(a string) bool { return strings.HasSuffix(a, "=0") }))
}

func (d *connector) texts() (texts []string) {
	d.note(func() { texts = storetest.Map(d.sent, func(p channel.Piece) string { return p.Text }) })
	return texts
}

type writer struct {
	d     *connector
	fresh bool
}

func (w *writer) Fresh() { w.fresh = true }

func (w *writer) Show(text string) {
	w.d.note(func() {
		w.d.shown = append(w.d.shown, text)
		w.d.seen = append(w.d.seen, "shown "+text)
	})
}

func (w *writer) Cancel() { w.d.note(func() { w.d.canceled++ }) }

func (w *writer) Send(ctx context.Context, p channel.Piece) (string, error) {
	var slow time.Duration
	var err error
	w.d.note(func() {
		slow = w.d.delay
		if w.d.fails != nil {
			err = w.d.fails(p)
		} else if w.d.failures > 0 {
			w.d.failures--
			err = errors.New("the connector failed")
		}
	})
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	err = errors.Join(err, channel.Looking(ctx, w.look))
	if err == nil {
		w.d.note(func() {
			w.d.sent = append(w.d.sent, p)
			if !w.fresh {
				w.d.mayBeOld = append(w.d.mayBeOld, p)
			}
			w.d.seen = append(w.d.seen, "sent "+p.Text)
		})
	}
	return fmt.Sprint("p", p.Row), err
}

func (w *writer) look(ctx context.Context) (err error) {
	looks := false
	w.d.note(func() { looks = w.d.looks })
	if looks {
		<-ctx.Done()
		err = ctx.Err()
	}
	return err
}

// rig is a hub with one connector and a scripted model on a real store.
type rig struct {
	t         testing.TB
	dir       string
	connector *connector
	model     *llmtest.Model
	agent     channel.Agent
	store     *store.Store
	hub       *channel.Hub
	opts      channel.Options
	n         int
}

func newRig(t testing.TB, f script) *rig {
	r := &rig{t: t, dir: t.TempDir(), connector: new(connector), model: &llmtest.Model{Func: f}}
	r.agent = channel.Agent{Model: r.model, MaxOutput: 500, Policy: compactor.DefaultPolicy}
	r.opts.Agent = func(string) channel.Agent { return r.agent }
	r.opts.Connectors, r.opts.Log = []channel.Connector{r.connector}, slog.New(slog.DiscardHandler)
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) withWindow(tokens int) *rig {
	r.model.Tokens = tokens
	return r
}

// inBubble runs f with a rig and a clock that stands still while code runs.
func inBubble(t *testing.T, model script, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, model)
		f(t, r)
		r.stop()
	})
}

func (r *rig) start() {
	r.t.Helper()
	r.store = storetest.Open(r.t, r.dir)
	r.opts.Store = r.store
	r.hub = channel.New(r.opts)
}

func (r *rig) stop() {
	if r.hub == nil {
		return
	}
	check.NoError(r.t, errors.Join(r.hub.Close(), r.store.Close()))
	r.hub = nil
}

// reopen starts the hub again, with what a test has changed; restart also recovers what was left.
func (r *rig) reopen() {
	r.t.Helper()
	r.stop()
	r.start()
}

func (r *rig) restart() {
	r.t.Helper()
	r.reopen()
	check.NoError(r.t, r.hub.Recover(r.t.Context(), func(string) bool { return true }))
}

const place = "test:server/general"

func (r *rig) waitForReplies() { r.t.Helper(); r.waitIdle(place) }

// throughConnector starts the hub again with a connector over the rig's.
func (r *rig) throughConnector(c interface {
	channel.Connector
	wrap(inner *connector)
},
) *rig {
	r.t.Helper()
	c.wrap(r.connector)
	r.opts.Connectors = []channel.Connector{c}
	r.reopen()
	return r
}

// execute changes the database behind the hub's back.
func (r *rig) execute(query string) { r.t.Helper(); storetest.Run(r.t, r.store, query) }

// transcript returns the stored messages as "role: text" lines.
func (r *rig) transcript() []string {
	r.t.Helper()
	return storetest.Map(r.messagesIn(place), func(m chat.Message) string { return string(m.Role) + ": " + m.Text })
}

func echo(_ context.Context, n int, req llm.Request) (llm.Response, error) {
	return llmtest.Say(fmt.Sprintf("answer %d", n)), nil
}

func always(resp llm.Response) script { return returning(resp, nil) }
func failing(err error) script        { return returning(llm.Response{}, err) }

func returning(resp llm.Response, err error) script {
	return func(context.Context, int, llm.Request) (llm.Response, error) { return resp, err }
}
