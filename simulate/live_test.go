package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/simulate"
	"cairn/store"
)

// live runs a conversation on a hub with a scripted model, one message after the other.
func live(t *testing.T, dir string, agent channel.Agent, said []store.Inbound, asked func(i int) bool) simulate.Recording {
	t.Helper()
	db := check.Must(store.Open(t.Context(), store.Options{Dir: dir}))(t)
	hub := channel.New(channel.Options{Store: db, Connectors: []channel.Connector{channeltest.Silent("terminal")}, Log: discard, Agent: func(string) channel.Agent { return agent }})
	for i, m := range said {
		time.Sleep(time.Minute)
		m.Time, m.Addressed = time.Now(), asked(i)
		check.NoError(t, check.ErrorOf(hub.Deliver(t.Context(), name, m)))
		check.NoError(t, hub.Idle(t.Context(), name))
	}
	time.Sleep(time.Minute)
	check.NoError(t, hub.Close())
	rec := check.Must(simulate.Read(t.Context(), storetest.Find(t, db, name)))(t)
	check.NoError(t, db.Close())
	return rec
}

var wanted = regexp.MustCompile(`in about (\d+) tokens`)

// scripted answers turns, and as a worker summarizes in words of its input. It counts a prompt as
// counts does; nil: it reports no usage. Each failing-th attempt at a summary fails; 0: none.
func scripted(window, failing int, counts func(n, estimate int) int) *llmtest.Model {
	attempts := 0
	return &llmtest.Model{Tokens: window, Delay: 2 * time.Second, Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		resp := llmtest.Say(fmt.Sprintf("Answer %d: %s", n, strings.Repeat("it is so and the plot is watered. ", n%9+1)))
		if counts != nil {
			text := ""
			for _, m := range req.Messages {
				text += m.Text
			}
			resp.Usage = llm.Usage{Prompt: counts(n, tokens.Estimate(text)), Completion: tokens.Estimate(resp.Message.Text)}
		}
		for _, tool := range req.Tools {
			if tool.Name != "summarize" {
				continue
			}
			if attempts++; failing > 0 && attempts%failing == 0 {
				return llm.Response{}, errors.New("the server is overloaded")
			}
			words := strings.Fields(strings.SplitN(req.Messages[1].Text, "</transcript>", 2)[0])
			var text []string
			target := 60
			if found := wanted.FindStringSubmatch(req.Messages[1].Text); found != nil {
				target, _ = strconv.Atoi(found[1])
			}
			for i := len(words) / 10; i < len(words) && len(text) < target/2; i += max(len(words)/(target/2+1), 1) {
				text = append(text, strings.Trim(words[i], "<>"))
			}
			usage := resp.Usage
			resp = llmtest.Use(llmtest.Call(fmt.Sprint("c", n), "summarize", map[string]string{"summary": strings.Join(text, " ")}))
			resp.Usage = usage
		}
		return resp, nil
	}}
}

func TestSimulationMatchesLiveConversation(t *testing.T) {
	const window = 6000
	for about, c := range map[string]struct {
		recall  int
		worker  bool
		asked   func(i int) bool
		change  func(*compactor.Policy)
		counts  func(n, estimate int) int
		failing int
	}{
		"a worker":              {0, true, func(i int) bool { return i%2 == 0 }, nil, nil, 0},
		"no model to summarize": {0, false, func(i int) bool { return i%3 == 0 }, nil, nil, 0},
		"counts are lower":      {0, true, func(i int) bool { return i%2 == 0 }, nil, func(_, e int) int { return e * 8 / 10 }, 0},
		"counts vary, recall":   {600, true, func(i int) bool { return i%3 == 0 }, nil, func(n, e int) int { return e * (118 + n*7%5) / 100 }, 0},
		"nothing ahead":         {0, true, func(int) bool { return true }, func(p *compactor.Policy) { p.PrepareThreshold = 0 }, func(n, e int) int { return e * (105 + n*7%20) / 100 }, 0},
		"attempts fail":         {0, true, func(i int) bool { return i%2 == 0 }, nil, nil, 3},
		"every attempt fails":   {0, true, func(i int) bool { return i%2 == 0 }, nil, nil, 1},
	} {
		t.Run(about, func(t *testing.T) {
			if about != "a worker" { // one shows that they do not race
				check.SkipUnderRace(t)
			}
			t.Parallel()
			agent := agentOf(window, c.change)
			model := scripted(window, c.failing, c.counts)
			agent.Model, agent.Recall = model, c.recall
			if c.worker { // its answers come at other moments than those of turns: the order within one is not recorded
				worker := scripted(window, c.failing, c.counts)
				worker.Delay = 2500 * time.Millisecond
				agent.Worker = worker
			}
			var rec simulate.Recording
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { rec = live(t, dir, agent, talk(100, 11), c.asked) })
			report := check.Must(simulate.Run(t.Context(), rec, nil, options(t, agent)))(t)
			expectEqual(t, report, rec)
		})
	}
}
