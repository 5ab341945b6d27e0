package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/testkit/check"
)

var byPrefix = cacheRule{kind: llm.CachePrefix, ttl: cacheTTL}

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
	t.Parallel()
	const window = 14_000
	tools := check.Must(toolsOf(t.Context()))(t)
	all := []contender{
		{"Cairn", window, func(ctx context.Context, c *clock, _ *meter) (strategy, error) {
			return newEngine(ctx, c, window, compactor.DefaultPolicy(), byPrefix)
		}},
		{"sliding", window, func(_ context.Context, c *clock, _ *meter) (strategy, error) {
			return sliding{newList(c, tools, false), window}, nil
		}},
		{"everything", window, func(_ context.Context, c *clock, turns *meter) (strategy, error) {
			return everything{newList(c, tools, false), 10_500, turns, rand.New(rand.NewPCG(1, 3))}, nil
		}},
	}
	turns := talk(26, 0.7, false)
	rows := []row{}
	want, _ := measure(turns)
	for _, with := range all {
		watched := with
		requests := 0
		last := llm.Request{}
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
		rows = append(rows, r)
		check.That(t, requests == want && r.Turns.Requests == want, "%s: %d requests were sent and %d charged, the conversation has %d", with.name, requests, r.Turns.Requests, want)
		check.Contains(t, with.name+": the last request", flat(last), turns[25].question.text)
		check.That(t, last.Messages[len(last.Messages)-1].Role != llm.RoleAssistant, "%s: the last request asks nothing", with.name)
	}
	c := rows[0]
	slides := rows[1]
	sums := rows[2]
	check.That(t, c.Worker.Requests >= 4 && c.Turns.Rewrites >= 3, "the window was not passed, or the worker costs nothing: %+v", c)
	check.That(t, 5*slides.Input >= 7*c.Input && slides.Worker.Requests == 0, "a sliding window does not cost most: %+v\nCairn %+v", slides, c)
	check.That(t, sums.Worker.Requests > 0 && sums.Least < c.Least && sums.Turns.Rewrites >= 2, "summing up everything does not keep least: %+v\nCairn %+v", sums, c)
	again := check.Must(all[0].price(t.Context(), turns, byPrefix, func() {}))(t)
	check.That(t, costsTheSame(again, c), "the same conversation costs\n%+v, before\n%+v", again, c)
}

// costsTheSame allows for what a worker reads of what was said behind its span: that is more or
// less of the running turn, as the worker begins beside it.
func costsTheSame(a, b row) bool {
	near := math.Abs(a.Total-b.Total) < b.Total/1000
	a.Worker = b.Worker
	a.Input = b.Input
	a.Total = b.Total
	return near && reflect.DeepEqual(a, b)
}

// The engine goes by the conversation's clock: what is ready is shown behind a pause.
func TestCairnUsesPauses(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	const window = 14_000
	cold := func(pauses bool, change func(p *compactor.Policy)) (changes int) {
		policy := compactor.DefaultPolicy()
		change(&policy)
		turns := talk(18, 0.7, pauses)
		with := contender{"Cairn", window, func(ctx context.Context, c *clock, _ *meter) (strategy, error) {
			s, err := newEngine(ctx, c, window, policy, byPrefix)
			head := ""
			at := c.now()
			return observed{s, func(req llm.Request) {
				above, _, found := strings.Cut(flat(req), "</kept>")
				if !found {
					above = ""
				}
				if above != head && c.now().Sub(at) >= cacheTTL {
					changes++
				}
				head = above
				at = c.now()
			}}, err
		}}
		check.NoError(t, check.ErrorOf(with.price(t.Context(), turns, byPrefix, func() {})))
		return changes
	}
	busy := cold(false, func(*compactor.Policy) {})
	pausing := cold(true, func(*compactor.Policy) {})
	once := cold(true, atOnce)
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
	steady := talk(400, 1, false)
	pausing := talk(400, 1, true)
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
	t.Parallel()
	c, _ := ranAs[costs](t, "cost", "--turns", "1")
	check.That(t, len(c.Channels) == 2 && len(c.Channels[1].Rows) == 9 && c.Channels[1].Rows[8].Input != 0, "%+v", c)
}

var cachedWords = strings.Repeat("what somebody said before. ", 100)

func spoken(role llm.Role, name string) llm.Message {
	return llm.Message{Role: role, Text: name + " " + cachedWords}
}

// TestCacheRules prices requests that go on in ways that the rules tell apart.
func TestCacheRules(t *testing.T) {
	system := spoken(llm.RoleSystem, "system")
	question := spoken(llm.RoleUser, "question")
	answer := spoken(llm.RoleAssistant, "answer")
	next := spoken(llm.RoleUser, "next")
	begins := []llm.Message{system, question}
	goesOn := []llm.Message{system, question, answer, next}
	beginsWithNow := []llm.Message{system, {Role: llm.RoleUser, Text: question.Text + "\n\n<now>it is nine</now>"}}
	beginsOtherwise := []llm.Message{spoken(llm.RoleSystem, "other"), question, answer}
	each := tokens.Estimate(cachedWords) // of a message, about
	for _, c := range []struct {
		claim, rule               string
		first, second             []llm.Message
		pause                     time.Duration
		cached, written, uncached int // messages of the second request
	}{
		{"an extension is read up to the end of the request before", llm.CacheBreakpoints, begins, goesOn, time.Minute, 2, 2, 0},
		{"of a last message that has changed only the head is read", llm.CacheBreakpoints, beginsWithNow, goesOn, time.Minute, 1, 3, 0},
		{"nothing is read where the head has changed", llm.CacheBreakpoints, begins, beginsOtherwise, time.Minute, 0, 3, 0},
		{"nothing is read when the time is up", llm.CacheBreakpoints, begins, goesOn, cacheTTL, 0, 4, 0},
		{"an extension is read with the answer", llm.CacheUnits, begins, goesOn, time.Minute, 3, 0, 1},
		{"a part of the request before is not read", llm.CacheUnits, beginsWithNow, goesOn, time.Minute, 0, 0, 4},
		{"nothing is read when the time is up", llm.CacheUnits, begins, goesOn, cacheTTL, 0, 0, 4},
		{"the last message is read as far as it is the same", llm.CachePrefix, beginsWithNow, goesOn, time.Minute, 2, 0, 2},
		{"nothing is read when the time is up", llm.CachePrefix, begins, goesOn, cacheTTL, 0, 0, 4},
		{"nothing is read of a request that begins otherwise", llm.CachePrefix, begins, beginsOtherwise, time.Minute, 0, 0, 3},
	} {
		clock := &clock{t: time.Unix(0, 0).Add(24 * time.Hour)}
		till := newMeter(clock, cacheRule{kind: c.rule, ttl: cacheTTL})
		till.charge(llm.Request{Messages: c.first, Head: 1}, "")
		before := till.bill
		clock.pass(c.pause)
		till.charge(llm.Request{Messages: c.second, Head: 1}, "")
		got := [3]int{till.bill.Cached - before.Cached, till.bill.Written - before.Written, till.bill.Uncached - before.Uncached}
		for i, messages := range []int{c.cached, c.written, c.uncached} {
			off := got[i] - messages*each
			check.That(t, -60 <= off && off <= 60, "%s: %s: read, written and neither are %d tokens; want %d, %d and %d messages of %d", c.rule, c.claim, got, c.cached, c.written, c.uncached, each)
		}
	}
	// A token read counts a tenth, one written to the cache one and a quarter, one of an answer four.
	b := bill{Uncached: 100, Cached: 1000, Written: 1000, Output: 10}
	check.Equal(t, "input", b.input(), 1450)
	check.Equal(t, "output", b.output(), 40)
	// A request that begins otherwise is a rewrite, one that goes on is none.
	till := newMeter(&clock{t: time.Unix(0, 0).Add(24 * time.Hour)}, cacheRule{kind: llm.CachePrefix, ttl: cacheTTL})
	for i, messages := range [][]llm.Message{begins, {system, question, answer}, {next, system, question}} {
		till.charge(llm.Request{Messages: messages}, "yes")
		check.Equal(t, "rewrites", till.bill.Rewrites, []int{1, 1, 2}[i])
	}
}

// The real engine's requests are priced, so that a layout in which each request extends
// the one before is seen to be cheaper.
func TestBreakpointsPriceTheEnginesRequests(t *testing.T) {
	check.SkipUnderRace(t)
	rule := cacheRule{kind: llm.CacheBreakpoints, ttl: cacheTTL}
	turns := talk(15, 0.7, false)
	requests, _ := measure(turns)
	for i, with := range contenders(check.Must(toolsOf(t.Context()))(t), rule) {
		if i == 0 || with.name == "sliding window" {
			r := check.Must(with.price(t.Context(), turns, rule, func() {}))(t).Turns
			check.That(t, r.Requests == requests && r.Written > 0 && r.Cached > 0 && r.Uncached == 0, "%s: %+v of %d requests", with.name, r, requests)
		}
	}
}
