package compactor_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

const testConversation = "terminal:test"

// rig is one conversation wired as in production: a real file, the real store, the engine, and a scripted worker.
type rig struct {
	t testing.TB
	folder
	name   string // of the conversation; empty: terminal:test
	conv   *store.Conversation
	window int
	policy compactor.Policy
	worker *llmtest.Model // nil: no model
	wiring
	provider
	c *owner
	history

	mu     sync.Mutex // guards events and, where a worker may look, policy
	events []compactor.Event
}

// folder is where a rig has its data.
type folder struct {
	dir      string
	store    *store.Store
	borrowed bool         // the store is open already, and stays open
	look     *store.Store // for concurrent reads; nil: not opened yet
}

// wiring is what a test puts between the engine and its rig.
type wiring struct {
	tune   []func(*compactor.Options)            // what changes the options that open makes
	hold   func(compactor.Work) compactor.Result // see owner
	listen func([]compactor.Event)               // called with the events of a step of the owner; nil: nobody listens
}

// provider is the model that answers.
type provider struct {
	model   string      // its name
	learned llm.Learned // of the model, over restarts
	size    float64     // real tokens for one estimated, of a provider that counts; 0: it does not
}

// history is what people and the bot have written, and what people have changed.
type history struct {
	messages []chat.Message // all in order, as last edited
	deleted  map[int64]bool // by seq
	ends     []int64        // the last seqs of the ended sessions
	edits    int            // so far
	quiet    bool           // no message is addressed to the bot
}

// learner is a worker about which things are learned until a restart.
type learner struct {
	llm.Model
	learned llm.Learned
}

func (l *learner) Learned() *llm.Learned { return &l.learned }

func newRig(t testing.TB, window int, worker *llmtest.Model, tune ...func(*compactor.Options)) *rig {
	t.Helper()
	r := &rig{t: t, folder: folder{dir: t.TempDir()}, window: window, policy: plainPolicy(), worker: worker, wiring: wiring{tune: tune}}
	r.open()
	t.Cleanup(r.end)
	return r
}

// plainPolicy is the default policy without prepared summaries: tests of those switch them on.
func plainPolicy() compactor.Policy {
	p := compactor.DefaultPolicy()
	p.PrepareThreshold = 0
	return p
}

// end ends a test with what has to be true of the disk at any time.
func (r *rig) end() {
	if _, measures := r.t.(*testing.B); !measures && !r.t.Failed() {
		r.verify()
	}
	r.close()
	if r.look != nil {
		check.NoError(r.t, r.look.Close())
	}
}

func (r *rig) open() {
	r.t.Helper()
	ctx := context.Background()
	r.name = cmp.Or(r.name, testConversation)
	if !r.borrowed {
		r.store = storetest.Open(r.t, r.dir)
	}
	r.conv = check.Must(r.store.Conversation(ctx, r.name))(r.t)
	o := compactor.Options{
		Records: memory.Of(r.conv).Records(),
		Policy:  func() compactor.Policy { return under(&r.mu, &r.policy) },
		Window:  func() int { return under(&r.mu, &r.window) },
		Model:   r.model,
		Learned: func() *llm.Learned { return &r.learned },
		System:  "You are a test.", MaxOutput: 100,
		Log: slog.New(slog.DiscardHandler),
	}
	if r.worker != nil {
		o.Worker = &learner{Model: r.worker}
	}
	for _, change := range r.tune {
		change(&o)
	}
	r.c = openOwner(r.t, o)
	r.c.hold = r.hold
	r.c.listen = r.hear
}

func (r *rig) hear(events []compactor.Event) {
	r.mu.Lock()
	r.events = append(r.events, events...)
	r.mu.Unlock()
	if r.listen != nil {
		r.listen(events)
	}
}

// slow skips a test under the race detector, and runs it beside others.
func slow(t *testing.T) {
	t.Helper()
	check.SkipUnderRace(t)
	t.Parallel()
}

// onClock runs a subtest on a clock of its own, beside others.
func onClock(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}

func under[T any](mu *sync.Mutex, value *T) T {
	mu.Lock()
	defer mu.Unlock()
	return *value
}

// set changes the policy while a worker may look at it.
func (r *rig) set(change func(p *compactor.Policy)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.policy)
}

func (r *rig) resize(window int) { r.set(func(*compactor.Policy) { r.window = window }) }

func (r *rig) close() {
	if r.c == nil {
		return
	}
	r.c.Close()
	r.c = nil
	if !r.borrowed {
		check.NoError(r.t, r.store.Close())
	}
}

func (r *rig) restart() {
	r.t.Helper()
	r.close()
	r.open()
}

// request checks and renders as a turn does before each model call, and checks the request like a strict provider.
func (r *rig) request() []llm.Message {
	r.t.Helper()
	return check.Must(r.fitting(func(bool) {}))(r.t)
}

// fitting makes the next request of a turn, anew when the provider refuses it for its size. It calls
// answered before the engine learns what the provider answered.
func (r *rig) fitting(answered func(refused bool)) ([]llm.Message, error) {
	ctx := context.Background()
	for try := 0; ; try++ {
		p, err := r.c.Request(ctx)
		if err != nil {
			return nil, fmt.Errorf("request: %w", err)
		}
		messages := p.Messages
		maxTokens := p.MaxTokens
		used := int(cmp.Or(r.size, 1) * float64(r.estimate(messages)))
		refused := used+maxTokens > r.window
		if refused && (r.size == 0 || try == 2) {
			return nil, fmt.Errorf("got a request of %d tokens, window %d", used+maxTokens, r.window)
		}
		if problem := strict(messages); problem != "" {
			return nil, fmt.Errorf("a strict provider refuses the request: %s\n%s", problem, inLines(messages))
		}
		answered(refused)
		if r.size > 0 {
			r.c.Reported(llm.Usage{Prompt: used})
		}
		if !refused {
			return messages, nil
		}
		r.c.Overflow(ctx, 1)
	}
}

func (r *rig) estimate(messages []llm.Message) (n int) {
	for _, m := range messages {
		n += tokens.Estimate(m.Text)
	}
	return n
}

func (r *rig) waitIdle() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if !r.quiet {
		r.c.Speak()
	}
	r.c.Check(ctx)
	check.NoError(r.t, r.c.Wait(ctx))
}

// which returns the events for which match returns true.
func (r *rig) which(match func(e compactor.Event) bool) []compactor.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.events), func(e compactor.Event) bool { return !match(e) })
}

func (r *rig) in(state compactor.EventState) []compactor.Event {
	return r.which(func(e compactor.Event) bool { return e.State == state })
}

func (r *rig) seen(state compactor.EventState) int { return len(r.in(state)) }

func (r *rig) last(state compactor.EventState) compactor.Event {
	all := append([]compactor.Event{{}}, r.in(state)...)
	return all[len(all)-1]
}

func (r *rig) storedHead() compactor.Head {
	r.t.Helper()
	head, err := r.conv.Compactions().Head(context.Background())
	check.NoError(r.t, err)
	return head
}

func (r *rig) render() string {
	r.t.Helper()
	return inLines(check.Must(r.c.Request(context.Background()))(r.t).Messages)
}

var aContext = regexp.MustCompile(`user\|\|\[\] <now>\n[^<]*\n</now>\n`)

// withoutContexts returns a rendered request without its turn contexts, and their cost.
func withoutContexts(text string) (rest string, n int) {
	return aContext.ReplaceAllStringFunc(text, func(one string) string {
		n += 4 + tokens.Estimate(strings.TrimSuffix(strings.TrimPrefix(one, "user||[] "), "\n"))
		return ""
	}), n
}

func inLines(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s|%s|%v %s\n", m.Role, m.CallID, m.Calls, m.Text)
	}
	return b.String()
}
