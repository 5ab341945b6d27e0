package simulate

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"cairn/compactor"
	"cairn/internal/chart"
	"cairn/llm"
	"cairn/llm/prices"
)

// Report is the result of a simulation.
type Report struct {
	Name     string   `json:"name"`
	Messages int      `json:"messages"` // simulated and counted: of the range
	From     int64    `json:"from_seq"` // the first of them
	To       int64    `json:"to_seq"`   // the last of them
	Happened int      `json:"happened"` // applied compactions in the recording
	Equal    int      `json:"equal"`    // of them, those that the current settings reproduce: same trigger, kind and span
	Variants []Result `json:"variants"` // the current settings first
}

// Result is the outcome of a variant.
type Result struct {
	Name        string            `json:"name"`
	Settings    map[string]string `json:"settings"` // those that differ from the defaults
	Window      int               `json:"window"`   // tokens
	Compactions []Compaction      `json:"compactions"`
	Reasons     map[string]int    `json:"compactions_by_reason"` // how many of them, by one of the Reasons; the sum is all
	Levels      Levels            `json:"levels"`
	Verbatim    Verbatim          `json:"verbatim"`
	Summaries   float64           `json:"summaries"` // mean share of summaries in the used tokens, 0 to 1
	Worker      Spent             `json:"worker"`
	Turns       Spent             `json:"turns"`
	Found       *Found            `json:"found,omitempty"` // what questions find
	Money       *float64          `json:"money"`           // null: a model's price is unknown

	Used   []chart.Point `json:"-"` // how full the window is, message by message
	policy compactor.Policy
}

// Compaction is an applied summary. Each counts for one reason.
type Compaction struct {
	Trigger  compactor.Trigger `json:"trigger"`
	Kind     compactor.Kind    `json:"kind"`
	From     int64             `json:"from_seq"`
	To       int64             `json:"to_seq"`
	Messages int               `json:"messages"`
	Before   int               `json:"before_tokens"` // tokens of the next request
	After    int               `json:"after_tokens"`
	Time     time.Time         `json:"time"` // when it was applied; in an import, the time of the newest message then

	Reason string `json:"reason"` // one of Reasons

	at int64 // the newest message at that time
}

// Levels counts how often a level was acted on: summaries applied together count once, by the
// highest level reached.
type Levels struct {
	Background int `json:"background"`
	Aggressive int `json:"aggressive"`
	Emergency  int `json:"emergency"`
}

// Verbatim is the number of tokens of verbatim messages in the prompt.
type Verbatim struct {
	Mean  int `json:"mean"`
	Least int `json:"least"` // minimum since the first compaction of the range; 0: there was none
}

// Spent is the cost of requests, in tokens.
type Spent struct {
	Requests int `json:"requests"`
	prices.Tokens
	Share float64 `json:"cached_share"` // of the input, 0 to 1

	cost float64 // at the price of the model; 0: unknown
}

// applied adds a compaction to the result.
func (p *player) applied(e compactor.Event) {
	at := p.now
	if p.newest.Seq <= p.rec.Imported { // in an import, time passes with the messages alone
		at = p.newest.Time
	}
	p.result.Compactions = append(p.result.Compactions, Compaction{
		e.Trigger, e.Kind, e.From, e.To, e.Messages, e.BeforeTokens, e.AfterTokens, at, p.reason(e), p.newest.Seq,
	})
}

// coldCache is the reason of a summary that was prepared, and applied below the levels because the provider's cache had
// expired.
const coldCache = "cold cache"

// Reasons say why a summary was applied: a level that was reached, else a trigger.
var Reasons = append([]string{
	string(compactor.OnBackground), string(compactor.OnAggressive), string(compactor.OnEmergency), string(compactor.OnRollup), coldCache,
}, without(compactor.Triggers, compactor.OnBackground, compactor.OnAggressive, compactor.OnEmergency, compactor.OnRollup, compactor.OnPrepare)...)

func without(all []compactor.Trigger, left ...compactor.Trigger) (names []string) {
	for _, one := range all {
		if !slices.Contains(left, one) {
			names = append(names, string(one))
		}
	}
	return names
}

// reason returns why a summary was applied.
func (p *player) reason(e compactor.Event) string {
	level := p.o.Policy.Level(e.BeforeTokens, p.o.Engine.Window())
	byLevel := slices.Contains([]compactor.Trigger{compactor.OnBackground, compactor.OnAggressive, compactor.OnPrepare}, e.Trigger)
	switch {
	case e.Kind == compactor.Rollup:
		return string(compactor.OnRollup)
	case byLevel && level != "":
		return string(level)
	case e.Trigger == compactor.OnPrepare:
		return coldCache
	}
	return string(e.Trigger)
}

// sums are the player's running totals beside its result.
type sums struct {
	checks, used, head, verbatim int64
}

// add adds a request to a model of this price, nil if unknown. cached and written are parts of input.
func (s *Spent) add(price *prices.Price, input, cached, written, output int) {
	request := prices.Tokens{Input: int64(input), Cached: int64(cached), Written: int64(written), Output: int64(output)}
	s.Requests++
	s.Tokens.Add(request)
	if price != nil {
		s.cost += price.Cost(request, price.IsLong(request.Input))
	}
	s.Share = float64(s.Cached) / float64(max(s.Input, 1))
}

// sent is a request that was sent, in tokens.
type sent struct {
	revision         int // of the prompt
	estimate, answer int
	at               time.Time
}

// cached returns how many tokens of a request the provider reads from its cache: the last request, if this one
// begins with it. After a change of the head only the system prompt and the tools are read, and only where any common
// prefix is.
func (p *player) cached(prompt compactor.Prompt) int {
	switch {
	case p.now.Sub(p.last.at) >= p.cacheTTL:
		return 0
	case prompt.Revision != p.last.revision && p.o.Cache == llm.CachePrefix:
		return compactor.FrameCost(p.o.Engine.System, p.o.Engine.Tools)
	case prompt.Revision != p.last.revision:
		return 0
	case p.o.Cache == llm.CacheUnits: // the answer ends a unit
		return min(p.last.estimate+p.last.answer, prompt.Estimate)
	}
	return min(p.last.estimate, prompt.Estimate)
}

// recordUsage records how full the window is after a message.
func (p *player) recordUsage() {
	s := &p.sums
	least := &p.result.Verbatim.Least
	used, head, verbatim := p.engine.Usage()
	s.checks++
	s.used = s.used + int64(used)
	s.head = s.head + int64(head)
	s.verbatim = s.verbatim + int64(verbatim)
	if len(p.result.Compactions) > 0 && (verbatim < *least || *least == 0) {
		*least = verbatim
	}
	p.point(used)
}

func (p *player) point(used int) {
	_, head, _ := p.engine.Usage()
	p.result.Used = append(p.result.Used, chart.Point{At: p.newest.Seq, Used: used, Head: head})
}

// happened records a summary that was applied. Those applied together count once for a level.
func (p *player) happened(e compactor.Event) {
	if e.State != compactor.EventApplied {
		return
	}
	p.applied(e)
	r := &p.result
	level := p.o.Policy.Level(e.BeforeTokens, p.o.Engine.Window())
	switch {
	case len(e.Set) > 0 && e.Set[0].ID != e.ID:
	case e.Trigger == compactor.OnEmergency, level == compactor.OnEmergency:
		r.Levels.Emergency++
	case level == compactor.OnAggressive:
		r.Levels.Aggressive++
	case level == compactor.OnBackground:
		r.Levels.Background++
	}
	p.point(e.AfterTokens)
}

// finishResult fills in what the end shows.
func (p *player) finishResult(v Variant) {
	s := &p.sums
	r := &p.result
	r.Name = v.Name
	r.Settings = p.settings(v)
	r.Window = p.o.Engine.Window()
	r.policy = p.o.Policy
	r.Verbatim.Mean = int(s.verbatim / max(s.checks, 1))
	r.Worker = p.summaries.spent
	r.Summaries = float64(s.head) / float64(max(s.used, 1))
	r.Money = r.money(p.o)
	r.Reasons = map[string]int{}
	for _, c := range r.Compactions {
		r.Reasons[c.Reason]++
	}
}

// settings returns those that differ from the defaults.
func (p *player) settings(v Variant) map[string]string {
	set := map[string]string{WindowKey: strconv.Itoa(p.o.Engine.Window())}
	built := compactor.DefaultPolicy()
	now := p.o.Policy
	for _, key := range compactor.Keys() {
		if value := now.Value(key); value != built.Value(key) {
			set[key] = value
		}
	}
	maps.Copy(set, v.Set)
	return set
}

// money returns the cost of turns and worker; nil if a needed price is unknown.
func (v *Result) money(o Options) *float64 {
	sum := 0.0
	for _, part := range []struct {
		spent Spent
		price *prices.Price
	}{{v.Turns, o.Turns}, {v.Worker, o.Worker}} {
		if part.price != nil {
			sum += part.spent.cost
		} else if part.spent.Requests > 0 {
			return nil
		}
	}
	return &sum
}

// equal counts the recorded compactions, and those of them that a result has too: trigger, kind and span.
func (r Recording) equal(result Result) (equal, happened int) {
	left := map[Compaction]int{}
	for _, c := range result.Compactions {
		left[Compaction{Trigger: c.Trigger, Kind: c.Kind, From: c.From, To: c.To}]++
	}
	for _, s := range r.Summaries {
		if s.Version == 0 || s.Trigger == compactor.OnRewrite || !r.counts(s.Applied) {
			continue
		}
		happened++
		if key := (Compaction{Trigger: s.Trigger, Kind: s.Kind, From: s.From, To: s.To}); left[key] > 0 {
			left[key]--
			equal++
		}
	}
	return equal, happened
}
