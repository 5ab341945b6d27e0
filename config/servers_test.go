package config

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/llm/prices"
	"cairn/testkit/check"
)

func environment(t *testing.T, set map[string]string) {
	t.Helper()
	for _, v := range []Variables{OpenAI, Anthropic} {
		for _, name := range []string{v.Key, v.URL, v.Model} {
			t.Setenv(name, set[name])
		}
	}
	for name, value := range set {
		t.Setenv(name, value)
	}
}

func aim(t Target, ok bool) string {
	if !ok {
		return "offline"
	}
	return fmt.Sprintf("%s %s %q key %q of %s", cmp.Or(t.Wire, wireAuto), t.BaseURL, t.Model, t.Key, t.KeyName)
}

func TestEnvironmentSelectsProvider(t *testing.T) {
	const (
		none      = "offline"
		openAI    = `auto https://api.openai.com/v1 "o-model" key "o-key" of OPENAI_API_KEY`
		local     = `auto http://o.test/v1 "o-model" key "" of OPENAI_API_KEY`
		both      = `auto http://o.test/v1 "o-model" key "o-key" of OPENAI_API_KEY`
		anthropic = `messages https://api.anthropic.com "a-model" key "a-key" of ANTHROPIC_API_KEY`
		proxy     = `messages http://a.test "a-model" key "" of ANTHROPIC_API_KEY`
		proxied   = `messages http://a.test "a-model" key "a-key" of ANTHROPIC_API_KEY`
	)
	for i, want := range []string{ // by which are set: OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
		none, openAI, local, both,
		anthropic, openAI, local, both,
		proxy, openAI, local, both,
		proxied, openAI, local, both,
	} {
		set := map[string]string{"OPENAI_MODEL": "o-model", "ANTHROPIC_MODEL": "a-model"}
		var names []string
		for bit, v := range [][2]string{{"OPENAI_API_KEY", "o-key"}, {"OPENAI_BASE_URL", "http://o.test/v1"}, {"ANTHROPIC_API_KEY", "a-key"}, {"ANTHROPIC_BASE_URL", "http://a.test"}} {
			if i&(1<<bit) != 0 {
				set[v[0]] = v[1]
				names = append(names, v[0])
			}
		}
		environment(t, set)
		s := Default()
		at, ok, err := s.Target(s.Agents[0])
		check.NoError(t, err)
		check.Equal(t, "server with "+strings.Join(names, " "), aim(at, ok), want)
		check.Equal(t, "warning about both", s.Ambiguous(), i&3 != 0 && i&12 != 0)
	}
}

func TestSettingsOverrideEnvironment(t *testing.T) {
	everything := map[string]string{
		"OPENAI_API_KEY": "o-key", "OPENAI_BASE_URL": "http://o.test/v1", "OPENAI_MODEL": "o-model",
		"ANTHROPIC_API_KEY": "a-key", "ANTHROPIC_BASE_URL": "http://a.test", "ANTHROPIC_MODEL": "a-model",
	}
	provider := "[[providers]]\nid = \"p\"\nbase_url = \"http://p.test/v1\"\napi_key = \"env:CAIRN_P_KEY\"\n"
	for _, test := range []struct {
		name, text   string
		env          map[string]string
		want, worker string // worker empty: the same server, the same model
	}{
		{"an address", "[llm]\nbase_url = \"http://s.test/v1\"", everything, `auto http://s.test/v1 "o-model" key "o-key" of OPENAI_API_KEY`, ""},
		{"a key", "[llm]\napi_key = \"s-key\"", everything, `auto http://o.test/v1 "o-model" key "s-key" of api_key under [llm]`, ""},
		{"a key of Anthropic alone", "[llm]\napi_key = \"sk-ant-1\"", nil, `messages https://api.anthropic.com "" key "sk-ant-1" of api_key under [llm]`, ""},
		{"a key for the server in the environment", "[llm]\napi_key = \"s-key\"", map[string]string{"ANTHROPIC_BASE_URL": "http://a.test/v1"}, `messages http://a.test/v1 "" key "s-key" of api_key under [llm]`, ""},
		{"a model", "[llm]\nmodel = \"s\"", everything, `auto http://o.test/v1 "s" key "o-key" of OPENAI_API_KEY`, ""},
		{"a model with a slash that names no provider", "[llm]\nmodel = \"s/m\"", everything, `auto http://o.test/v1 "s/m" key "o-key" of OPENAI_API_KEY`, ""},
		{"the wire of Anthropic", "[llm]\nwire = \"messages\"", everything, `messages http://a.test "a-model" key "a-key" of ANTHROPIC_API_KEY`, ""},
		{"the wire of OpenAI", "[llm]\nwire = \"responses\"", map[string]string{"OPENAI_API_KEY": "o-key", "ANTHROPIC_API_KEY": "a-key"}, `responses https://api.openai.com/v1 "" key "o-key" of OPENAI_API_KEY`, ""},
		{"Anthropic's address", "[llm]\nbase_url = \"https://api.anthropic.com/v1\"", everything, `messages https://api.anthropic.com/v1 "a-model" key "a-key" of ANTHROPIC_API_KEY`, ""},
		{"the whole address of Messages", "[llm]\nbase_url = \"http://x.test/v1/messages/\"", nil, `messages http://x.test/v1/messages/ "" key "" of ANTHROPIC_API_KEY`, ""},
		{"OpenAI's variable with Anthropic's address", "", map[string]string{"OPENAI_BASE_URL": "https://api.anthropic.com/v1", "OPENAI_API_KEY": "o-key"}, `messages https://api.anthropic.com/v1 "" key "o-key" of OPENAI_API_KEY`, ""},
		{"an agent's address and wire", "[llm]\nwire = \"messages\"\nmodel = \"s\"\n[[agents]]\nid = \"a\"\nbase_url = \"http://agent.test/v1\"", everything, `auto http://agent.test/v1 "s" key "o-key" of OPENAI_API_KEY`, ""},
		{"a provider", provider + "[llm]\nmodel = \"p/m\"", everything, `auto http://p.test/v1 "m" key "p-key" of api_key of provider "p"`, ""},
		{"a provider for an agent, with a wire", provider + "[[agents]]\nid = \"a\"\nmodel = \"p/m\"\nwire = \"messages\"", everything, `messages http://p.test/v1 "m" key "p-key" of api_key of provider "p"`, ""},
		{"the only provider, where nothing else is", provider, nil, `auto http://p.test/v1 "" key "p-key" of api_key of provider "p"`, ""},
		{"a model without a provider, where nothing else is", provider + "[llm]\nmodel = \"m\"", nil, `auto http://p.test/v1 "m" key "p-key" of api_key of provider "p"`, ""},
		{
			"a worker on another provider", provider + "[[agents]]\nid = \"a\"\n[agents.compaction]\nmodel = \"p/m\"", everything,
			`auto http://o.test/v1 "o-model" key "o-key" of OPENAI_API_KEY`, `auto http://p.test/v1 "m" key "p-key" of api_key of provider "p"`,
		},
		{
			"a worker beside the agent", provider + "[[agents]]\nid = \"a\"\nmodel = \"p/m\"\n[agents.compaction]\nmodel = \"x/small\"", everything,
			`auto http://p.test/v1 "m" key "p-key" of api_key of provider "p"`, `auto http://p.test/v1 "x/small" key "p-key" of api_key of provider "p"`,
		},
		{"the environment's key for OpenAI as a provider", "[[providers]]\nid = \"o\"\nbase_url = \"https://api.openai.com/v1\"\n[llm]\nmodel = \"o/m\"", everything, `auto https://api.openai.com/v1 "m" key "o-key" of OPENAI_API_KEY`, ""},
		{"the environment's key for Anthropic as a provider", "[[providers]]\nid = \"o\"\nbase_url = \"https://api.anthropic.com\"\n[llm]\nmodel = \"o/m\"", everything, `messages https://api.anthropic.com "m" key "a-key" of ANTHROPIC_API_KEY`, ""},
		{"no key of the environment for other providers", "[[providers]]\nid = \"o\"\nbase_url = \"http://other.test\"\nwire = \"messages\"\n[llm]\nmodel = \"o/m\"", everything, `messages http://other.test "m" key "" of api_key of provider "o"`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			environment(t, test.env)
			t.Setenv("CAIRN_P_KEY", "p-key")
			s := check.Must(Load(writeSettings(t, test.text)))(t)
			agent := s.Agents[0]
			at, ok, err := s.Target(agent)
			check.Equal(t, "server of the model", aim(at, ok), test.want)
			check.NoError(t, err)
			if test.worker == "" {
				return
			}
			at, err = s.Beside(at, agent.Compaction.Model)
			check.Equal(t, "worker", aim(at, true), test.worker)
			check.NoError(t, err)
		})
	}
}

func TestStreamIdleIsOfAServer(t *testing.T) {
	environment(t, nil)
	file := "[[providers]]\nid = \"slow\"\nbase_url = \"http://p.test/v1\"\nstream_idle = \"5m\"\n[[providers]]\nid = \"p\"\nbase_url = \"http://p.test/v1\"\n"
	for text, want := range map[string]time.Duration{
		"[llm]\nbase_url = \"http://s.test/v1\"\n":                                                    time.Minute,
		"[llm]\nbase_url = \"http://s.test/v1\"\nstream_idle = \"20s\"\n":                             20 * time.Second,
		"[llm]\nmodel = \"slow/m\"\nstream_idle = \"20s\"\n" + file:                                   5 * time.Minute,
		"[llm]\nmodel = \"p/m\"\nstream_idle = \"20s\"\n" + file:                                      20 * time.Second,
		"[llm]\nbase_url = \"http://s.test/v1\"\n[[agents]]\nid = \"a\"\nmodel = \"slow/m\"\n" + file: 5 * time.Minute,
	} {
		s := check.Must(Load(writeSettings(t, text)))(t)
		at, ok, err := s.Target(s.Agents[0])
		check.That(t, ok && err == nil && at.StreamIdle == want, "%s: got %v, %v, %v, want %v", text, at.StreamIdle, ok, err, want)
	}
	for _, wrong := range []string{"[llm]\nstream_idle = \"0s\"\n", "[llm]\nstream_idle = \"11m\"\n"} {
		check.ErrorContains(t, wrong, check.ErrorOf(Load(writeSettings(t, wrong))), "stream_idle", "1s to 10m")
	}
}

func TestToolServers(t *testing.T) {
	t.Setenv("CALC_KEY", "hush-hush")
	s := check.Must(Parse("f", []byte(`
[[tools]]
id = "calc"
command = "npx -y  @scope/server"
allow = ["add"]
env = { KEY = "env:CALC_KEY", MODE = "plain" }
[[tools]]
id = "far"
url = "https://example.com/mcp"
headers = { Authorization = "env:CALC_KEY" }
timeout = "5s"
approve = "always"
allow = ["x"]
[[agents]]
id = "a"
tools = ["calc"]
spawn = ["b"]
[[agents]]
id = "b"
task_calls = 40
task_time = "10m"
[[bindings]]
connector = "terminal"
channel = "lab"
tools = ["far", "calc"]
`)))(t)
	servers := check.Must(s.ToolServers())(t)
	check.EqualAll(t, "the command", servers[0].Command, []string{"npx", "-y", "@scope/server"})
	check.Equal(t, "KEY", servers[0].Env["KEY"], "hush-hush")
	check.Equal(t, "MODE", servers[0].Env["MODE"], "plain")
	check.Equal(t, "Authorization", servers[1].Headers["Authorization"], "hush-hush")
	check.Equal(t, "the timeout", servers[1].Timeout.String(), "5s")
	check.Equal(t, "the most tokens of a result", servers[0].MaxResultTokens, 4000)
	check.EqualAll(t, "who is asked", []string{servers[0].Approve, servers[1].Approve}, []string{channel.ApproveNever, channel.ApproveAlways})
	check.EqualAll(t, "tools of other places", s.ToolsFor("a", "terminal:general"), []string{"calc"})
	check.EqualAll(t, "tools with the binding", s.ToolsFor("a", "terminal:lab"), []string{"calc", "far"})
	check.That(t, slices.Contains(s.Secrets(), "hush-hush"), "a secret is not marked as one")
	check.Equal(t, "tasks", fmt.Sprint(s.Agents[0].Spawn, s.Agents[0].TaskCalls, s.Agents[1].TaskCalls), "[b] 100 40")
}

func TestPricesAndBudgetsInTheSettings(t *testing.T) {
	s := check.Must(Load(writeSettings(t, "budget_per_day = 3\n[prices.\"gpt-4.1\"]\ninput = 2\noutput = 8.5\n[prices.m]\ninput = 1\ncached = 0\nwrite = 4\noutput = 5\n")))(t)
	m := s.Money() // what is left out follows input
	check.Equal(t, "gpt-4.1", m.Prices["gpt-4.1"], prices.Price{Rates: prices.Rates{Input: 2, Cached: 2, Write: 2, Output: 8.5}})
	check.Equal(t, "m", m.Prices["m"], prices.Price{Rates: prices.Rates{Input: 1, Write: 4, Output: 5}})
	check.Equal(t, "budgets", fmt.Sprint(m.PerDay, m.PerMonth), "3 0")
	base := "[prices.m]\ninput = 1\ncached = 0.1\noutput = 5\n"
	long := prices.Price{Rates: prices.Rates{Input: 1, Cached: 0.1, Write: 1, Output: 5}, Above: 1000}
	for set, want := range map[string]prices.Rates{ // of long prompts
		"long_input = 2\nlong_output = 8":                   {Input: 2, Cached: 2, Write: 2, Output: 8},
		"long_input = 2\nlong_cached = 0.2\nlong_write = 3": {Input: 2, Cached: 0.2, Write: 3, Output: 5},
		"": {Input: 1, Cached: 0.1, Write: 1, Output: 5},
	} {
		s := check.Must(Load(writeSettings(t, base+"long_above = 1000\n"+set)))(t)
		long.Long = want
		check.Equal(t, set, s.Money().Prices["m"], long)
	}
	check.ErrorContains(t, "no length", check.ErrorOf(Load(writeSettings(t, base+"long_input = 2"))), "[prices.\"m\"]", "long_above")
	text := check.Must(os.ReadFile("../config.toml"))(t) // which shows a price in comments
	_, example, found := strings.Cut(string(text), "\n# [prices.")
	example, _, _ = strings.Cut("# [prices."+example, "\n\n")
	s, err := Load(writeSettings(t, strings.ReplaceAll("\n"+example, "\n# ", "\n")))
	check.That(t, err == nil && found && len(s.Prices) == 1, "%v, %d prices in %s", err, len(s.Prices), example)
}

func TestUnknownServerOfABinding(t *testing.T) {
	_, err := Load(writeSettings(t, "[[bindings]]\nconnector = \"slack\"\ntools = [\"calc\"]\n"))
	check.Contains(t, "error", fmt.Sprint(err), `config.toml:3: [bindings.1]: tools: there is no server "calc"`)
}
