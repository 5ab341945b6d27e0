package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// rig is one conversation wired as in production: a real file, the real store,
// the engine, and a scripted worker.
type rig struct {
	t      testing.TB
	dir    string
	name   string // of the conversation; empty: terminal:test
	window int
	policy compactor.Policy
	worker *llmtest.Model // nil: no model
	tools  []llm.Tool
	tune   func(*compactor.Options)                                          // nil: the options are as open makes them
	hold   func(started compactor.Event, slow func() func()) (finish func()) // see owner

	store  *memory.Store
	conv   *memory.Conversation
	c      *owner
	said   []chat.Message // everything, in order: what the test put in, as it was last edited
	gone   map[int64]bool // what of it was deleted
	ends   []int64        // the last seqs of the sessions that somebody ended
	quiet  bool           // nobody speaks to the bot
	edits  int            // so far
	hook   func()         // called between the requests of a turn; nil: nothing
	model  string         // its name
	learnt llm.Learnt     // of the model, over restarts
	size   float64        // real tokens for one estimated, of a provider that counts; 0: it does not

	borrowed bool          // the store is open already, and others go on using it
	look     *memory.Store // for those who look on; nil: one is opened for each look

	mu     sync.Mutex // guards events and, where a worker may look, policy
	events []compactor.Event
}

func newRig(t testing.TB, window int, worker *llmtest.Model) *rig {
	t.Helper()
	r := &rig{t: t, dir: folder(t), name: "terminal:test", window: window, policy: compactor.DefaultPolicy(), worker: worker}
	r.policy.PrepareThreshold = 0 // tests of work ahead switch it on
	r.open()
	t.Cleanup(r.close)
	return r
}

// folder is one in memory where there is such a thing: the engine syncs as always, and
// nobody waits for a disk. What a kill leaves was given to the system, whether or not a
// disk has it. A benchmark measures the disk too.
func folder(t testing.TB) string {
	const shm = "/dev/shm"
	info, err := os.Stat(shm)
	if _, measured := t.(*testing.B); measured || err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(shm, "cairn")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// emptyStore is the file of a store without conversations. It is made once: a migration
// for each test would take a quarter of the time of all tests.
var emptyStore = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "cairn")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store, err := memory.Open(context.Background(), memory.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "cairn.db"))
})

// copyEmptyStore puts an empty store into a folder that has none.
func copyEmptyStore(t testing.TB, dir string) {
	t.Helper()
	file := filepath.Join(dir, "cairn.db")
	if _, err := os.Stat(file); err == nil {
		return
	}
	text, err := emptyStore()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	must(t, err)
}

func (r *rig) open() {
	r.t.Helper()
	ctx := context.Background()
	if r.name == "" {
		r.name = "terminal:test"
	}
	var err error
	if !r.borrowed {
		copyEmptyStore(r.t, r.dir)
		if r.store, err = memory.Open(ctx, memory.Options{Dir: r.dir}); err != nil {
			r.t.Fatal(err)
		}
	}
	if r.conv, err = r.store.Conversation(ctx, r.name); err != nil {
		r.t.Fatal(err)
	}
	o := compactor.Options{
		Records: r.conv.Compactions(),
		Policy: func() compactor.Policy {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.policy
		},
		Window: func() int {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.window
		},
		Model:  r.model,
		Learnt: func() *llm.Learnt { return &r.learnt },
		System: "You are a test.", Tools: r.tools, MaxOutput: 100,
		Log: slog.New(slog.DiscardHandler),
		After: func(e compactor.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, e)
		},
	}
	if r.worker != nil {
		o.Worker = r.worker
	}
	if r.tune != nil {
		r.tune(&o)
	}
	r.c = openOwner(r.t, o)
	r.c.hold = r.hold
}

// set changes the policy while a worker may look at it.
func (r *rig) set(change func(p *compactor.Policy)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.policy)
}

func (r *rig) close() {
	if r.c != nil {
		r.c.Close()
		if r.borrowed {
			r.c = nil
			return
		}
		if err := r.store.Close(); err != nil {
			r.t.Error(err)
		}
	}
	r.c = nil
}

// restart ends the process, as far as the conversation can tell, and starts it again.
func (r *rig) restart() {
	r.t.Helper()
	r.close()
	r.open()
}

// hear delivers a message nobody answers.
func (r *rig) hear(text string) {
	r.t.Helper()
	r.deliver(text, false)
	if !r.quiet {
		r.c.Speak()
	}
	r.c.Check(context.Background())
}

// hearMany delivers n messages of so many words.
func (r *rig) hearMany(n, words int) {
	r.t.Helper()
	for i := range n {
		r.hear(fmt.Sprintf("note %d %s", i, filler(words)))
	}
}

// hearAndSettle waits after each of them until nothing is at work.
func (r *rig) hearAndSettle(n, words int) {
	r.t.Helper()
	for i := range n {
		r.hear(fmt.Sprintf("note %d %s", i, filler(words)))
		r.settle()
	}
}

// compactAndSettle asks for a compaction, which may have nothing to do.
func (r *rig) compactAndSettle() compactor.Event {
	r.t.Helper()
	e := r.c.Compact(compactor.OnManual, "")
	r.settle()
	return e
}

func (r *rig) deliver(text string, addressed bool) chat.Message {
	r.t.Helper()
	ctx := context.Background()
	n := len(r.said) + 1
	in := memory.Inbound{
		ID: fmt.Sprint("m", n), AuthorID: "u1", Author: "Ada", Text: text, Addressed: addressed,
		Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute),
	}
	if _, err := r.conv.Inbox().Deliver(ctx, in); err != nil {
		r.t.Fatal(err)
	}
	taken, err := r.conv.Inbox().TakeUp(ctx, memory.All, compactor.BurstBudget(r.window), time.Time{})
	if err != nil || len(taken) != 1 {
		r.t.Fatalf("took up %d messages, %v", len(taken), err)
	}
	r.c.History().Append(taken...)
	r.c.History().Stored()
	r.said = append(r.said, taken...)
	if n == 1 {
		r.c.Reread() // as a thread's owner does: it has inherited
	}
	return taken[0]
}

// again begins a new session, and holds what came of it to what was said.
func (r *rig) startSession() {
	r.t.Helper()
	said := slices.ContainsFunc(r.left(), func(m chat.Message) bool { return m.Seq >= r.start() })
	started, err := r.c.StartSession(context.Background())
	if err != nil || started != said {
		r.t.Fatalf("a new session: started %v, %v; there is something to leave: %v", started, err, said)
	}
	if started {
		r.ends = append(r.ends, int64(len(r.said)))
	}
}

// start is where the current session begins.
func (r *rig) start() int64 {
	if len(r.ends) == 0 {
		return 1
	}
	return r.ends[len(r.ends)-1] + 1
}

// session is the number of the session in which a message stands.
func (r *rig) session(seq int64) int {
	n, _ := slices.BinarySearch(r.ends, seq)
	return n
}

// talk has a turn: a question, tool results if there are any, an answer.
func (r *rig) talk(question string, results ...string) {
	r.t.Helper()
	r.answer(r.deliver(question, true), results...)
}

// answer has the turn of a question that was taken up.
func (r *rig) answer(asked chat.Message, results ...string) {
	r.t.Helper()
	x := r.begin(asked)
	r.request()
	if r.hook != nil {
		r.hook()
	}
	for i, result := range results {
		id := fmt.Sprint("call_", i)
		x.look(id, result)
		r.request()
	}
	x.finish(fmt.Sprintf("answer to %d", asked.Seq))
}

// turn is a turn that goes on, and what it will store.
type turn struct {
	r     *rig
	asked chat.Message
	rows  []chat.Message
}

func (r *rig) begin(asked chat.Message) *turn {
	r.c.History().Begin(compactor.Context{Text: "time: now"})
	return &turn{r: r, asked: asked}
}

func (x *turn) add(m chat.Message) {
	m.Seq, m.Turn, m.Time = x.r.c.History().Next(), x.asked.Seq, x.asked.Time
	m.Tokens = compactor.TokensOf(m)
	x.rows = append(x.rows, m)
	x.r.c.History().Append(m)
}

// look calls a tool, which returns result.
func (x *turn) look(id, result string) {
	x.add(chat.Message{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: id, Name: "look", Arguments: "{}"}}})
	x.add(chat.Message{Role: llm.RoleTool, CallID: id, Tool: "look", Text: result})
}

// finish ends the turn with an answer, and stores it.
func (x *turn) finish(text string) {
	x.r.t.Helper()
	x.add(chat.Message{Role: llm.RoleAssistant, Text: text})
	outcome := memory.Outcome{Turn: x.asked.Seq, Messages: x.rows, Reply: fmt.Sprint("r", x.asked.Seq), Pieces: []string{text}, Count: x.r.c.Count()}
	outcome.Context, outcome.Version = x.r.c.History().Context()
	must(x.r.t, x.r.conv.Turns().Finish(context.Background(), outcome))
	x.r.said = append(x.r.said, x.rows...)
	x.r.c.Answered()
	x.r.c.Check(context.Background())
}

// edit has a person change what they said, as a connector's event does.
func (r *rig) edit(seq int64, text string) {
	r.t.Helper()
	m := r.said[seq-1]
	r.edits++
	got, changed, err := r.conv.Transcript().Edit(context.Background(), memory.Inbound{ID: m.ID, Text: text, Time: m.Time.Add(time.Duration(r.edits) * time.Hour)})
	if err != nil || !changed || got != seq {
		r.t.Fatalf("edit of %d: %d, changed %v, %v", seq, got, changed, err)
	}
	r.said[seq-1].Text = text
	r.apply(seq)
}

// remove has people delete what they said, all at once.
func (r *rig) remove(seqs ...int64) {
	r.t.Helper()
	r.removeUntold(seqs...)
	r.apply(seqs...)
}

// removeUntold is remove, of which nobody tells the engine.
func (r *rig) removeUntold(seqs ...int64) {
	r.t.Helper()
	var ids []string
	for _, seq := range seqs {
		ids = append(ids, r.said[seq-1].ID)
	}
	got, err := r.conv.Transcript().Delete(context.Background(), ids)
	if err != nil || !slices.Equal(got, seqs) {
		r.t.Fatalf("deletion of %v: %v, %v", seqs, got, err)
	}
	if r.gone == nil {
		r.gone = make(map[int64]bool)
	}
	for _, seq := range seqs {
		r.gone[seq] = true
	}
}

// apply brings into the view what was changed on disk.
func (r *rig) apply(seqs ...int64) {
	r.t.Helper()
	for _, seq := range seqs {
		m, err := r.conv.Transcript().Message(context.Background(), seq)
		switch {
		case errors.Is(err, memory.ErrNotFound):
			r.c.Deleted([]int64{seq})
		case err != nil:
			r.t.Fatal(err)
		default:
			r.c.Edited(m)
		}
	}
}

// left are the messages that were not deleted.
func (r *rig) left() []chat.Message {
	return slices.DeleteFunc(slices.Clone(r.said), func(m chat.Message) bool { return r.gone[m.Seq] })
}

// request checks and renders as a turn does before each call of the model, and
// holds the request to what a strict provider takes.
func (r *rig) request() []llm.Message {
	r.t.Helper()
	messages, maxTokens, err := r.c.Request(context.Background())
	if err != nil {
		r.t.Fatalf("request: %v", err)
	}
	size := r.size
	if size == 0 {
		size = 1
	}
	count := func() (prompt int) { return int(size * float64(r.estimate(messages))) }
	for try := 0; r.size > 0 && count()+maxTokens > r.window && try < 2; try++ { // as a turn does when the provider refuses it
		r.c.Reported(llm.Usage{Prompt: count()})
		r.c.Overflow(context.Background())
		if messages, maxTokens, err = r.c.Request(context.Background()); err != nil {
			r.t.Fatalf("request after an overflow: %v", err)
		}
	}
	if tokens := count() + maxTokens; tokens > r.window {
		r.t.Fatalf("the request has %d tokens of %d", tokens, r.window)
	}
	if r.size > 0 {
		r.c.Reported(llm.Usage{Prompt: count()})
	}
	if problem := strict(messages); problem != "" {
		r.t.Fatalf("a strict provider refuses the request: %s", problem)
	}
	return messages
}

// estimate is what a request costs beside its tools.
func (r *rig) estimate(messages []llm.Message) (n int) {
	for _, m := range messages {
		n += tokens.Estimate(m.Text)
	}
	return n
}

// strict says what a strict provider would not take.
func strict(messages []llm.Message) string {
	open := map[string]bool{}
	for i, m := range messages {
		switch {
		case m.Role == llm.RoleSystem && i > 0:
			return "a second system message"
		case m.Role == llm.RoleTool && !open[m.CallID]:
			return "a result without its call"
		case m.Role != llm.RoleTool && len(open) > 0:
			return "a call without its result"
		case m.Role != llm.RoleTool && m.Text == "" && len(m.Calls) == 0:
			return "an empty message"
		}
		delete(open, m.CallID)
		for _, call := range m.Calls {
			if open[call.ID] {
				return "two calls with one id"
			}
			open[call.ID] = true
		}
	}
	if len(open) > 0 {
		return "a call without its result"
	}
	if n := len(messages); n == 0 || messages[n-1].Role != llm.RoleUser && messages[n-1].Role != llm.RoleTool {
		return "it does not end with a user or a tool"
	}
	return ""
}

// resize gives the model another window, also while a worker runs.
func (r *rig) resize(window int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.window = window
}

// settle waits until nothing is at work and nothing is due.
func (r *rig) settle() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if !r.quiet {
		r.c.Speak()
	}
	r.c.Check(ctx)
	if err := r.c.Wait(ctx); err != nil {
		r.t.Fatalf("the worker does not end: %v", err)
	}
}

func (r *rig) seen(state compactor.EventState) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.State == state {
			n++
		}
	}
	return n
}

// verify holds what is on disk and in memory against what was put in: coverage,
// order, provenance, budgets, and that the transcript is untouched.
func (r *rig) verify() {
	r.t.Helper()
	must(r.t, r.check())
}

func (r *rig) check() error {
	ctx := context.Background()
	store := r.look
	if store == nil {
		var err error
		if store, err = memory.Open(ctx, memory.Options{Dir: r.dir, Shared: true}); err != nil {
			return err
		}
		defer store.Close()
	}
	conv, err := store.Find(ctx, r.name)
	if err != nil {
		return err
	}
	state, err := conv.Compactions().Load(ctx)
	if err != nil {
		return err
	}
	if err := boughtTwice(state.Prepared); err != nil {
		return err
	}
	seen := map[int64]int{}
	for _, m := range state.Messages {
		if seen[m.Seq]++; m.Seq < r.start() {
			return fmt.Errorf("message %d is verbatim, and the session begins at %d", m.Seq, r.start())
		}
	}
	rows, err := r.rowsOf(state.Head)
	if err != nil {
		return err
	}
	last := int64(0)
	for _, row := range rows {
		if r.session(row.From) != r.session(row.To) {
			return fmt.Errorf("row %d, %d to %d, reaches over the end of a session; they end at %v", row.ID, row.From, row.To, r.ends)
		}
		if row.From <= last {
			return fmt.Errorf("row %d begins at %d, inside what ends at %d", row.ID, row.From, last)
		}
		last = row.To
		n := 0
		cut := make(map[int64]int) // by turn: 1 some of it is covered, 2 some is not, 3 both
		for _, m := range r.left() {
			if row.Covers(m.Seq) {
				seen[m.Seq]++
				n++
				cut[m.Turn] |= 1
			} else {
				cut[m.Turn] |= 2
			}
			if cut[m.Turn] == 3 {
				return fmt.Errorf("row %d cuts turn %d", row.ID, m.Turn)
			}
		}
		if n != row.Messages {
			return fmt.Errorf("row %d (%s by %s on %s, %d to %d) says it holds %d messages and holds %d", row.ID, row.Kind, row.By, row.Trigger, row.From, row.To, row.Messages, n)
		}
	}
	for _, m := range r.left() {
		if seen[m.Seq] != 1 {
			return fmt.Errorf("message %d stands in %d places", m.Seq, seen[m.Seq])
		}
	}
	return r.checkTranscript(ctx, conv)
}

// rowsOf are all applied rows, each in the session where it stands in the head.
func (r *rig) rowsOf(head compactor.Head) (rows []compactor.Compaction, err error) {
	if head.Start != r.start() || len(head.Earlier) != len(r.ends) {
		return nil, fmt.Errorf("the session begins at %d behind %d others, and should at %d behind %d", head.Start, len(head.Earlier), r.start(), len(r.ends))
	}
	for i, s := range head.Earlier {
		if s.To != r.ends[i] {
			return nil, fmt.Errorf("session %d ends at %d, should at %d", i, s.To, r.ends[i])
		}
		rows = append(rows, s.Rows...)
		for _, row := range s.Rows {
			if r.session(row.From) != i {
				return nil, fmt.Errorf("row %d, %d to %d, stands in session %d", row.ID, row.From, row.To, i)
			}
		}
	}
	return append(rows, head.Stack...), nil
}

func (r *rig) checkTranscript(ctx context.Context, conv *memory.Conversation) error {
	page, err := conv.Transcript().Page(ctx, 1, len(r.said)+1)
	if err != nil {
		return err
	}
	left := r.left()
	if len(page) != len(left) {
		return fmt.Errorf("the transcript has %d messages, %d were put in", len(page), len(left))
	}
	for i, m := range page {
		if m.Seq != left[i].Seq || m.Text != left[i].Text {
			return fmt.Errorf("message %d is %q, was put in as %q", m.Seq, m.Text, left[i].Text)
		}
	}
	return nil
}

// render is the whole view as one text.
func (r *rig) render() string {
	r.t.Helper()
	messages, _, err := r.c.Request(context.Background())
	must(r.t, err)
	return inLines(messages)
}

// withoutContexts is a rendered request without its turn contexts, which end with the
// head, and what these cost.
func withoutContexts(text string) (rest string, n int) {
	return aContext.ReplaceAllStringFunc(text, func(one string) string {
		n += 4 + tokens.Estimate(strings.TrimSuffix(strings.TrimPrefix(one, "user||[]|"), "\n"))
		return ""
	}), n
}

var aContext = regexp.MustCompile(`user\|\|\[\]\|<now>\n[^<]*\n</now>\n`)

func inLines(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s|%s|%v|%s\n", m.Role, m.CallID, m.Calls, m.Text)
	}
	return b.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says is a worker whose summaries are all the same.
func says(text string) *llmtest.Model {
	return &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) { return summary(text), nil }}
}

// wordyWorker is a worker whose summaries end with rest.
func wordyWorker(rest string) *llmtest.Model {
	return &llmtest.Model{Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return summary(fmt.Sprintf("Summary %d. %s", n, rest)), nil
	}}
}

// good is a worker that summarizes well: it hands in a short summary.
func good(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
	return summary(fmt.Sprintf("Summary %d of %s, %s.", n, spanOf(req), wordsOf(req))), nil
}

var asked = regexp.MustCompile(`messages #\d+ to #\d+`)

// spanOf is which messages a worker's request asks to summarize.
func spanOf(req llm.Request) string {
	text := req.Messages[1].Text
	return asked.FindString(text[max(strings.LastIndex(text, "Sum up messages"), 0):])
}

// wordsOf is enough of what is to be summarized for a summary of it.
func wordsOf(req llm.Request) string {
	material := materialIn(req)
	if strings.Contains(material, `from="Ada"`) {
		return "in Ada's words"
	}
	words := strings.Fields(tags.ReplaceAllString(material, " "))
	return "which say " + strings.Join(words[:min(len(words), 12)], " ")
}

var tags = regexp.MustCompile(`<[^<>]*>`)

// materialIn is what a worker's request asks to summarize, without what is there for reference.
func materialIn(req llm.Request) string {
	_, text, _ := strings.Cut(req.Messages[1].Text, "<transcript>\n")
	text, _, _ = strings.Cut(text, "\n</transcript>")
	return text
}

func broken(context.Context, int, llm.Request) (llm.Response, error) {
	return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "overloaded"}
}

var errWorker = errors.New("the test's worker fails")

// filler is a text of about so many tokens.
func filler(tokens int) string { return strings.Repeat("word ", tokens) }
