package channel_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

var randomRuns = flag.Int("random-runs", 2, "how often random acts run, each time with others")

// scene is a rig with three conversations, in which people do anything at any time.
type scene struct {
	*rig
	mu     sync.Mutex // guards random
	random *rand.Rand
	said   map[string]string // where, by id
	ids    []string
	paused map[string]bool
}

var actPlaces = []string{place, place + "/thread", "test:server/other"}

func (s *scene) dice(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// model answers, fails, calls tools and starts tasks.
func (s *scene) model(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
	time.Sleep(time.Duration(s.dice(15)) * time.Millisecond)
	tools := []llm.Call{
		llmtest.Call(fmt.Sprint(n), "recall", map[string]any{"query": "word"}),
		llmtest.Call(fmt.Sprint(n), "memory_save", map[string]any{"content": fmt.Sprint("fact number ", n), "kind": "fact"}),
		llmtest.Call(fmt.Sprint(n), "context", map[string]any{"op": "compact"}),
		llmtest.Call(fmt.Sprint(n), "spawn", map[string]any{"agent": "one", "task": fmt.Sprint("look after ", n)}),
	}
	switch k := s.dice(12); {
	case ctx.Err() != nil:
		return llm.Response{}, ctx.Err()
	case k == 0:
		return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "busy"}
	case k <= len(tools) && len(req.Tools) >= 6:
		return llmtest.Use(tools[k-1]), nil
	}
	what := "answer "
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == llm.RoleUser {
			if strings.Contains(m.Text, "[Result of task ") || strings.Contains(m.Text, "[Task ") {
				what = "outcome "
			}
			break
		}
	}
	return llmtest.Say(fmt.Sprint(what, n, strings.Repeat(" word", s.dice(60)))), nil
}

func (s *scene) say(at string) {
	m := s.inbound("message"+strings.Repeat(" word", s.dice(80)), s.dice(2) == 0)
	if s.dice(2) == 0 {
		m = by("u2", "Bo", m)
	}
	m.Thread = strings.HasSuffix(at, "/thread")
	s.ids, s.said[m.ID] = append(s.ids, m.ID), at
	check.Must(s.hub.Deliver(s.t.Context(), at, m))(s.t)
}

// change edits or deletes one of the newest messages.
func (s *scene) change(remove bool) {
	if len(s.ids) == 0 {
		return
	}
	id := s.ids[max(len(s.ids)-1-s.dice(6), 0)]
	if remove {
		check.NoError(s.t, s.hub.Delete(s.t.Context(), s.said[id], id))
	} else {
		check.NoError(s.t, s.hub.Edit(s.t.Context(), s.said[id], channel.Inbound{ID: id, Text: "edited words", Time: time.Now()}))
	}
}

func (s *scene) pauseOrResume(at string) {
	do := func(ctx context.Context, at string) error { return s.hub.Operator().Pause(ctx, at, "Ada") }
	if s.paused[at] {
		do = s.hub.Operator().Resume
	}
	check.NoError(s.t, do(s.t.Context(), at))
	s.paused[at] = !s.paused[at]
}

func (s *scene) act() {
	at := actPlaces[s.dice(len(actPlaces))]
	lines := []string{"/new", "/compact", "/undo", "/stop", "/ask @one do it", "/forget me yes"}
	switch k := s.dice(24); {
	case k < 10:
		s.say(at)
	case k < 14:
		s.change(k < 13)
	case k < 14+len(lines):
		s.runAs(channel.Person{ID: []string{"u1", "u2"}[s.dice(2)], Name: "Ada", Manager: true}, at, lines[k-14])
	case k == 20:
		s.pauseOrResume(at)
	case k == 21:
		s.restart()
	case k == 22:
		check.NoError(s.t, s.store.Upkeep().Vacuum(s.t.Context()))
	default:
		time.Sleep(time.Duration(s.dice(40)) * time.Millisecond)
	}
}

// Whatever people do, in whatever order: no conversation gets stuck, every task ends, nothing is
// answered twice, and doctor finds nothing.
func TestRandomActs(t *testing.T) {
	for range *randomRuns {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := &scene{random: rand.New(rand.NewPCG(seed, 1)), said: map[string]string{}, paused: map[string]bool{}}
			s.rig = newRig(t, s.model)
			s.rig.model.Tokens = 6000
			j := s.captureLog()
			defer func() {
				if t.Failed() {
					t.Log(j.String())
				}
			}()
			s.setFilePolicy(func(p *compactor.Policy) { p.KeepLastN = 4 })
			s.agent.Worker = &llmtest.Model{Label: "worker", Tokens: 6000, Func: s.model}
			one := &llmtest.Model{Label: "one", Tokens: 6000, Func: s.model}
			s.withTasks(map[string]channel.Agent{"one": {Model: one, Worker: s.agent.Worker, Spawn: []string{"one"}, TaskCalls: 20}})
			for range 100 {
				s.act()
			}
			for _, at := range actPlaces {
				check.NoError(t, s.hub.Operator().Resume(t.Context(), at))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s.drainTasks(func(int) {})
			for _, at := range actPlaces {
				check.NoError(t, s.hub.Idle(ctx, at))
			}
			check.Equal(t, "stuck conversations", s.hub.Stats().Stuck, 0)
			check.Len(t, "open tasks", check.Must(s.store.OpenTasks(ctx))(t), 0)
			check.Len(t, "findings", check.Must(s.store.Upkeep().Check(ctx))(t), 0)
			answered := map[string]int{}
			for _, p := range s.connector.sent {
				if p.Part > 0 || p.Failure || strings.HasPrefix(p.Text, "outcome ") { // an outcome is told to who asked for the task
					continue
				}
				for _, id := range p.To {
					if answered[id]++; answered[id] > 1 {
						t.Errorf("%s was answered twice", id)
					}
				}
			}
		})
	}
}
