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

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"cairn/compactor"
	"cairn/llm"
)

// pricing is what `cost` is asked for.
type pricing struct {
	turns int
	seed  uint64
	scale float64
	cache cacheRule
	json  bool
}

func newCost(s *screen) *cobra.Command {
	var p pricing
	cmd := &cobra.Command{
		Use:   "cost",
		Short: "What a long conversation costs, by strategy",
		Long: `Cost has one long conversation with each strategy, over virtual time, and adds up what
its requests would cost where prompts are cached: in a busy channel, and in one where a
quarter of the turns follow a pause.

` + priceHelp + `

` + talkHelp + `

The other strategies are given their cheapest form. A sliding window drops as many of the
oldest messages as must go. "Everything at 100k" asks for one summary of 2000 words
behind the conversation as it stands, which is in the cache then. Cairn's worker saves
6 memories of each span and writes summaries as long as it is asked for. Where the rule is
not prefix, the block beside the last message stays in the others' conversations.

With the conversation that is made by default the input of "Cairn, economy" has a target: with
prefix at most 24 million tokens in the busy channel and 44 in the other, with breakpoints 26
and 52; a run that misses it ends with 3.

` + setHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case p.turns < 1 || p.turns > 100_000:
				return wrongFlag(cmd, "turns", p.turns, "from 1 to 100000")
			case !slices.Contains(caches, p.cache.kind):
				return wrongFlag(cmd, "cache", p.cache.kind, "one of "+strings.Join(caches, ", "))
			case p.cache.ttl < time.Minute || p.cache.ttl > 24*time.Hour:
				return wrongFlag(cmd, "ttl", p.cache.ttl, "from 1m to 24h")
			case !(p.scale >= 0.1 && p.scale <= 10):
				return wrongFlag(cmd, "scale", p.scale, "from 0.1 to 10")
			}
			return p.run(cmd.Context(), s)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&p.turns, "turns", 2000, "`N` turns")
	flags.Uint64Var(&p.seed, "seed", 1, "`N` that the conversation is made of")
	flags.Float64Var(&p.scale, "scale", 1, "`FACTOR` by which all texts are longer")
	flags.StringVar(&p.cache.kind, "cache", cachePrefix, "`RULE` by which prompts are cached: "+strings.Join(caches, ", "))
	flags.DurationVar(&p.cache.ttl, "ttl", cacheTTL, "`TIME` that the cache lives, which Cairn knows")
	flags.BoolVar(&p.json, "json", false, "write JSON")
	return cmd
}

// contender is a strategy by its name.
type contender struct {
	name   string
	window int
	open   func(ctx context.Context, c *clock, turns *till) (strategy, error)
}

const (
	fullWindow   = 128_000
	smallWindow  = 64_000
	everythingAt = 100_000

	economical = "Cairn, economy"
)

// contenders are the strategies in the order in which they are shown. tools are the
// bot's, which the rivals are sent too.
func contenders(tools []llm.Tool, seed uint64, rule cacheRule) []contender {
	cairn := func(name string, window int, policy compactor.Policy) contender {
		policy.CacheTTL = compactor.TTL(rule.ttl)
		return contender{name, window, func(ctx context.Context, c *clock, _ *till) (strategy, error) {
			return newEngine(ctx, c, window, policy, rule)
		}}
	}
	stays := rule.kind != cachePrefix
	set := func(change func(p *compactor.Policy)) compactor.Policy {
		p := compactor.DefaultPolicy()
		change(&p)
		return p
	}
	return []contender{
		cairn("Cairn, defaults", fullWindow, compactor.DefaultPolicy()),
		cairn(economical, fullWindow, set(func(p *compactor.Policy) { p.Economy = true })),
		cairn("Cairn, smaller window", smallWindow, compactor.DefaultPolicy()),
		cairn("Cairn, set for cost", fullWindow, set(forCost)),
		cairn("30 % at 80 %, landed at once", fullWindow, set(atOnce)),
		cairn("Cairn, set to sum up all", fullWindow, set(forAll)),
		{"everything at 100k", fullWindow, func(_ context.Context, c *clock, turns *till) (strategy, error) {
			return everything{newList(c, tools, stays), everythingAt, turns, rand.New(rand.NewPCG(seed, 3))}, nil
		}},
		cairn("Cairn, set to keep most", fullWindow, set(forMost)),
		{"sliding window", fullWindow, func(_ context.Context, c *clock, _ *till) (strategy, error) {
			return sliding{newList(c, tools, stays), fullWindow}, nil
		}},
	}
}

// What Cairn is set to, beside its defaults: what is cheaper, and what comes near to
// each of the others.
func atOnce(p *compactor.Policy) { p.PrepareThreshold = 0 }

func forCost(p *compactor.Policy) { p.Economy, p.PrepareThreshold, p.StackBudget = true, 0.40, 0.05 }

func forAll(p *compactor.Policy) {
	p.PrepareThreshold, p.BackgroundThreshold, p.BackgroundFraction = 0, 0.74, 0.90
	p.StackBudget, p.TailTokens = 0.02, 500
}

func forMost(p *compactor.Policy) {
	p.BackgroundThreshold, p.AggressiveThreshold, p.EmergencyThreshold = 0.98, 0.985, 0.99
	p.BackgroundFraction, p.AggressiveFraction, p.EmergencyFraction = 0.10, 0.10, 0.10
	p.PrepareThreshold, p.StackBudget, p.KeepFirst, p.PinBudget = 0, 0.02, 0, 0
}

const setHelp = `Cairn "economy" has economy = true: all summaries made ahead are applied at once. "Set for
cost" has prepare_threshold = 0.40 and stack_budget = 0.05 too. "Set to sum up all", beside "everything at 100k", it has prepare_threshold = 0, background_threshold = 0.74,
background_fraction = 0.90, tail_tokens = 500 and stack_budget = 0.02. "Set to keep most",
beside the sliding window, it has prepare_threshold = 0, the levels at 0.98, 0.985 and 0.99,
each with a fraction of 0.10, stack_budget = 0.02, keep_first = 0 and pin_budget = 0.`

// channelCost is what all strategies cost in one kind of channel.
type channelCost struct {
	Name     string `json:"name"`
	Requests int    `json:"requests"`
	Said     int    `json:"said"` // tokens of all messages together
	Rows     []row  `json:"strategies"`
}

// costs is the whole result.
type costs struct {
	Turns    int           `json:"turns"`
	Seed     uint64        `json:"seed"`
	Scale    float64       `json:"scale"`
	Cache    string        `json:"cache"`
	TTL      float64       `json:"cache_ttl_minutes"`
	Channels []channelCost `json:"channels"`
	Targets  []goal        `json:"targets,omitempty"` // of economy
}

func (p pricing) run(ctx context.Context, s *screen) error {
	defer s.done()
	tools, err := toolsOf(ctx)
	if err != nil {
		return err
	}
	all := contenders(tools, p.seed, p.cache)
	result := costs{Turns: p.turns, Seed: p.seed, Scale: p.scale, Cache: p.cache.kind, TTL: p.cache.ttl.Minutes(), Channels: []channelCost{
		{Name: "a busy channel"},
		{Name: "a quarter of the turns follow a pause of 30 minutes"},
	}}
	var done atomic.Int64
	work := len(result.Channels) * len(all) * p.turns
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range result.Channels {
		channel := &result.Channels[i]
		turns := talk(p.turns, p.seed, p.scale, i == 1)
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
		return err
	}
	s.done()
	p.judge(&result)
	if p.json {
		err = s.json(result)
	} else {
		_, err = fmt.Fprint(s.out, result.table(s))
	}
	return errors.Join(err, unmet(result.Targets))
}

// price has one conversation with one strategy.
func (with contender) price(ctx context.Context, turns []turn, rule cacheRule, progress func()) (r row, err error) {
	c := &clock{t: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)}
	till := newTill(c, rule)
	s, err := with.open(ctx, c, till)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r, err = run(ctx, s, c, turns, till, progress)
	if err != nil {
		err = fmt.Errorf("%s: %w", with.name, err)
	}
	r.Strategy, r.Window = with.name, with.window
	return r, err
}

// toolsOf are the tools the bot has in a conversation.
func toolsOf(ctx context.Context) ([]llm.Tool, error) {
	e, err := newEngine(ctx, &clock{}, fullWindow, compactor.DefaultPolicy(), cacheRule{kind: cachePrefix, ttl: cacheTTL})
	if err != nil {
		return nil, err
	}
	return e.tools, e.close()
}

// measure counts the requests of a conversation, and the tokens that are said.
func measure(turns []turn) (requests, tokens int) {
	for _, t := range turns {
		requests++
		if t.looked != "" {
			requests++
		}
		tokens += compactor.Estimate(t.question.text) + compactor.Estimate(t.looked) + compactor.Estimate(t.answer)
		for _, m := range t.overheard {
			tokens += compactor.Estimate(m.text)
		}
	}
	return requests, tokens
}

const (
	nameWidth = 29
	barWidth  = 24
)

// table is the result as people read it.
func (c costs) table(s *screen) string {
	var b strings.Builder
	millions := func(v float64) string { return fmt.Sprintf("%.1f", v/1e6) }
	most := 0.0
	for _, channel := range c.Channels {
		for _, r := range channel.Rows {
			most = max(most, r.Input)
		}
	}
	fmt.Fprintf(&b, "cache: %s, for %g minutes\n\n", c.Cache, c.TTL)
	for _, channel := range c.Channels {
		fmt.Fprintf(&b, "%s  %s turns, %s requests, %s million tokens said\n\n", s.paint(bold, channel.Name),
			thousands(c.Turns), thousands(channel.Requests), millions(float64(channel.Said)))
		heading := left("", nameWidth) + right("window", 8) + right("turns", 8) + right("worker", 8) + right("input", 8) +
			"  " + left("", barWidth) + right("output", 8) + right("total", 8) + right("head", 7) + right("verbatim", 10) + right("least", 7) + right("rewrites", 10)
		b.WriteString(s.paint(dim, heading) + "\n")
		for _, r := range channel.Rows {
			name := left(r.Strategy, nameWidth)
			if strings.HasPrefix(name, "Cairn") {
				name = s.paint(bold, name)
			}
			b.WriteString(name + right(fmt.Sprintf("%dk", r.Window/1000), 8) + right(millions(r.Turns.input()), 8) + right(millions(r.Worker.input()), 8) +
				s.paint(bold, right(millions(r.Input), 8)) + "  " + s.paint(cyan, left(bar(r.Input, most, barWidth), barWidth)) +
				right(millions(r.Output), 8) + right(millions(r.Total), 8) +
				right(fmt.Sprintf("%.0fk", r.Head/1000), 7) + right(fmt.Sprintf("%.0fk", r.Verbatim/1000), 10) + right(fmt.Sprintf("%.0fk", float64(r.Least)/1000), 7) + right(fmt.Sprint(r.Turns.Rewrites), 10) + "\n")
		}
		b.WriteString("\n")
	}
	b.WriteString(`turns, worker, input, output, total: millions of tokens of uncached input; one read from the cache counts 0.1, one
  written to it 1.25 where the rule is breakpoints, one of an answer 4
head, verbatim: tokens of a request that are summaries, and messages word for word, in the mean
least: the fewest verbatim, once a request was rewritten
rewrites: requests that share less than half with the one before
`)
	for i, g := range c.Targets {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(verdict(s, g) + "\n")
	}
	return b.String()
}
