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
	"cairn/channel/access"
	"cairn/channel/task"
	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

var randomRuns = flag.Int("random-runs", 2, "how often random acts run, each time with others")

// scene is a rig with three conversations, in which people do anything at any time.
type scene struct {
	*rig
	mu     sync.Mutex // guards random
	random *rand.Rand
	places map[string]string // of messages, by id
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
	ofTurn := func(m llm.Message) bool { return m.Role != llm.RoleAssistant || len(m.Calls) > 0 }
	for said := len(req.Messages); said > 0 && ofTurn(req.Messages[said-1]); said-- { // messages that came with the outcome, or during the turn, may follow it
		if text := req.Messages[said-1].Text; strings.Contains(text, "[Result of task ") || strings.Contains(text, "[Task ") {
			what = "outcome "
		}
	}
	return llmtest.Say(fmt.Sprint(what, n, strings.Repeat(" word", s.dice(60)))), nil
}

func (s *scene) act() {
	at := actPlaces[s.dice(len(actPlaces))]
	lines := []string{"/new", "/compact", "/undo", "/stop", "/ask @one do it", "/forget me yes"}
	switch k := s.dice(24); {
	case k < 10:
		m := s.inbound("message"+strings.Repeat(" word", s.dice(80)), s.dice(2) == 0)
		if s.dice(2) == 0 {
			m = by("u2", "Bo", m)
		}
		m.Thread = strings.HasSuffix(at, "/thread")
		m.Steers = s.dice(3) == 0
		s.ids = append(s.ids, m.ID)
		s.places[m.ID] = at
		check.Must(s.hub.Deliver(s.t.Context(), at, m))(s.t)
	case k < 14 && len(s.ids) > 0: // one of the newest messages changes
		id := s.ids[max(len(s.ids)-1-s.dice(6), 0)]
		if k == 13 {
			check.NoError(s.t, s.hub.Edit(s.t.Context(), s.places[id], channel.Inbound{ID: id, Text: "edited words", Time: time.Now()}))
		} else {
			check.NoError(s.t, s.hub.Delete(s.t.Context(), s.places[id], id))
		}
	case 14 <= k && k < 14+len(lines):
		s.runAs(access.Person{ID: []string{"u1", "u2"}[s.dice(2)], Name: "Ada", Manager: true}, at, lines[k-14])
	case k == 20 && s.paused[at]:
		check.NoError(s.t, s.hub.Operator().Resume(s.t.Context(), at))
		s.paused[at] = false
	case k == 20:
		check.NoError(s.t, s.hub.Operator().Pause(s.t.Context(), at, ada))
		s.paused[at] = true
	case k == 21:
		s.restart()
	case k == 22:
		check.NoError(s.t, s.store.Upkeep().Vacuum(s.t.Context()))
	default:
		time.Sleep(time.Duration(s.dice(40)) * time.Millisecond)
	}
}

// Whatever people do: no conversation gets stuck, every task ends, nothing is answered twice, doctor finds nothing.
func TestRandomActs(t *testing.T) {
	for range *randomRuns {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, r *rig) {
				s := &scene{rig: r, random: rand.New(rand.NewPCG(seed, 1)), places: map[string]string{}, paused: map[string]bool{}}
				s.actRandomly(t)
			})
		})
	}
}

func (s *scene) actRandomly(t *testing.T) {
	s.rig.model.Func = s.model
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
	s.withTasks(map[string]channel.Agent{"one": {Model: one, Worker: s.agent.Worker, Spawn: []string{"one"}, Tasks: task.Limits{Calls: 20}}})
	for range 100 {
		time.Sleep(time.Duration(s.dice(10)) * time.Millisecond) // models answer meanwhile
		s.act()
	}
	for _, at := range actPlaces {
		check.NoError(t, s.hub.Operator().Resume(t.Context(), at))
	}
	s.drainTasks(func(int) {})
	for _, at := range actPlaces {
		s.waitIdle(at)
	}
	check.Equal(t, "stuck conversations", s.hub.Stats().Stuck, 0)
	check.Len(t, "open tasks", check.Must(s.store.OpenTasks(t.Context()))(t), 0)
	check.Len(t, "findings", check.Must(s.store.Upkeep().Check(t.Context()))(t), 0)
	s.wantAnsweredOnce(func(p channel.Piece) bool { // an outcome goes to the person who requested the task
		return p.Part == 0 && !p.Failure && !strings.HasPrefix(p.Text, "outcome ")
	})
}

// wantAnsweredOnce checks that no message has two answers, and returns those that have one.
func (r *rig) wantAnsweredOnce(counts func(channel.Piece) bool) map[string]bool {
	r.t.Helper()
	answered := map[string]bool{}
	for _, p := range r.connector.sent {
		for _, id := range p.To {
			check.That(r.t, !counts(p) || !answered[id], "%s was answered twice", id)
			answered[id] = answered[id] || counts(p)
		}
	}
	return answered
}

// chatter is a platform whose people write, edit and delete, connected to the bot or not.
type chatter struct {
	*rig
	*platform
	random    *rand.Rand
	start     time.Time
	connected bool
}

// People write while the bot comes and goes: in the end the transcript matches what the platform shows.
func TestTranscriptMatchesPlatform(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inBubble(t, after(time.Millisecond, echo), func(t *testing.T, r *rig) {
				c := &chatter{rig: r, platform: &platform{pageSize: 3}, random: rand.New(rand.NewPCG(seed, 1)), start: time.Now(), connected: true}
				c.complete = func(m channel.Inbound) (channel.Inbound, error) {
					time.Sleep(500 * time.Microsecond)
					m.Author = "Ada Full"
					return m, nil
				}
				c.throughConnector(c.platform)
				for i := range 100 {
					time.Sleep(time.Duration(c.random.IntN(1000)) * time.Microsecond)
					c.act(i)
				}
				c.reconnect()
				c.waitForReplies()
				c.waitForReplies()
				c.wantEachOnce()
				answered := c.wantAnsweredOnce(func(channel.Piece) bool { return true })
				for _, m := range c.platform.messages {
					check.That(t, !m.Addressed || answered[m.ID], "%s: got no reply", m.ID)
				}
				check.Lacks(t, "sent", texts(c.rig.connector.texts()), "disk")
			})
		})
	}
}

func (c *chatter) act(i int) {
	switch k := c.random.IntN(20); {
	case k < 12:
		m := channel.Inbound{
			ID: fmt.Sprint(1000 + i), AuthorID: fmt.Sprint(i % 3), Author: "Ada", Text: fmt.Sprintf("text %d", 1000+i),
			Time: c.start.Add(time.Duration(i) * time.Millisecond), Addressed: c.random.IntN(3) == 0, Incomplete: c.random.IntN(3) == 0,
		}
		c.note(func() { c.messages = append(c.messages, m) })
		if c.connected {
			c.deliverMessage(m)
		}
	case k < 17 && len(c.messages) > 0: // one of the five newest messages changes; the bot never hears of deletions while it is away
		at := len(c.messages) - 1 - c.random.IntN(min(len(c.messages), 5))
		m := c.messages[at]
		if k < 15 {
			m.Text = fmt.Sprintf("edited %s %d", m.ID, i)
			c.note(func() { c.messages[at].Text = m.Text })
			m.Time = c.start.Add(time.Hour + time.Duration(i)*time.Millisecond)
			if c.connected {
				check.NoError(c.t, c.hub.Edit(c.t.Context(), place, m))
			}
		} else if c.connected {
			c.note(func() { c.messages = slices.Concat(c.messages[:at], c.messages[at+1:]) })
			check.NoError(c.t, c.hub.Delete(c.t.Context(), place, m.ID))
		}
	case k == 17 && c.connected:
		c.connected = false
	case k == 17:
		c.reconnect()
	case k == 18:
		time.Sleep(time.Duration(c.random.IntN(4000)) * time.Microsecond)
	}
}

func (c *chatter) reconnect() {
	c.away()
	check.NoError(c.t, c.hub.CatchUp(c.t.Context(), place, "1"))
	c.connected = true
}

func (c *chatter) wantEachOnce() {
	have := map[string]int{}
	for _, line := range c.transcript() {
		have[strings.TrimPrefix(line, "user: ")]++
	}
	for _, m := range c.messages {
		n := have[m.Text]
		for text, k := range have { // the bot does not read edits of known messages that were made while it was away
			if n == 0 && strings.HasPrefix(m.Text, "edited") && (text == "text "+m.ID || strings.HasPrefix(text, "edited "+m.ID)) {
				n = k
			}
		}
		check.That(c.t, n == 1, "%s %q: got %d copies, want 1", m.ID, m.Text, n)
	}
}
