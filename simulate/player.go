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

// player replays the conversation of a recording under the settings of a variant, in virtual time.
// It is the owner of its engine.
type player struct {
	rec      *Recording
	o        Options // with the policy and the window of the variant
	records  *compactor.InMemory
	engine   *compactor.Compactor
	progress func(done int)

	now   time.Time
	tasks []task        // by time, then in the order of their start
	took  time.Duration // by the summary that was just made

	learnt       *llm.Learnt           // of the model; as recorded, else as known today
	known        map[spanKey][]Summary // recorded summaries by span, oldest attempt first
	fillers      map[int]string        // by their tokens
	meanDuration time.Duration         // mean duration of a summary
	actions      []action              // recorded requests of people and the model, by time
	cache        *promptcache.Ledger
	result       Result
	sums         sums
	said         chat.Message // the newest message
	importing    bool
	brief        bool // only the lengths of summaries matter
	extract      bool // workers save memories
}

type spanKey struct {
	from, to int64
	rollup   bool
}

// task is the end of a slow operation.
type task struct {
	at     time.Time
	finish func()
}

// action is a requested compaction or new session.
type action struct {
	at      time.Time
	before  int64 // the session that starts with this seq; 0: a compaction
	trigger compactor.Trigger
	focus   string
}

func newPlayer(ctx context.Context, rec *Recording, o Options) (*player, error) {
	p := &player{rec: rec, o: o, known: map[spanKey][]Summary{}, fillers: map[int]string{}, learnt: new(llm.Learnt)}
	p.sums.effects = map[int64][2]int{}
	if o.Engine.Learnt != nil {
		p.learnt = remembering(o.Engine.Learnt().Facts())
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
	p.records = compactor.NewInMemory(func() time.Time { // in an import, time passes with the messages alone
		if p.importing {
			return p.said.Time
		}
		return p.now
	})
	p.brief = len(rec.Messages) > mostExtracted && len(o.Questions) == 0
	p.remember()
	engine := o.Engine
	engine.Learnt = func() *llm.Learnt { return p.learnt }
	engine.Records, engine.Now, engine.Log = p.records, func() time.Time { return p.now }, slog.New(slog.DiscardHandler)
	engine.Policy = func() compactor.Policy { return p.o.Policy }
	p.extract, p.o.Policy.ExtractMemories = o.Policy.ExtractMemories, false // memories do not change any plan
	engine.Start, engine.Strategy = p.start, p.strategy
	engine.After = func(e compactor.Event) {
		if e.State == compactor.EventApplied {
			p.sums.effects[e.ID] = [2]int{e.BeforeTokens, e.AfterTokens}
			p.point()
		}
	}
	if engine.Worker != nil {
		engine.Worker = unusedModel{engine.Worker.Name()}
	}
	engine.Fallback = nil
	p.cache = promptcache.New(promptcache.Rule{Kind: o.Cache, TTL: max(o.Policy.CacheTTL.Or(engine.CacheTTL), time.Second)})
	p.cache.Appends = true
	var err error
	p.engine, err = compactor.Open(ctx, engine)
	return p, err
}

// unusedModel is a model that is never called: summaries are extracts or recorded ones.
type unusedModel struct{ name string }

func (a unusedModel) Name() string { return a.name }

func (a unusedModel) Window(context.Context) llm.Window { return llm.Window{Tokens: llm.DefaultWindow} }

func (a unusedModel) Generate(context.Context, llm.Request, func(string)) (llm.Response, error) {
	return llm.Response{}, fmt.Errorf("model %s: a simulation asks no model", a.name)
}

// remember collects the recorded summaries, their durations, and the requests.
func (p *player) remember() {
	var total time.Duration
	n := 0
	for _, s := range p.rec.Summaries {
		if s.Text != "" || s.State == compactor.Failed {
			p.known[keyOf(s.Summary)] = append(p.known[keyOf(s.Summary)], s)
		}
		if !s.Ended.IsZero() && s.State != compactor.Failed && s.By == compactor.ByWorker {
			total, n = total+s.Ended.Sub(s.Began), n+1
		}
		if s.Trigger == compactor.OnManual || s.Trigger == compactor.OnSelf {
			p.actions = append(p.actions, action{at: s.Began, trigger: s.Trigger, focus: s.Focus})
		}
	}
	p.meanDuration = total / time.Duration(max(n, 1))
	for _, seq := range p.rec.Sessions {
		began := action{at: p.now, before: seq}
		if said := p.rec.said(1, seq-1); len(said) > 0 {
			began.at = said[len(said)-1].Saved
		}
		for _, s := range slices.Backward(p.rec.Summaries) {
			if s.Trigger == compactor.OnNew && s.To == seq-1 {
				began.at = s.Began
			}
		}
		p.actions = append(p.actions, began)
	}
	slices.SortStableFunc(p.actions, func(a, b action) int { return a.at.Compare(b.at) })
}

func keyOf(s compactor.Compaction) spanKey { return spanKey{s.From, s.To, s.IsRollup()} }

// start runs slow work immediately, and schedules its end for when it would have ended.
func (p *player) start(slow func() func()) {
	p.took = 0
	finish := slow()
	p.tasks = append(p.tasks, task{p.now.Add(p.took), finish})
	slices.SortStableFunc(p.tasks, func(a, b task) int { return a.at.Compare(b.at) })
}

// advanceTo advances the time to t: slow work ends, and the engine checks when it asked to.
func (p *player) advanceTo(t time.Time) {
	for {
		wake := p.engine.Wake()
		switch {
		case len(p.tasks) > 0 && !p.tasks[0].at.After(t) && (wake.IsZero() || !wake.Before(p.tasks[0].at)):
			p.finish()
		case !wake.IsZero() && !wake.After(t):
			p.pass(wake)
			p.engine.Check(context.Background())
			if again := p.engine.Wake(); !again.After(wake) && !again.IsZero() {
				p.pass(wake.Add(time.Millisecond)) // the clock must advance
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

func (p *player) finish() {
	next := p.tasks[0]
	p.tasks = p.tasks[1:]
	p.pass(next.at)
	next.finish()
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
			p.engine.Compact(compactor.Requested{Trigger: a.trigger, Focus: a.focus})
			continue
		}
		if _, err := p.engine.StartSession(ctx); err != nil {
			return fmt.Errorf("begin the session of message %d: %w", a.before, err)
		}
	}
	return nil
}

// filler returns the text of a turn context of n tokens, to replace one that was not stored; "" for
// 0.
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

// store stores messages, which the engine does not know yet.
func (p *player) store(all []Message) ([]chat.Message, error) {
	list := make([]chat.Message, len(all))
	for i, m := range all {
		list[i] = m.Message
	}
	p.said = list[len(list)-1]
	return list, p.records.Append(list...)
}
