package simulate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/promptcache"
	"cairn/llm"
)

// player has the conversation of a recording again, under the settings of a variant, in
// virtual time. It is the owner of its engine.
type player struct {
	rec      *Recording
	v        variant
	o        Options
	records  *compactor.InMemory
	engine   *compactor.Compactor
	progress func(done int)

	now   time.Time
	tasks []task        // by time, and then by when they began
	took  time.Duration // by the summary that was just made

	learnt    *llm.Learnt           // of the model; as it was recorded, else as it is known today
	known     map[spanKey][]Summary // what was really summarized, the oldest attempt first
	fillers   map[int]string        // by their tokens
	usual     time.Duration         // that a summary took
	actions   []action              // what people and the model wanted, by time
	cache     *promptcache.Ledger
	sums      sums
	said      chat.Message // the newest one
	importing bool         // time passes with the messages alone
	brief     bool         // only the lengths of summaries matter
	extract   bool         // a worker saves memories
}

// spanKey tells what a summary is of.
type spanKey struct {
	from, to int64
	rollup   bool
}

// task is the end of something slow.
type task struct {
	at     time.Time
	finish func()
}

// action is a compaction or a new session that somebody wanted.
type action struct {
	at      time.Time
	before  int64 // the session that begins with this seq; 0: a compaction
	trigger compactor.Trigger
	focus   string
}

func newPlayer(ctx context.Context, rec Recording, v variant, o Options) (*player, error) {
	p := &player{rec: &rec, v: v, o: o, known: map[spanKey][]Summary{}, fillers: map[int]string{}, learnt: new(llm.Learnt)}
	if o.Engine.Learnt != nil {
		p.learnt = remembering(o.Engine.Learnt().Facts())
	}
	for _, m := range rec.Messages {
		if then, known := rec.Requests[m.Seq]; known {
			facts := p.learnt.Facts()
			facts.Scale, facts.Factor = 0, then.Factor
			p.learnt = remembering(facts)
			break
		}
	}
	if len(rec.Messages) > 0 {
		p.now = rec.Messages[0].Saved
	}
	p.records = compactor.NewInMemory(p.when)
	p.brief = len(rec.Messages) > mostExtracted && len(o.Questions) == 0
	p.remember()
	engine := o.Engine
	engine.Learnt = func() *llm.Learnt { return p.learnt }
	engine.Records, engine.Now, engine.Log = p.records, func() time.Time { return p.now }, slog.New(slog.DiscardHandler)
	engine.Policy = func() compactor.Policy { return p.v.policy }
	p.extract, p.v.policy.ExtractMemories = v.policy.ExtractMemories, false // they change no plan
	engine.Window, engine.Start, engine.Strategy = v.window, p.start, p.strategy
	engine.After = p.happened
	if engine.Worker != nil {
		engine.Worker = absent{engine.Worker.Name()}
	}
	engine.Fallback = nil
	ttl := v.policy.CacheTTL.Or(engine.CacheTTL)
	p.cache = promptcache.New(promptcache.Rule{Kind: o.Cache, TTL: max(ttl, time.Second)})
	p.cache.Appends = true
	var err error
	p.engine, err = compactor.Open(ctx, engine)
	return p, err
}

// when is the time of what happens now, in the conversation.
func (p *player) when() time.Time {
	if p.importing {
		return p.said.Time
	}
	return p.now
}

// absent is a model that is not asked: its answers are extracts, and what was recorded.
type absent struct{ name string }

func (a absent) Name() string { return a.name }

func (a absent) Window(context.Context) llm.Window { return llm.Window{Tokens: llm.DefaultWindow} }

func (a absent) Generate(context.Context, llm.Request, func(string)) (llm.Response, error) {
	return llm.Response{}, fmt.Errorf("model %s: a simulation asks no model", a.name)
}

// remember notes what was really summarized, how long that took, and what somebody asked for.
func (p *player) remember() {
	var total time.Duration
	n := 0
	first := map[int64]bool{}
	for _, seq := range p.rec.Sessions {
		first[seq] = true
	}
	for _, s := range p.rec.Summaries {
		if s.Text != "" || s.State == compactor.Failed {
			p.known[keyOf(s.Summary)] = append(p.known[keyOf(s.Summary)], s)
		}
		if !s.Ended.IsZero() && s.State != compactor.Failed && s.By == compactor.ByWorker {
			total, n = total+s.Ended.Sub(s.Began), n+1
		}
		switch s.Trigger {
		case compactor.OnManual, compactor.OnSelf:
			p.actions = append(p.actions, action{at: s.Began, trigger: s.Trigger, focus: s.Focus})
		}
	}
	if n > 0 {
		p.usual = total / time.Duration(n)
	}
	for _, seq := range p.rec.Sessions {
		p.actions = append(p.actions, action{at: p.beginOf(seq), before: seq})
	}
	slices.SortStableFunc(p.actions, func(a, b action) int { return a.at.Compare(b.at) })
}

// beginOf is when the session that begins with seq was begun.
func (p *player) beginOf(seq int64) time.Time {
	for _, s := range p.rec.Summaries {
		if s.Trigger == compactor.OnNew && s.To == seq-1 {
			return s.Began
		}
	}
	said := p.rec.said(1, seq-1)
	if len(said) == 0 {
		return p.now
	}
	return said[len(said)-1].Saved
}

func keyOf(s compactor.Compaction) spanKey { return spanKey{s.From, s.To, s.IsRollup()} }

// start runs slow work at once, and has it end when it would have.
func (p *player) start(slow func() func()) {
	p.took = 0
	finish := slow()
	p.tasks = append(p.tasks, task{p.now.Add(p.took), finish})
	slices.SortStableFunc(p.tasks, func(a, b task) int { return a.at.Compare(b.at) })
}

// until lets pass the time up to t: what is slow ends, and the engine looks again when it
// wanted to.
func (p *player) until(t time.Time) {
	for {
		wake := p.engine.Wake()
		switch {
		case len(p.tasks) > 0 && !p.tasks[0].at.After(t) && (wake.IsZero() || !wake.Before(p.tasks[0].at)):
			p.finish()
		case !wake.IsZero() && !wake.After(t):
			p.pass(wake)
			p.engine.Check(context.Background())
			if again := p.engine.Wake(); !again.After(wake) && !again.IsZero() {
				p.pass(wake.Add(time.Millisecond)) // time goes on
				if p.now.After(t) {
					return
				}
			}
		default:
			p.pass(t)
			return
		}
	}
}

// finish lets the next slow thing end.
func (p *player) finish() {
	next := p.tasks[0]
	p.tasks = p.tasks[1:]
	p.pass(next.at)
	next.finish()
}

// pass moves the clock, which never goes back.
func (p *player) pass(t time.Time) {
	if t.After(p.now) {
		p.now = t
	}
}

// patience is how long what fails again and again is waited for.
const patience = time.Hour

// settle lets all that is slow end. What fails is tried again for a while, as it would be.
func (p *player) settle(ctx context.Context) error {
	for end := p.now.Add(patience); ctx.Err() == nil; {
		p.engine.Check(ctx)
		for len(p.tasks) > 0 {
			p.finish()
		}
		if !p.engine.StatusReader()().BackingOff || p.now.After(end) {
			return nil
		}
		p.pass(p.now.Add(time.Second))
	}
	return ctx.Err()
}

// act does what somebody wanted before t, or before the message seq.
func (p *player) act(ctx context.Context, t time.Time, seq int64) error {
	for len(p.actions) > 0 {
		a := p.actions[0]
		if a.before > seq || a.before == 0 && a.at.After(t) {
			return nil
		}
		p.actions = p.actions[1:]
		p.until(a.at)
		if a.before == 0 {
			p.engine.Compact(compactor.Requested{Trigger: a.trigger, Focus: a.focus})
			continue
		}
		if _, err := p.engine.StartSession(ctx); err != nil {
			return fmt.Errorf("begin the session of message %d: %w", a.before, err)
		}
	}
	return nil
}

// filler is the text of a turn context of so many tokens, in place of one that was not kept;
// "" for none.
func (p *player) filler(n int) string {
	if n == 0 {
		return ""
	}
	text, made := p.fillers[n]
	if !made {
		const word = " context"
		text = strings.Repeat(word, sort.Search(n, func(i int) bool { return compactor.ContextTokens(strings.Repeat(word, i+1)) > n }))
		for compactor.ContextTokens(text) < n {
			text += " a"
		}
		p.fillers[n] = text
	}
	return text
}

// appendAll appends messages that are on disk.
func (p *player) appendAll(all []Message) error {
	list := make([]chat.Message, len(all))
	for i, m := range all {
		list[i] = m.Message
	}
	if err := p.records.Append(list...); err != nil {
		return err
	}
	p.said = list[len(list)-1]
	p.engine.History().Append(list...)
	p.engine.History().Stored()
	return nil
}
