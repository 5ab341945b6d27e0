package simulate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"cairn/compactor"
	"cairn/internal/chart"
	"cairn/internal/promptcache"
	"cairn/llm/prices"
)

// Report is the result of a simulation.
type Report struct {
	Name     string   `json:"name"`
	Messages int      `json:"messages"`
	Happened int      `json:"happened"` // applied compactions in the recording
	Equal    int      `json:"equal"`    // of them, those that the settings in force reproduce: same trigger, kind and span
	Variants []Result `json:"variants"` // the settings in force first
}

// Result is the outcome of a variant.
type Result struct {
	Name        string            `json:"name"`
	Settings    map[string]string `json:"settings"` // those that differ from the defaults
	Window      int               `json:"window"`   // tokens
	Compactions []Compaction      `json:"compactions"`
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

// Compaction is an applied summary.
type Compaction struct {
	Trigger  compactor.Trigger `json:"trigger"`
	Kind     compactor.Kind    `json:"kind"`
	From     int64             `json:"from_seq"`
	To       int64             `json:"to_seq"`
	Messages int               `json:"messages"`
	Before   int               `json:"before_tokens"` // tokens of the next request
	After    int               `json:"after_tokens"`
	Time     time.Time         `json:"time"` // when it was applied; in an import, the time of the newest message then

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
	Least int `json:"least"` // minimum since the first compaction; 0: there was none
}

// Spent is the cost of requests, in tokens.
type Spent struct {
	Requests int `json:"requests"`
	prices.Tokens
	Share float64 `json:"cached_share"` // of the input, 0 to 1
}

// sums are the player's running totals.
type sums struct {
	turns, worker        Spent
	checks               int64
	used, head, verbatim int64
	least                int
	points               []chart.Point
	effects              map[int64][2]int // tokens used before and after a row was applied, by its id
}

func (s *Spent) add(p promptcache.Priced, output int) {
	s.Requests++
	s.Input += int64(p.Cached + p.Written + p.Uncached)
	s.Cached += int64(p.Cached)
	s.Written += int64(p.Written)
	s.Output += int64(output)
	s.Share = float64(s.Cached) / float64(max(s.Input, 1))
}

// recordApplied records an applied row and how full the window is then.
func (p *player) recordApplied(e compactor.Event) {
	if e.State != compactor.EventApplied {
		return
	}
	p.sums.effects[e.ID] = [2]int{e.BeforeTokens, e.AfterTokens}
	p.point()
}

// recordUsage records how full the window is after a message.
func (p *player) recordUsage() {
	s := &p.sums
	used, head, verbatim := p.engine.Usage()
	s.checks++
	s.used, s.head, s.verbatim = s.used+int64(used), s.head+int64(head), s.verbatim+int64(verbatim)
	if len(s.effects) > 0 && (verbatim < s.least || s.least == 0) {
		s.least = verbatim
	}
	p.point()
}

func (p *player) point() {
	used, head, _ := p.engine.Usage()
	p.sums.points = append(p.sums.points, chart.Point{At: p.said.Seq, Used: used, Head: head})
}

// result returns the player's result.
func (p *player) result(o Options) Result {
	s := &p.sums
	r := Result{
		Name: p.v.Name, Settings: p.settings(), Window: p.v.window(), Compactions: []Compaction{},
		Verbatim: Verbatim{Mean: int(s.verbatim / max(s.checks, 1)), Least: s.least},
		Worker:   s.worker, Turns: s.turns, Used: s.points, policy: p.v.policy,
	}
	if s.used > 0 {
		r.Summaries = float64(s.head) / float64(s.used)
	}
	var last int64
	level := ""
	for _, row := range p.records.Applied() {
		effect := s.effects[row.ID]
		r.Compactions = append(r.Compactions, Compaction{
			row.Trigger, row.Kind, row.From, row.To, row.Messages, effect[0], effect[1], row.At, row.Newest,
		})
		if row.Version != last {
			r.Levels.count(level)
			last, level = row.Version, ""
		}
		level = higher(level, string(p.v.policy.Level(effect[0], r.Window)))
		if row.Trigger == compactor.OnEmergency {
			level = string(compactor.OnEmergency)
		}
	}
	r.Levels.count(level)
	r.Money = s.money(o)
	return r
}

func (l *Levels) count(level string) {
	switch compactor.Trigger(level) {
	case compactor.OnBackground:
		l.Background++
	case compactor.OnAggressive:
		l.Aggressive++
	case compactor.OnEmergency:
		l.Emergency++
	}
}

var levels = []string{"", string(compactor.OnBackground), string(compactor.OnAggressive), string(compactor.OnEmergency)}

func higher(a, b string) string { return levels[max(slices.Index(levels, a), slices.Index(levels, b))] }

// settings returns those that differ from the defaults.
func (p *player) settings() map[string]string {
	set := map[string]string{WindowKey: strconv.Itoa(p.v.window())}
	built, now := compactor.DefaultPolicy(), p.v.policy
	now.ExtractMemories = p.extract
	for _, key := range compactor.Keys() {
		if value := now.Value(key); value != built.Value(key) {
			set[key] = value
		}
	}
	maps.Copy(set, p.v.Set)
	return set
}

// money returns the cost of turns and worker; nil if a needed price is unknown.
func (s *sums) money(o Options) *float64 {
	sum := 0.0
	for _, part := range []struct {
		spent Spent
		price *prices.Price
	}{{s.turns, o.Turns}, {s.worker, o.Worker}} {
		switch {
		case part.spent.Requests == 0:
		case part.price == nil:
			return nil
		default:
			sum += part.price.Cost(part.spent.Tokens)
		}
	}
	return &sum
}

// what identifies a compaction.
type what struct {
	trigger  compactor.Trigger
	kind     compactor.Kind
	from, to int64
}

// equal counts the recorded compactions, and those of them that a result has too.
func (r Recording) equal(made Result) (equal, happened int) {
	left := map[what]int{}
	for _, c := range made.Compactions {
		left[what{c.Trigger, c.Kind, c.From, c.To}]++
	}
	for _, s := range r.Summaries {
		if s.Version == 0 {
			continue
		}
		happened++
		if key := (what{s.Trigger, s.Kind, s.From, s.To}); left[key] > 0 {
			left[key]--
			equal++
		}
	}
	return equal, happened
}

// Chart returns used tokens over messages, one panel for each variant.
func (r Report) Chart() chart.Sawtooth {
	w := chart.Sawtooth{Title: r.Name, Desc: "Tokens of the next request over messages, simulated for each variant of the settings, with the levels and the compactions."}
	for _, v := range r.Variants {
		p := chart.Panel{Name: v.Name, Window: v.Window, Levels: v.lines(), Points: v.Used}
		for _, c := range v.Compactions {
			kind := string(c.Trigger)
			if l := string(v.policy.Level(c.Before, v.Window)); l != "" && c.Trigger == compactor.OnPrepare {
				kind = l
			}
			p.Marks = append(p.Marks, chart.Mark{At: c.at, Kind: kind, Tip: fmt.Sprintf("%s %s of #%d to #%d: %s → %s tokens",
				c.Trigger, c.Kind, c.From, c.To, chart.Short(float64(c.Before)), chart.Short(float64(c.After)))})
		}
		w.Panels = append(w.Panels, p)
	}
	return w
}

func (v Result) lines() (lines []chart.Level) {
	p := v.policy.At(v.Window)
	for _, l := range []struct {
		kind  string
		share float64
	}{{"prepare", p.Prepare()}, {"background", p.BackgroundThreshold}, {"aggressive", p.AggressiveThreshold}, {"emergency", p.EmergencyThreshold}} {
		if l.share > 0 {
			lines = append(lines, chart.Level{Name: fmt.Sprintf("%s %g %%,", l.kind, math.Round(1000*l.share)/10), Kind: l.kind, Tokens: int(l.share * float64(v.Window))})
		}
	}
	return lines
}
