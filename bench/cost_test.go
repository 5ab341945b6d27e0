package main

import (
	"context"
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
	tools, err := toolsOf(t.Context())
	must(t, err)
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
				if tokens := tokens.Estimate(flat(req)); tokens > window-window/8 {
					t.Errorf("%s: request %d has %d tokens, more than the window beside the reply takes", with.name, requests, tokens)
				}
			}}, err
		}
		r, err := watched.price(t.Context(), turns, byPrefix, func() {})
		must(t, err)
		rows[with.name] = r
		want, _ := measure(turns)
		if requests != want || r.Turns.Requests != want {
			t.Errorf("%s: %d requests were sent and %d charged, the conversation has %d", with.name, requests, r.Turns.Requests, want)
		}
		if end := last.Messages[len(last.Messages)-1]; !strings.Contains(flat(last), turns[35].question.text) || end.Role == llm.RoleAssistant {
			t.Errorf("%s: the last request does not ask the last question", with.name)
		}
	}
	t.Run("Cairn's worker costs, and the window was passed", func(t *testing.T) {
		if r := rows["Cairn"]; r.Worker.Requests < 4 || r.Turns.Rewrites < 3 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a sliding window costs most and has no worker", func(t *testing.T) {
		if s := rows["sliding"]; s.Input < 2*rows["Cairn"].Input || s.Worker.Requests != 0 {
			t.Errorf("sliding %+v\nCairn %+v", s, rows["Cairn"])
		}
	})
	t.Run("summing up everything keeps least", func(t *testing.T) {
		if e := rows["everything"]; e.Worker.Requests == 0 || e.Least >= rows["Cairn"].Least || e.Turns.Rewrites < 2 {
			t.Errorf("everything %+v\nCairn %+v", e, rows["Cairn"])
		}
	})
	t.Run("the same conversation costs the same again", func(t *testing.T) {
		for _, with := range []contender{cairn, slide, all} {
			if r, err := with.price(t.Context(), turns, byPrefix, func() {}); err != nil || !costsTheSame(r, rows[with.name]) {
				t.Errorf("%s: %v\n%+v, before\n%+v", with.name, err, r, rows[with.name])
			}
		}
	})
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
		turns := talk(30, 0.7, pauses)
		with := contender{"Cairn", window, func(ctx context.Context, c *clock, _ *meter) (strategy, error) {
			s, err := newEngine(ctx, c, window, policy, byPrefix)
			head, at := "", c.now()
			return observed{s, func(req llm.Request) {
				above, _, _ := strings.Cut(flat(req), "</kept>")
				if !strings.Contains(above, "<kept>") {
					above = ""
				}
				if above != head && c.now().Sub(at) >= cacheTTL {
					changes++
				}
				head, at = above, c.now()
			}}, err
		}}
		if _, err := with.price(t.Context(), turns, byPrefix, func() {}); err != nil {
			t.Fatal(err)
		}
		return changes
	}
	none := func(*compactor.Policy) {}
	busy, pausing, once := cold(false, none), cold(true, none), cold(true, atOnce)
	if busy != 0 || pausing < 3 || pausing <= once {
		t.Errorf("the head changed %d times behind a pause where there is none, %d times where there are, %d times if nothing is made ahead", busy, pausing, once)
	}
}

func TestWhatCairnIsSetToIsAllowed(t *testing.T) {
	for i, change := range []func(p *compactor.Policy){atOnce, forCost, forAll, forMost} {
		policy := compactor.DefaultPolicy()
		change(&policy)
		if errs := policy.Validate(); len(errs) > 0 {
			t.Errorf("setting %d: %v", i, errs[0])
		}
	}
}

func TestTalk(t *testing.T) {
	check.That(t, reflect.DeepEqual(talk(50, 1, false), talk(50, 1, false)), "two conversations are made")
	steady, pausing := talk(400, 1, false), talk(400, 1, true)
	pauses := 0
	for i := range steady {
		check.Require(t, steady[i].question == pausing[i].question, "turn %d: pauses change what is said", i)
		if steady[i].gap >= cacheTTL {
			t.Errorf("turn %d of the busy channel follows %v of silence", i, steady[i].gap)
		}
		if pausing[i].gap >= cacheTTL {
			pauses++
		}
	}
	check.That(t, pauses >= 70 && pauses <= 130, "%d of 400 turns follow a pause, want about 100", pauses)
	_, short := measure(talk(200, 1, false))
	if _, long := measure(talk(200, 2, false)); long < short*17/10 || long > short*23/10 {
		t.Errorf("twice the length is %d tokens, once %d", long, short)
	}
}

func TestCostCommand(t *testing.T) {
	c := ranAs[costs](t, "cost", "--turns", "3")
	check.That(t, len(c.Channels) == 2 && len(c.Channels[1].Rows) == 9 && c.Channels[1].Rows[8].Input != 0, "%+v", c)
}
