package simulate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
)

// player replays the conversation of a recording under the settings of a variant, in virtual time.
// It is the owner of its engine.
type player struct {
	rec       *Recording
	o         Options // with the policy and the window of the variant
	records   *compactor.InMemory
	engine    *compactor.Compactor
	summaries *summaries
	progress  func(done int)

	now   time.Time
	tasks []task // by time, then in the order of their start

	learned  *llm.Learned // of the model; as recorded, else as known today
	actions  []action     // recorded requests of people and the model, by time
	cacheTTL time.Duration
	last     sent         // the last request
	newest   chat.Message // the newest
	entered  bool         // it has reached the range
	result   Result
	sums     sums
}

// task is the end of a slow operation.
type task struct {
	at     time.Time
	result compactor.Result
}

// action is a requested compaction or new session.
type action struct {
	at      time.Time
	before  int64 // the session that starts with this seq; 0: a compaction
	trigger compactor.Trigger
	focus   string
}

func newPlayer(ctx context.Context, rec *Recording, o Options) (p *player, err error) {
	engine := o.Engine
	p = &player{rec: rec, o: o, learned: new(llm.Learned), records: compactor.NewInMemory()}
	p.summaries = newSummaries(rec, o, p.records)
	if engine.Learned != nil {
		p.learned.Learn(func(f *llm.Facts) { *f = engine.Learned().Facts() })
	}
	for _, m := range rec.Messages {
		if then, known := rec.Requests[m.Seq]; known {
			p.knows(0, then.Factor)
			break
		}
	}
	if len(rec.Messages) > 0 {
		p.now = rec.Messages[0].Saved
	}
	p.remember()
	policy := o.Policy
	policy.ExtractMemories = false // memories do not change any plan
	engine.Learned = func() *llm.Learned { return p.learned }
	engine.Records = p.records
	engine.Now = func() time.Time { return p.now }
	engine.Log = slog.New(slog.DiscardHandler)
	engine.Policy = func() compactor.Policy { return policy }
	engine.Strategy = p.summaries.strategy
	if engine.Worker != nil {
		engine.Worker = unusedModel{engine.Worker.Name()}
	}
	engine.Fallback = nil
	p.cacheTTL = max(policy.CacheTTL.Or(engine.CacheTTL), time.Second)
	p.engine, err = compactor.Open(ctx, engine)
	return p, err
}

// unusedModel is a model that is never called: summaries are extracts or recorded ones.
type unusedModel struct{ name string }

func (a unusedModel) Name() string { return a.name }

func (a unusedModel) Window(context.Context) llm.Window { return llm.Window{Tokens: llm.DefaultWindow} }

func (a unusedModel) Generate(context.Context, llm.Request, func(string)) (llm.Response, error) {
	return llm.Response{}, fmt.Errorf("model %s: a simulation calls no model", a.name)
}

// knows sets the model's factor to the recorded one.
func (p *player) knows(scale int, factor float64) {
	p.learned.Learn(func(f *llm.Facts) {
		f.Scale = scale
		f.Factor = factor
	})
}

// remember collects the recorded requests.
func (p *player) remember() {
	began := map[int64]time.Time{} // the summary of the session before, by the first seq of a session
	for _, s := range p.rec.Summaries {
		switch s.Trigger {
		case compactor.OnManual, compactor.OnSelf:
			p.actions = append(p.actions, action{at: s.Began, trigger: s.Trigger, focus: s.Focus})
		case compactor.OnNew:
			began[s.To+1] = cmp.Or(began[s.To+1], s.Began)
		}
	}
	for _, seq := range p.rec.Sessions {
		at := p.now
		if before := p.rec.between(1, seq-1); len(before) > 0 {
			at = before[len(before)-1].Saved
		}
		p.actions = append(p.actions, action{at: cmp.Or(began[seq], at), before: seq})
	}
	slices.SortStableFunc(p.actions, func(a, b action) int { return a.at.Compare(b.at) })
}

// attend notes what has happened in the engine. It runs slow work that has become due immediately, and schedules its end for when
// it would have ended. It follows each use of the engine.
func (p *player) attend() {
	for _, e := range p.engine.Events() {
		p.happened(e)
	}
	for _, work := range p.engine.Work() {
		p.summaries.took = 0
		r := work.Run()
		p.tasks = append(p.tasks, task{p.now.Add(p.summaries.took), r})
		slices.SortStableFunc(p.tasks, func(a, b task) int { return a.at.Compare(b.at) })
	}
}

// use runs a function that uses the engine.
func (p *player) use(f func(*compactor.Compactor)) {
	f(p.engine)
	p.attend()
}

// check has the engine check its window.
func (p *player) check(ctx context.Context) {
	p.use(func(e *compactor.Compactor) { e.Check(ctx) })
}

// advanceTo advances the time to t: slow work ends, and the engine checks at the time that it returned.
func (p *player) advanceTo(t time.Time) {
	for {
		wake := p.engine.Wake()
		if !wake.IsZero() && !wake.After(p.now) {
			wake = p.now.Add(time.Millisecond) // the clock must advance
		}
		switch {
		case len(p.tasks) > 0 && !p.tasks[0].at.After(t) && (wake.IsZero() || !wake.Before(p.tasks[0].at)):
			p.finish()
		case !wake.IsZero() && !wake.After(t):
			p.pass(wake)
			p.check(context.Background())
		default:
			p.pass(t)
			return
		}
	}
}

func (p *player) finish() {
	next := p.tasks[0]
	p.tasks = p.tasks[1:]
	p.pass(next.at)
	p.engine.Done(next.result)
	p.attend()
}

// pass advances the clock, which never goes back.
func (p *player) pass(t time.Time) {
	if t.After(p.now) {
		p.now = t
	}
}

// patience is how long settle waits for work that keeps failing.
const patience = time.Hour

// settle ends all slow work. Failed work is retried for a while, as in reality.
func (p *player) settle(ctx context.Context) error {
	end := p.now.Add(patience)
	for ctx.Err() == nil {
		p.check(ctx)
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

// act executes the actions before t, or before the message seq.
func (p *player) act(ctx context.Context, t time.Time, seq int64) error {
	for len(p.actions) > 0 {
		a := p.actions[0]
		if a.before > seq || a.before == 0 && a.at.After(t) {
			return nil
		}
		p.actions = p.actions[1:]
		p.advanceTo(a.at)
		if a.before == 0 {
			p.use(func(e *compactor.Compactor) { e.Compact(compactor.Requested{Trigger: a.trigger, Focus: a.focus}) })
			continue
		}
		if err := p.startSession(ctx); err != nil {
			return fmt.Errorf("begin the session of message %d: %w", a.before, err)
		}
	}
	return nil
}

// startSession starts a session. There is no event of what covers the old one.
func (p *player) startSession(ctx context.Context) error {
	started, err := p.engine.StartSession(ctx)
	p.attend()
	if earlier := p.engine.StatusReader()().Past.Earlier; started && len(earlier) > 0 {
		for _, row := range earlier[len(earlier)-1].Rows {
			if row.Trigger == compactor.OnNew {
				p.applied(compactor.Event{Trigger: row.Trigger, Kind: row.Kind, From: row.From, To: row.To, Messages: row.Messages})
			}
		}
	}
	return err
}

// filler returns a text that costs n tokens as a turn context.
func filler(n int) string {
	const word = " a" // costs less than a token, so some number of them costs n
	return strings.Repeat(word, sort.Search(2*n, func(i int) bool {
		return compactor.ContextTokens(strings.Repeat(word, i)) >= n
	}))
}

// store stores messages, which the engine does not know yet.
func (p *player) store(all []Message) ([]chat.Message, error) {
	list := make([]chat.Message, len(all))
	for i, m := range all {
		list[i] = m.Message
	}
	p.newest = list[len(list)-1]
	return list, p.records.Append(list...)
}
