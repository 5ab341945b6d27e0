package compactor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"

	"pgregory.net/rapid"
)

// TestInvariants puts random histories, policies, failures, edits, deletions, segments and restarts through
// the engine on real files, and after every step holds disk and view against what
// was put in. Its oracle knows only that.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(t, rt)
		defer m.end()
		steps := rapid.IntRange(15, 40).Draw(rt, "steps")
		for range steps {
			m.step(rt)
			if err := m.r.check(); err != nil {
				rt.Fatal(err)
			}
			m.checkView(rt)
			if err := m.r.checkShown(); err != nil {
				rt.Fatal(err)
			}
		}
		m.recovers(rt)
	})
}

// machine is a rig with a worker that behaves as the draw says.
type machine struct {
	r     *rig
	dir   string
	op    int // the last one
	edits int
	mood  atomic.Int32 // how the worker behaves now
}

const (
	moodGood = iota
	moodText
	moodLong
	moodBroken
	moodPanic
	moodEmpty
	moodQuote
	moods
)

func newMachine(t *testing.T, rt *rapid.T) *machine {
	dir, err := os.MkdirTemp("", "cairn")
	if err != nil {
		rt.Fatal(err)
	}
	m := &machine{dir: dir}
	p := compactor.DefaultPolicy()
	if rapid.Bool().Draw(rt, "as the levels say") {
		p.PrepareThreshold = 0
	} else {
		p.SpanTokens = rapid.IntRange(500, 2000).Draw(rt, "span_tokens")
		p.CacheTTL = compactor.Duration(rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Hour}).Draw(rt, "cache_ttl"))
	}
	p.KeepLastN = rapid.IntRange(0, 12).Draw(rt, "keep_last_n")
	p.KeepFirst = rapid.IntRange(0, 3).Draw(rt, "keep_first")
	p.BackgroundFraction = rapid.Float64Range(0.05, 0.9).Draw(rt, "background_fraction")
	p.BackgroundThreshold = rapid.Float64Range(0.4, 0.82).Draw(rt, "background_threshold")
	p.StackBudget = rapid.Float64Range(0.08, 0.4).Draw(rt, "stack_budget")
	p.EarlierSegs = rapid.IntRange(0, 4).Draw(rt, "earlier_segments")
	p.RollupFanIn = rapid.IntRange(2, 6).Draw(rt, "rollup_fan_in")
	p.FailureLimit = rapid.IntRange(1, 3).Draw(rt, "failure_limit")
	m.r = &rig{t: t, dir: dir, name: "terminal:test", window: rapid.SampledFrom([]int{3000, 5000, 9000}).Draw(rt, "window"), policy: p}
	m.r.size = rapid.SampledFrom([]float64{0, 0, 0.6, 0.9, 1.2, 1.7}).Draw(rt, "real tokens for one estimated")
	if rapid.Bool().Draw(rt, "model") {
		m.r.worker = &llmtest.Model{Tokens: 4000, Func: m.work}
	}
	if rapid.Bool().Draw(rt, "a thread") {
		m.above(rt)
	}
	m.r.open()
	return m
}

// above makes the conversation a thread of one in which something was said: of
// nine messages three are summed up by each of two rows, one is hidden, and it hangs on the last.
func (m *machine) above(rt *rapid.T) {
	ctx := context.Background()
	m.r.name = channelAbove + "/a9"
	store, err := memory.Open(ctx, memory.Options{Dir: m.dir})
	if err != nil {
		rt.Fatal(err)
	}
	defer store.Close()
	c, err := store.Conversation(ctx, channelAbove)
	if err != nil {
		rt.Fatal(err)
	}
	var past []memory.Inbound
	for n := range 9 {
		past = append(past, memory.Inbound{ID: fmt.Sprint("a", n+1), AuthorID: "u2", Author: "Bob", Text: fmt.Sprintf("above %d said %s", n+1, filler(rapid.SampledFrom([]int{1, 40, 700}).Draw(rt, "size above"))), Time: time.Date(2025, 1, 1, 0, n, 0, 0, time.UTC)})
	}
	if _, err := c.Import(ctx, past); err != nil {
		rt.Fatal(err)
	}
	for _, from := range []int64{1, 4} {
		j, err := c.Begin(ctx, compactor.Compaction{Kind: compactor.Leaf, By: compactor.ByWorker, From: from, To: from + 2, Messages: 3})
		if err != nil {
			rt.Fatal(err)
		}
		text := fmt.Sprintf("Of above %d said, above %d said and above %d said. %s", from, from+1, from+2, filler(rapid.IntRange(1, 80).Draw(rt, "summary above")))
		if _, err := j.Store(ctx, compactor.Summary{Text: text, Tokens: compactor.Estimate(text)}); err != nil {
			rt.Fatal(err)
		}
		head, _, err := c.Land(ctx, []int64{j.ID()}, 0)
		if err != nil {
			rt.Fatal(err)
		}
		if from == 4 {
			hidden := []compactor.Compaction{{By: compactor.ByEmergency, From: 7, To: 7}}
			if _, applied, err := c.Apply(ctx, head.Generation, compactor.Change{Markers: hidden}); err != nil || !applied {
				rt.Fatal(applied, err)
			}
		}
	}
}

const channelAbove = "terminal:server/channel"

// changeAbove has people delete a message of the channel above a thread.
func (m *machine) changeAbove(rt *rapid.T) {
	if !strings.HasPrefix(m.r.name, channelAbove) {
		return
	}
	c, err := m.r.store.Conversation(context.Background(), channelAbove)
	if err != nil {
		rt.Fatal(err)
	}
	n := rapid.IntRange(1, 9).Draw(rt, "message above")
	if _, err := c.Delete(context.Background(), []string{fmt.Sprint("a", n)}); err != nil {
		rt.Fatal(err)
	}
	m.r.c.Reread()
	if view := m.r.render(); strings.Contains(view, fmt.Sprintf("above %d said", n)) {
		rt.Fatalf("message %d above was deleted and stands in the view:\n%s", n, view)
	}
}

func (m *machine) end() {
	m.r.close()
	os.RemoveAll(m.dir)
}

func (m *machine) work(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
	switch m.mood.Load() {
	case moodText:
		return llmtest.Say(fmt.Sprintf("Text %d of %s. %s", n, spanOf(req), filler(rand.IntN(60)))), nil
	case moodLong:
		return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": fmt.Sprintf("Long %d. %s", n, strings.Repeat("One more sentence. ", 40+rand.IntN(200)))})), nil
	case moodBroken:
		return broken(ctx, n, req)
	case moodPanic:
		panic("the worker breaks")
	case moodEmpty:
		return llmtest.Say(""), nil
	case moodQuote:
		heard := quoted.FindAllString(req.Messages[1].Text, 30)
		return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": "They said: " + strings.Join(heard, ", ") + " and so on."})), nil
	}
	return good(ctx, n, req)
}

// quoted is how a message begins, by which a summary can be seen to speak of it.
var quoted = regexp.MustCompile(`(?:note|question|edited) \d+ `)

func (m *machine) step(rt *rapid.T) {
	r := m.r
	size := rapid.SampledFrom([]int{1, 10, 40, 150, 700, 3000}).Draw(rt, "size")
	m.op = rapid.IntRange(0, 17).Draw(rt, "op")
	switch m.op {
	case 0, 1, 2:
		r.quiet = rapid.Bool().Draw(rt, "nobody speaks to the bot")
		r.hear(fmt.Sprintf("note %d %s", len(r.said), filler(size)))
	case 3, 4:
		results := make([]string, rapid.IntRange(0, 6).Draw(rt, "results"))
		for i := range results {
			results[i] = fmt.Sprintf("result %d %s", i, filler(rapid.SampledFrom([]int{5, 60, 600, 4000}).Draw(rt, "result")))
		}
		if rapid.Bool().Draw(rt, "changed meanwhile") {
			r.hook = func() {
				m.change(rt, rapid.Bool().Draw(rt, "deleted"))
				m.edit(rt, int64(len(r.said))) // the question itself
			}
		}
		r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(size)), results...)
		r.hook = nil
	case 5:
		m.mood.Store(int32(rapid.IntRange(0, moods-1).Draw(rt, "mood")))
	case 6:
		r.settle()
	case 7:
		r.c.Compact(compactor.OnManual, "")
	case 8:
		ttl := r.policy.CacheTTL
		r.set(func(p *compactor.Policy) { p.CacheTTL = compactor.Duration(100 * 365 * 24 * time.Hour) }) // or what is staged may land
		r.settle()
		before := r.render()
		r.restart()
		if after := r.render(); after != before {
			rt.Fatalf("a restart changed the view:\n%s\n--- became\n%s", before, after)
		}
		r.set(func(p *compactor.Policy) { p.CacheTTL = ttl })
	case 9:
		r.restart() // with a worker at work, perhaps
	case 10, 11:
		m.change(rt, m.op == 11)
		r.c.Check(context.Background())
	case 12:
		m.undo(rt)
	case 13:
		m.pin(rt)
	case 14:
		m.wishAndUndo(rt)
	case 15:
		r.anew()
	case 16:
		r.c.Compact(compactor.OnManual, "")
		r.anew() // while it is summed up
	case 17:
		m.changeAbove(rt)
	}
}

// undo takes something back, if anything can be.
func (m *machine) undo(rt *rapid.T) {
	e, err := m.r.c.Undo(context.Background())
	if err != nil || e.State == compactor.EventNoop && e.Error == "" {
		rt.Fatalf("undo: %+v, %v", e, err)
	}
	g := m.r.c.Gauge()
	if e.State == compactor.EventUndone && float64(g.Used) >= g.Policy.AggressiveThreshold*float64(g.Window) {
		rt.Fatalf("after an undo %d of %d tokens are used", g.Used, g.Window)
	}
}

// wishAndUndo has somebody's compaction land, by itself, and be taken back.
func (m *machine) wishAndUndo(rt *rapid.T) {
	r := m.r
	r.settle()
	before, used, landed := r.render(), r.c.Gauge().Used, m.landings()
	if r.c.Compact(compactor.OnManual, "").State != compactor.EventStarted {
		return
	}
	if err := r.c.Wait(context.Background()); err != nil {
		rt.Fatal(err)
	}
	if m.landings() != landed+1 {
		return // it failed, or something else was due behind it
	}
	e, err := r.c.Undo(context.Background())
	if err != nil {
		rt.Fatal(err)
	}
	if e.State != compactor.EventUndone {
		if r.size == 0 && float64(used) < r.policy.AggressiveThreshold*float64(r.window) { // a count may have been other than what is estimated now
			rt.Fatalf("%d of %d tokens were used, and the undo is refused: %s", used, r.window, e.Error)
		}
		return
	}
	// The next check may land what was staged.
	if after := r.render(); m.landings() == landed+1 && (after != before || r.size == 0 && r.c.Gauge().Used != used) {
		rt.Fatalf("before, with %d tokens\n%s\n--- after an undo, with %d\n%s", used, before, r.c.Gauge().Used, after)
	}
}

// landings counts the landings on disk, those that were taken back too.
func (m *machine) landings() int {
	all, err := m.r.conv.Landings(context.Background())
	if err != nil {
		m.r.t.Fatal(err)
	}
	return len(all)
}

// pin pins a message, or takes a pin away.
func (m *machine) pin(rt *rapid.T) {
	r := m.r
	left := r.left()
	if len(left) == 0 {
		return
	}
	seq := rapid.SampledFrom(left).Draw(rt, "pinned").Seq
	fresh, err := r.conv.Pin(context.Background(), seq, "Ada")
	if err == nil && !fresh {
		err = r.conv.Unpin(context.Background(), seq)
	}
	if err != nil {
		rt.Fatal(err)
	}
	r.c.Reread()
	r.c.Check(context.Background())
}

// change has people edit or delete some of what they said, whether it is verbatim,
// being summed up, or behind summaries.
func (m *machine) change(rt *rapid.T, deleted bool) {
	r := m.r
	var theirs []int64
	for _, said := range r.left() {
		if said.Role == llm.RoleUser && int(said.Seq) < len(r.said) { // the newest may be the running turn's question
			theirs = append(theirs, said.Seq)
		}
	}
	if len(theirs) == 0 {
		return
	}
	first := rapid.IntRange(0, len(theirs)-1).Draw(rt, "message")
	if !deleted {
		m.edit(rt, theirs[first])
		return
	}
	these := theirs[first:min(first+rapid.IntRange(1, 5).Draw(rt, "deleted at once"), len(theirs))]
	r.remove(these...)
	view := r.render()
	for _, seq := range these {
		for _, word := range []string{"note", "question", "edited"} {
			if text := fmt.Sprintf("%s %d ", word, seq-1); strings.Contains(view, text) {
				rt.Fatalf("%q was deleted and stands in the view:\n%s", text, view)
			}
		}
	}
}

func (m *machine) edit(rt *rapid.T, seq int64) {
	m.edits++
	size := rapid.SampledFrom([]int{1, 40, 700}).Draw(rt, "edited size")
	m.r.edit(seq, fmt.Sprintf("edited %d %d %s", seq-1, m.edits, filler(size)))
}

func rowsOf(segments []compactor.Segment) (rows []compactor.Compaction) {
	for _, s := range segments {
		rows = append(rows, s.Rows...)
	}
	return rows
}

// checkView holds the view to order, budget and what a gauge says.
func (m *machine) checkView(rt *rapid.T) {
	g := m.r.c.Gauge()
	if g.Used != g.Frame+g.Head+g.Verbatim+g.Reserve {
		rt.Fatalf("the gauge's parts do not add up: %+v", g)
	}
	last := int64(0)
	if n := len(g.Past.Shown); n > 0 && g.Policy.EarlierSegs == 0 {
		rt.Fatalf("%d rows of earlier segments are shown", n)
	}
	if most := int(g.Policy.StackBudget*float64(g.Window)) / 2; g.Past.Tokens > most {
		rt.Fatalf("earlier segments take %d tokens of %d", g.Past.Tokens, most)
	}
	for _, row := range slices.Concat(rowsOf(g.Past.Earlier), g.Stack) {
		if row.From <= last {
			rt.Fatalf("row %d in the view begins at %d, behind %d", row.ID, row.From, last)
		}
		last = row.To
	}
	if g.Used > g.Window { // a summary that grew the view landed behind the last check
		m.r.c.Check(context.Background())
		g = m.r.c.Gauge()
	}
	if g.Used > g.Window {
		rt.Fatalf("%d of %d tokens used: frame %d, head %d, %d messages %d, reserve %d, after op %d", g.Used, g.Window, g.Frame, g.Head, g.Lines, g.Verbatim, g.Reserve, m.op)
	}
}

// recovers: with a healthy model, markers heal and used falls below background,
// unless what is spared alone exceeds it; then nothing is asked any more.
func (m *machine) recovers(rt *rapid.T) {
	r := m.r
	m.mood.Store(moodGood)
	r.quiet = false
	r.set(func(p *compactor.Policy) { p.PrepareThreshold = 0 }) // what is ready is shown
	r.restart()                                                 // forgets the backoff
	r.c.Compact(compactor.OnManual, "")                         // and what was taken back is spared no longer
	for range 40 {
		r.settle()
	}
	if err := r.check(); err != nil {
		rt.Fatal(err)
	}
	g := r.c.Gauge()
	for _, s := range g.Past.Earlier {
		if crowded := float64(g.Used) >= 0.85*float64(g.Window); len(s.Rows) > 1 && !crowded {
			rt.Fatalf("%d rows stand for the segment from %d to %d", len(s.Rows), s.From, s.To)
		}
	}
	stack := g.Past.Tokens
	for _, row := range g.Stack {
		stack += compactor.TokensOfCompaction(row)
	}
	for _, row := range slices.Concat(rowsOf(g.Past.Earlier), g.Stack) {
		healed := row.By == compactor.ByWorker || r.worker == nil && row.By == compactor.ByBuiltIn
		// Where there is no room to grow, a row that is as short as can be waits.
		if crowded := row.Tokens < 80 && float64(g.Used) >= 0.85*float64(g.Window); !healed && !crowded {
			rt.Fatalf("the %s by %s over %d to %d does not heal (used %d of %d, background %.2f)", row.Kind, row.By, row.From, row.To, g.Used, g.Window, g.Policy.BackgroundThreshold)
		}
	}
	if budget := int(g.Policy.StackBudget * float64(g.Window)); stack > budget {
		rt.Fatalf("the stack has %d of %d tokens", stack, budget)
	}
	if r.worker == nil {
		return
	}
	calls := len(r.worker.Requests())
	r.settle()
	if len(r.worker.Requests()) != calls {
		rt.Fatal("a quiet conversation goes on asking the model")
	}
}
