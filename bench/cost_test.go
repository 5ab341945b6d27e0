package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/promptcache"
	"cairn/internal/tokens"
	"cairn/llm"
)

var byPrefix = promptcache.Rule{Kind: llm.CachePrefix, TTL: cacheTTL}

// observed looks at each request of a strategy.
type observed struct {
	strategy
	see func(req llm.Request)
}

func (o observed) request(ctx context.Context) (view, error) {
	v, err := o.strategy.request(ctx)
	if err == nil {
		o.see(v.req)
	}
	return v, err
}

func TestStrategies(t *testing.T) {
	check.SkipUnderRace(t)
	const window = 20_000
	tools := check.Must(toolsOf(t.Context()))(t)
	cairn := contender{"Cairn", window, func(ctx context.Context, c *clock, _ *meter) (strategy, error) {
		return newEngine(ctx, c, window, compactor.DefaultPolicy(), byPrefix)
	}}
	slide := contender{"sliding", window, func(_ context.Context, c *clock, _ *meter) (strategy, error) {
		return sliding{newList(c, tools, false), window}, nil
	}}
	all := contender{"everything", window, func(_ context.Context, c *clock, turns *meter) (strategy, error) {
		return everything{newList(c, tools, false), 15_000, turns, rand.New(rand.NewPCG(1, 3))}, nil
	}}
	turns := talk(36, 0.7, false)
	rows := map[string]row{}
	for _, with := range []contender{cairn, slide, all} {
		watched := with
		requests, last := 0, llm.Request{}
		watched.open = func(ctx context.Context, c *clock, till *meter) (strategy, error) {
			s, err := with.open(ctx, c, till)
			return observed{s, func(req llm.Request) {
				requests++
				last = req
				most := window - window/8 // beside the reply
				check.That(t, tokens.Estimate(flat(req)) <= most, "%s: request %d has %d tokens of %d", with.name, requests, tokens.Estimate(flat(req)), most)
			}}, err
		}
		r := check.Must(watched.price(t.Context(), turns, byPrefix, func() {}))(t)
		rows[with.name] = r
		want, _ := measure(turns)
		check.That(t, requests == want && r.Turns.Requests == want, "%s: %d requests were sent and %d charged, the conversation has %d", with.name, requests, r.Turns.Requests, want)
		check.Contains(t, with.name+": the last request", flat(last), turns[35].question.text)
		check.That(t, last.Messages[len(last.Messages)-1].Role != llm.RoleAssistant, "%s: the last request asks nothing", with.name)
	}
	c, slides, sums := rows["Cairn"], rows["sliding"], rows["everything"]
	check.That(t, c.Worker.Requests >= 4 && c.Turns.Rewrites >= 3, "the window was not passed, or the worker costs nothing: %+v", c)
	check.That(t, slides.Input >= 2*c.Input && slides.Worker.Requests == 0, "a sliding window does not cost most: %+v\nCairn %+v", slides, c)
	check.That(t, sums.Worker.Requests > 0 && sums.Least < c.Least && sums.Turns.Rewrites >= 2, "summing up everything does not keep least: %+v\nCairn %+v", sums, c)
	again := check.Must(cairn.price(t.Context(), turns, byPrefix, func() {}))(t)
	check.That(t, costsTheSame(again, c), "the same conversation costs\n%+v, before\n%+v", again, c)
}

// costsTheSame allows for what a worker reads of what was said behind its span: that is more or
// less of the running turn, as the worker begins beside it.
func costsTheSame(a, b row) bool {
	near := math.Abs(a.Total-b.Total) < b.Total/1000
	a.Worker, a.Input, a.Total = b.Worker, b.Input, b.Total
	return near && reflect.DeepEqual(a, b)
}

// The engine goes by the conversation's clock: what is ready is shown behind a pause.
func TestCairnUsesPauses(t *testing.T) {
	check.SkipUnderRace(t)
	const window = 20_000
	cold := func(pauses bool, change func(p *compactor.Policy)) (changes int) {
		policy := compactor.DefaultPolicy()
		change(&policy)
		turns := talk(24, 0.7, pauses)
		with := contender{"Cairn", window, func(ctx context.Context, c *clock, _ *meter) (strategy, error) {
			s, err := newEngine(ctx, c, window, policy, byPrefix)
			head, at := "", c.now()
			return observed{s, func(req llm.Request) {
				above, _, found := strings.Cut(flat(req), "</kept>")
				if !found {
					above = ""
				}
				if above != head && c.now().Sub(at) >= cacheTTL {
					changes++
				}
				head, at = above, c.now()
			}}, err
		}}
		check.NoError(t, check.ErrorOf(with.price(t.Context(), turns, byPrefix, func() {})))
		return changes
	}
	none := func(*compactor.Policy) {}
	busy, pausing, once := cold(false, none), cold(true, none), cold(true, atOnce)
	check.That(t, busy == 0 && pausing >= 3 && pausing > once,
		"the head changed %d times behind a pause where there is none, %d times where there are, %d times if nothing is made ahead", busy, pausing, once)
}

func TestWhatCairnIsSetToIsAllowed(t *testing.T) {
	for i, change := range []func(p *compactor.Policy){atOnce, forCost, forAll, forMost} {
		policy := compactor.DefaultPolicy()
		change(&policy)
		check.Len(t, fmt.Sprint("faults of setting ", i), policy.Validate(), 0)
	}
}

func TestTalk(t *testing.T) {
	check.That(t, reflect.DeepEqual(talk(50, 1, false), talk(50, 1, false)), "two conversations are made")
	steady, pausing := talk(400, 1, false), talk(400, 1, true)
	pauses := 0
	for i := range steady {
		check.Require(t, steady[i].question == pausing[i].question, "turn %d: pauses change what is said", i)
		check.That(t, steady[i].gap < cacheTTL, "turn %d of the busy channel follows %v of silence", i, steady[i].gap)
		if pausing[i].gap >= cacheTTL {
			pauses++
		}
	}
	check.That(t, pauses >= 70 && pauses <= 130, "%d of 400 turns follow a pause, want about 100", pauses)
	_, short := measure(talk(200, 1, false))
	_, long := measure(talk(200, 2, false))
	check.That(t, short*17/10 <= long && long <= short*23/10, "twice the length is %d tokens, once %d", long, short)
}

func TestCostCommand(t *testing.T) {
	c, _ := ranAs[costs](t, "cost", "--turns", "3")
	check.That(t, len(c.Channels) == 2 && len(c.Channels[1].Rows) == 9 && c.Channels[1].Rows[8].Input != 0, "%+v", c)
}
