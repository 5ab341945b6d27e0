package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
)

// costOptions has the flags of `cost`.
type costOptions struct {
	turns int
	cache cacheRule
}

const costHelp = `Cost runs one long conversation with each strategy in virtual time, and adds up the cost of its
requests with a prompt cache: in a busy channel, and in one where a quarter of the turns follow a
pause.

` + priceHelp + `

` + talkHelp + `

The other strategies get their cheapest form. A sliding window drops only as many of the oldest
messages as necessary. "Everything at 100k" requests one summary of 2000 words after the unchanged
conversation, which is still in the cache. Cairn's worker saves 6 memories per span and writes
summaries of the requested length.

` + setHelp

func newCost() *benchmark {
	p := costOptions{cache: cacheRule{ttl: cacheTTL}}
	var b *benchmark
	b = newBenchmark("cost", "Measure the cost of a long conversation, by strategy", costHelp, func(ctx context.Context, s *screen, _ []string) (result, error) {
		if !slices.Contains(cacheRules, p.cache.kind) {
			return nil, wrongFlag(b.Command, "cache", p.cache.kind, "one of "+strings.Join(cacheRules, ", "))
		}
		return p.measure(ctx, s)
	})
	b.integer(&p.turns, "turns", 2000, 1, 100_000, "`N` turns")
	b.Flags().StringVar(&p.cache.kind, "cache", llm.CachePrefix, "`RULE` by which prompts are cached: "+strings.Join(cacheRules, ", "))
	return b
}

// contender is a named strategy.
type contender struct {
	name   string
	window int
	open   func(ctx context.Context, c *clock, turns *meter) (strategy, error)
}

const (
	fullWindow   = 128_000
	smallWindow  = 64_000
	everythingAt = 100_000

	economical = "Cairn, economy"
)

// contenders returns the strategies in the order of the table. tools are the bot's tools; the other
// strategies send them too.
func contenders(tools []llm.Tool, rule cacheRule) []contender {
	cairn := func(name string, window int, policy compactor.Policy) contender {
		policy.CacheTTL = compactor.TTL(rule.ttl)
		return contender{name, window, func(ctx context.Context, c *clock, _ *meter) (strategy, error) {
			return newEngine(ctx, c, window, policy, rule)
		}}
	}
	stays := rule.kind != llm.CachePrefix
	return []contender{
		cairn("Cairn, defaults", fullWindow, compactor.DefaultPolicy()),
		cairn(economical, fullWindow, policyWith(func(p *compactor.Policy) { p.Economy = true })),
		cairn("Cairn, smaller window", smallWindow, compactor.DefaultPolicy()),
		cairn("Cairn, set for cost", fullWindow, policyWith(forCost)),
		cairn("30 % at 80 %, applied at once", fullWindow, policyWith(atOnce)),
		cairn("Cairn, set to summarize all", fullWindow, policyWith(forAll)),
		{"everything at 100k", fullWindow, func(_ context.Context, c *clock, turns *meter) (strategy, error) {
			return everything{newList(c, tools, stays), everythingAt, turns, rand.New(rand.NewPCG(1, 3))}, nil
		}},
		cairn("Cairn, set to keep most", fullWindow, policyWith(forMost)),
		{"sliding window", fullWindow, func(_ context.Context, c *clock, _ *meter) (strategy, error) {
			return sliding{newList(c, tools, stays), fullWindow}, nil
		}},
	}
}

// policyWith returns the default policy with changes.
func policyWith(changes ...func(p *compactor.Policy)) compactor.Policy {
	p := compactor.DefaultPolicy()
	for _, change := range changes {
		change(&p)
	}
	return p
}

// Settings of Cairn that differ from the defaults: cheaper ones, and ones that come close to each
// of the other strategies.
func atOnce(p *compactor.Policy) { p.PrepareThreshold = 0 }

func forCost(p *compactor.Policy) {
	p.Economy = true
	p.PrepareThreshold = 0.40
	p.StackBudget = 0.05
}

func forAll(p *compactor.Policy) {
	p.PrepareThreshold = 0
	p.BackgroundThreshold = 0.74
	p.BackgroundFraction = 0.90
	p.StackBudget = 0.02
	p.TailTokens = 500
}

func forMost(p *compactor.Policy) {
	p.BackgroundThreshold = 0.98
	p.AggressiveThreshold = 0.985
	p.EmergencyThreshold = 0.99
	p.BackgroundFraction = 0.10
	p.AggressiveFraction = 0.10
	p.EmergencyFraction = 0.10
	p.PrepareThreshold = 0
	p.StackBudget = 0.02
	p.KeepFirst = 0
	p.PinBudget = 0
}

const setHelp = `"Economy" is economy = true: all prepared summaries are applied together. "Set for cost" adds
prepare_threshold = 0.40 and stack_budget = 0.05. "Set to summarize all" has prepare_threshold = 0,
background_threshold = 0.74, background_fraction = 0.90, tail_tokens = 500 and stack_budget = 0.02.
"Set to keep most" has prepare_threshold = 0, levels at 0.98, 0.985 and 0.99, each with a fraction of
0.10, stack_budget = 0.02, keep_first = 0 and pin_budget = 0.`

// channelCost has the costs of all strategies in one kind of channel.
type channelCost struct {
	Name     string `json:"name"`
	Requests int    `json:"requests"`
	Said     int    `json:"said"` // tokens of all messages
	Rows     []row  `json:"strategies"`
}

// costs is the result.
type costs struct {
	Turns    int           `json:"turns"`
	Cache    string        `json:"cache"`
	Channels []channelCost `json:"channels"`
	targets                // for economy
}

func (p costOptions) measure(ctx context.Context, s *screen) (r costs, err error) {
	tools, err := toolsOf(ctx)
	if err != nil {
		return r, err
	}
	all := contenders(tools, p.cache)
	r = costs{Turns: p.turns, Cache: p.cache.kind, Channels: []channelCost{
		{Name: "a busy channel"},
		{Name: "a quarter of the turns follow a pause of 30 minutes"},
	}}
	var done atomic.Int64
	work := len(r.Channels) * len(all) * p.turns
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range r.Channels {
		channel := &r.Channels[i]
		turns := talk(p.turns, 1, i == 1)
		channel.Requests, channel.Said = measure(turns)
		channel.Rows = make([]row, len(all))
		for j, with := range all {
			group.Go(func() (err error) {
				channel.Rows[j], err = with.price(ctx, turns, p.cache, func() {
					s.progress("%3d %%  %s: %s", int(done.Add(1))*100/work, channel.Name, with.name)
				})
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return r, err
	}
	p.judge(&r)
	return r, nil
}

// costGoals are the limits of the input with economy, in millions of tokens, for each kind of
// channel. They apply to the default conversation: no flag but --cache is set.
var costGoals = map[string][2]float64{llm.CachePrefix: {24, 44}, llm.CacheBreakpoints: {26, 52}}

func (p costOptions) judge(r *costs) {
	goals, ok := costGoals[p.cache.kind]
	if !ok || p.turns != 2000 {
		return
	}
	for i, channel := range r.Channels {
		at := slices.IndexFunc(channel.Rows, func(r row) bool { return r.Strategy == economical })
		name := economical + ": millions of tokens, " + []string{"busy", "pauses"}[i]
		r.Targets = append(r.Targets, atMost(name, channel.Rows[at].Input/1e6, goals[i]))
	}
}

// price runs one conversation with one strategy.
func (with contender) price(ctx context.Context, turns []turn, rule cacheRule, progress func()) (r row, err error) {
	c := &clock{t: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)}
	meter := newMeter(c, rule)
	s, err := with.open(ctx, c, meter)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r, err = run(ctx, s, c, turns, meter, progress)
	if err != nil {
		err = fmt.Errorf("%s: %w", with.name, err)
	}
	r.Strategy = with.name
	r.Window = with.window
	return r, err
}

// toolsOf returns the bot's tools in a conversation.
func toolsOf(ctx context.Context) ([]llm.Tool, error) {
	e, err := newEngine(ctx, &clock{}, fullWindow, compactor.DefaultPolicy(), cacheRule{kind: llm.CachePrefix, ttl: cacheTTL})
	if err != nil {
		return nil, err
	}
	return e.tools, e.close()
}

// measure counts the requests of a conversation, and the tokens of its messages.
func measure(turns []turn) (requests, n int) {
	for _, t := range turns {
		requests++
		if t.looked != "" {
			requests++
		}
		n += tokens.Estimate(t.question.text) + tokens.Estimate(t.looked) + tokens.Estimate(t.answer)
		for _, m := range t.overheard {
			n += tokens.Estimate(m.text)
		}
	}
	return requests, n
}
