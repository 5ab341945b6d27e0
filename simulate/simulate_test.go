package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/simulate"
	"cairn/store"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const name = "terminal:test"

func talk(n int, seed uint64) (said []store.Inbound) {
	dice := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields("garden water plot harvest spring compost meeting budget lamp kettle train ticket Thursday Berlin invoice server backup deploy tea coffee I decided we should prefer never always")
	at := time.Date(2025, 3, 1, 9, 0, 0, 0, time.UTC)
	for i := range n {
		at = at.Add(time.Duration(dice.IntN(900)+1) * time.Second)
		text := ""
		for range dice.IntN(40) + 3 {
			text += words[dice.IntN(len(words))] + fmt.Sprint(dice.IntN(30)) + " "
		}
		author := []string{"Ada", "Bob", "Eve"}[dice.IntN(3)]
		said = append(said, store.Inbound{ID: fmt.Sprint("m", i), AuthorID: author, Author: author, Text: strings.TrimSpace(text) + ".", Time: at})
	}
	return said
}

// agentOf returns an agent whose model is never called.
func agentOf(window int, change func(*compactor.Policy)) channel.Agent {
	p := compactor.DefaultPolicy()
	if change != nil {
		change(&p)
	}
	return channel.Agent{ID: "test", Model: llm.NewOffline(window), Policy: func() compactor.Policy { return p }}
}

// open opens a store like the program, with a hub whose connector shows nothing.
func open(t *testing.T, dir string, agent channel.Agent) (*store.Store, *channel.Hub) {
	t.Helper()
	db := check.Must(store.Open(t.Context(), store.Options{Dir: dir}))(t)
	return db, channel.New(channel.Options{
		Store: db, Connectors: []channel.Connector{channeltest.Silent("terminal")}, Log: slog.New(slog.DiscardHandler),
		Agent: func(string) channel.Agent { return agent },
	})
}

func recorded(t *testing.T, db *store.Store, hub *channel.Hub) simulate.Recording {
	t.Helper()
	check.NoError(t, hub.Close())
	rec := check.Must(simulate.Read(t.Context(), storetest.Find(t, db, name)))(t)
	check.NoError(t, db.Close())
	return rec
}

func TestSimulationMatchesImport(t *testing.T) {
	for about, c := range map[string]struct {
		window, messages int
		change           func(*compactor.Policy)
	}{
		"defaults":       {8000, 200, nil},
		"a small window": {4000, 110, nil},
		"other levels": {8000, 130, func(p *compactor.Policy) {
			p.BackgroundThreshold = 0.6
			p.PrepareThreshold = 0
		}},
		"nothing but emergencies": {8000, 120, func(p *compactor.Policy) { p.Enabled = false }},
	} {
		t.Run(about, func(t *testing.T) {
			if about != "other levels" { // one shows that they do not race
				check.SkipUnderRace(t)
			}
			t.Parallel()
			agent := agentOf(c.window, c.change)
			db, hub := open(t, t.TempDir(), agent)
			said := talk(c.messages, uint64(c.window))
			check.Must(hub.Import(t.Context(), name, said, func(channel.ImportProgress) {}))(t) // like `cairn import`
			wantEqual(t, agent, recorded(t, db, hub))
		})
	}
}

// wantEqual compares a simulation of the current settings with what happened.
func wantEqual(t *testing.T, agent channel.Agent, rec simulate.Recording) {
	t.Helper()
	report := check.Must(simulate.Run(t.Context(), rec, nil, simulate.OptionsOf(t.Context(), agent, agent.Policy(), prices.List{})))(t)
	made := report.Variants[0].Compactions
	lines := ""
	for _, s := range rec.Summaries {
		lines += fmt.Sprintf("real %d %s %s %d-%d %d→%d\n", s.Version, s.Trigger, s.Kind, s.From, s.To, s.Before, s.After)
	}
	for _, s := range made {
		lines += fmt.Sprintf("simulated %s %s %d-%d %d→%d\n", s.Trigger, s.Kind, s.From, s.To, s.Before, s.After)
	}
	check.That(t, report.Happened > 0 && report.Equal == report.Happened && len(made) == report.Happened,
		"got %d of %d compactions equal, %d simulated:\n%s", report.Equal, report.Happened, len(made), lines)
}

// conversation is what people write to an agent, one message after the other.
type conversation struct {
	messages  []store.Inbound
	addressed func(i int) bool // reports whether a message is for the bot; nil: all are
	renew     []int            // the messages after which a session starts
}

// live runs a conversation on a hub with a scripted model.
func live(t *testing.T, dir string, agent channel.Agent, people conversation) simulate.Recording {
	t.Helper()
	db, hub := open(t, dir, agent)
	for i, m := range people.messages {
		time.Sleep(time.Minute)
		m.Time = time.Now()
		m.Addressed = people.addressed == nil || people.addressed(i)
		check.NoError(t, check.ErrorOf(hub.Deliver(t.Context(), name, m)))
		check.NoError(t, hub.Idle(t.Context(), name))
		if slices.Contains(people.renew, i) {
			_, _, err := hub.Run(t.Context(), name, access.Person{ID: "ada", Manager: true}, "/new")
			check.NoError(t, err)
			check.NoError(t, hub.Idle(t.Context(), name))
		}
	}
	time.Sleep(time.Minute)
	return recorded(t, db, hub)
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
			attempts++
			if failing > 0 && attempts%failing == 0 {
				return llm.Response{}, errors.New("the server is overloaded")
			}
			_, material, _ := strings.Cut(req.Messages[1].Text, "<transcript>")
			material, _, _ = strings.Cut(material, "</transcript>")
			words := strings.Fields(material)
			var text []string
			target := 60
			if found := wanted.FindStringSubmatch(req.Messages[1].Text); found != nil {
				target, _ = strconv.Atoi(found[1])
			}
			for i := len(words) / 10; i < len(words) && len(text) < target/2; i += max(len(words)/(target/2+1), 1) {
				text = append(text, strings.Trim(words[i], "<>(#"))
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
			agent.Model = model
			agent.Recall = c.recall
			if c.worker { // its answers come at other moments than those of turns: the order within one is not recorded
				worker := scripted(window, c.failing, c.counts)
				worker.Delay = 2500 * time.Millisecond
				agent.Worker = worker
			}
			var rec simulate.Recording
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				rec = live(t, dir, agent, conversation{messages: talk(100, 11), addressed: c.asked})
			})
			wantEqual(t, agent, rec)
		})
	}
}

func TestANewSessionIsReplayed(t *testing.T) {
	check.SkipUnderRace(t)
	agent := agentOf(6000, nil)
	dir := t.TempDir()
	agent.Model = scripted(6000, 0, nil)
	var rec simulate.Recording
	synctest.Test(t, func(t *testing.T) {
		rec = live(t, dir, agent, conversation{
			messages: talk(30, 11), addressed: func(i int) bool { return i%2 == 0 },
			renew: []int{15, 29}, // the last one has no messages yet
		})
	})
	wantEqual(t, agent, rec)
}

// A request that begins with the one before is read from the cache, until the time is up; after a compaction little is.
func TestCachedShare(t *testing.T) {
	conversation := func(pause time.Duration) simulate.Recording {
		said := talk(80, 3)
		for i := range said {
			said[i].Author, said[i].Time = []string{"Ada", "helper"}[i%2], said[0].Time.Add(time.Duration(i)*pause)
		}
		return simulate.FromFile("talk", said, "helper")
	}
	spent := func(rule string, window int, pause time.Duration) simulate.Spent {
		o := simulate.OptionsOf(t.Context(), agentOf(window, nil), compactor.DefaultPolicy(), nil)
		o.Cache = rule
		r := check.Must(simulate.Run(t.Context(), conversation(pause), nil, o))(t)
		return r.Variants[0].Turns
	}
	prefix := spent(llm.CachePrefix, 128_000, time.Minute)
	marked := spent(llm.CacheBreakpoints, 128_000, time.Minute)
	units := spent(llm.CacheUnits, 128_000, time.Minute)
	check.That(t, prefix.Share > 0.8 && prefix.Written == 0, "prefix: %+v", prefix)
	check.That(t, marked.Cached == prefix.Cached && marked.Cached+marked.Written == marked.Input, "breakpoints: %+v", marked)
	check.That(t, units.Cached > prefix.Cached && units.Cached < units.Input, "units: %+v", units)
	for _, rule := range []string{llm.CachePrefix, llm.CacheBreakpoints, llm.CacheUnits} {
		check.Equal(t, "cached after long pauses, "+rule, spent(rule, 128_000, 2*time.Hour).Cached, 0)
		small := spent(rule, 4000, time.Minute)
		check.That(t, small.Share < prefix.Share && small.Cached > 0, "%s, with compactions: %+v", rule, small)
	}
}

// TestMoneyOfLongPrompts: each request is priced by the length of its prompt.
func TestMoneyOfLongPrompts(t *testing.T) {
	said := talk(80, 3)
	for i := range said {
		said[i].Author = []string{"Ada", "helper"}[i%2]
	}
	cost := func(above int64) float64 {
		o := simulate.OptionsOf(t.Context(), agentOf(128_000, nil), compactor.DefaultPolicy(), nil)
		o.Turns = &prices.Price{Rates: prices.Rates{Input: 1, Cached: 1}, Above: above, Long: prices.Rates{Input: 3, Cached: 3}}
		return *check.Must(simulate.Run(t.Context(), simulate.FromFile("talk", said, "helper"), nil, o))(t).Variants[0].Money
	}
	short := cost(1_000_000)
	long := cost(1)
	both := cost(2500)
	check.That(t, math.Abs(long-3*short) < 1e-9, "all long: %v, all short: %v", long, short)
	check.That(t, short < both && both < long, "some long: %v, between %v and %v", both, short, long)
}
