// Package config reads the settings files: it decodes config.toml and then config.local.toml over
// the defaults, validates every value, lets agents inherit the common policy, and reloads edited
// files.
//
// Load and Parse report all mistakes as one *Error, each Problem with its file and line, its table
// and the allowed values. Reference describes every setting. A Watcher rereads the files after an
// edit; a file with mistakes changes nothing. Edit changes single lines of the local file.
//
// The package imports channel, compactor and llm, because settings are decoded into their types.
// The program and the dashboard import it; nothing below does.
package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm/prices"
)

// Settings are the settings of a file, with defaults for what it leaves out. config.toml describes each. The
// tags say what checker.checkField checks: range; one, the values of a text, "-" among them if it may be empty;
// server, an address, as in the example.
type Settings struct {
	DataDir          string             `toml:"data_dir"` // in a file: relative to the file
	Store            string             `toml:"store"`    // address of PostgreSQL, "file:PATH" or "env:NAME"; empty: SQLite in DataDir
	Schema           string             `toml:"schema"`   // in that database
	CatchUp          compactor.Duration `toml:"catch_up" range:"1s to 168h"`
	TimeZone         string             `toml:"time_zone"`
	Workers          int                `toml:"workers" range:"1 to 64"`
	Respond          access.Respond     `toml:"respond" one:"mention all never"` // if no binding sets it
	TurnsPerMinute   int                `toml:"turns_per_minute" range:"0 to 600"`
	CallsPerHour     int                `toml:"calls_per_hour" range:"0 to 100000"`
	BudgetPerDay     float64            `toml:"budget_per_day" range:"0 to 1000000000"` // 0: no budget
	BudgetPerMonth   float64            `toml:"budget_per_month" range:"0 to 1000000000"`
	BudgetPerPerson  float64            `toml:"budget_per_person" range:"0 to 1000000000"`
	AttachmentTokens int                `toml:"attachment_tokens" range:"0 to 100000"`
	Language         string             `toml:"language" one:"auto en de es fr pt ja zh"`
	Pictures         bool               `toml:"pictures"`
	RecallTokens     int                `toml:"recall_tokens" range:"0 to 20000"`
	Restricted       []string           `toml:"restricted"`
	ShareMemories    string             `toml:"share_memories" one:"channel server"`
	Memory           Memory             `toml:"memory"`
	Health           string             `toml:"health"` // address; empty: none
	Web              Web                `toml:"web"`
	Hooks            Hooks              `toml:"hooks"`
	Backup           Backup             `toml:"backup"`
	LLM              LLM                `toml:"llm"`
	Providers        []Provider         `toml:"providers"`
	Embeddings       Embeddings         `toml:"embeddings"`
	Transcription    Transcription      `toml:"transcription"`
	Defaults         Defaults           `toml:"defaults"`
	Discord          Discord            `toml:"discord"`
	Slack            Slack              `toml:"slack"`
	Bindings         []Binding          `toml:"bindings"`
	Prices           map[string]Price   `toml:"prices"` // by model
	Tools            []ToolServer       `toml:"tools"`
	Agents           []Agent            `toml:"agents"` // at least one; the last field, because agents inherit from Defaults

	Files    string              // those that were read, "config.toml, config.local.toml"; empty: none
	Warnings []Problem           // settings that work but should be changed
	file     string              // the first of them, which need not exist: paths are relative to it
	sources  []source            // what was read
	set      map[string]position // the keys that a file sets, "agents.0.compaction.keep_first", and where
}

// Memory is [memory].
type Memory struct {
	Notice string `toml:"notice" one:"off reaction line"` // how people see that a memory was saved
}

// Backup configures automatic backups.
type Backup struct {
	Every compactor.Duration `toml:"every" range:"0 or 1h to 720h"` // 0: none
	Keep  int                `toml:"keep" range:"1 to 1000"`
	Dir   string             `toml:"dir"` // empty: "backups" in the data folder
}

// Web is [web]: the HTTP API and the dashboard.
type Web struct {
	Listen string   `toml:"listen"` // address; empty: off
	Token  string   `toml:"token"`  // "file:PATH" only; empty: CAIRN_WEB_TOKEN
	Hosts  []string `toml:"hosts"`  // host names, besides IP addresses and localhost, that browsers may use
	Debug  bool     `toml:"debug"`

	Proxies      []string `toml:"proxies"`    // addresses or networks of reverse proxies
	MCPWrites    bool     `toml:"mcp_writes"` // whether clients of /mcp may change memories and compact
	PostsPerHour int      `toml:"posts_per_hour" range:"0 to 100000"`
}

// LLM is [llm]: the default model and its server. Settings.Target completes it from the environment.
type LLM struct {
	Wire    string `toml:"wire" one:"- auto chat responses messages"`
	BaseURL string `toml:"base_url" server:"http://localhost:11434/v1"`
	Model   string `toml:"model"`   // with a provider: "provider/model"
	APIKey  string `toml:"api_key"` // "file:PATH", "env:NAME", or the key itself, which causes a warning

	Fallback   []string           `toml:"fallback"` // models that answer if Model cannot, in this order
	Models     []string           `toml:"models"`   // models that people may choose for a conversation, by /model
	StreamIdle compactor.Duration `toml:"stream_idle" range:"1s to 10m"`
}

// Defaults is what all agents inherit.
type Defaults struct {
	Compaction compactor.Policy `toml:"compaction"`
}

// Agent is one persona and the model behind it. An empty Model, BaseURL or Wire is that of [llm], or of the
// provider in "provider/model"; an empty Language that of Settings.
type Agent struct {
	ID              string             `toml:"id"`
	Model           string             `toml:"model"`
	Fallback        []string           `toml:"fallback"` // if it is not set, [llm]'s
	Models          []string           `toml:"models"`   // if it is not set, [llm]'s
	BaseURL         string             `toml:"base_url" server:"http://localhost:11434/v1"`
	Wire            string             `toml:"wire" one:"- auto chat responses messages"`
	Reasoning       string             `toml:"reasoning"` // one of llm.ReasoningEfforts; empty: the server's default
	Instructions    string             `toml:"instructions"`
	Language        string             `toml:"language" one:"- auto en de es fr pt ja zh"`
	ContextWindow   int                `toml:"context_window" range:"0 or 1000 to 100000000"` // tokens; 0: discovered
	MaxOutputTokens int                `toml:"max_output_tokens" range:"16 to 10000000"`
	Tools           []string           `toml:"tools"`                               // ids of [[tools]]
	Spawn           []string           `toml:"spawn"`                               // ids of agents to which it may delegate tasks
	TasksPerMessage int                `toml:"tasks_per_message" range:"1 to 1000"` // maximum number of tasks that one message may set off
	TaskCalls       int                `toml:"task_calls" range:"1 to 10000"`       // maximum number of calls of its model per task
	TaskTime        compactor.Duration `toml:"task_time" range:"1s to 24h"`         // time after which a task expires
	Compaction      compactor.Policy   `toml:"compaction"`
}

// Price is [prices."MODEL"], in US dollars per million tokens. It replaces the built-in price.
type Price struct {
	Input  *float64 `toml:"input" range:"0 to 100000"`
	Cached *float64 `toml:"cached" range:"0 to 100000"` // nil: as input
	Write  *float64 `toml:"write" range:"0 to 100000"`  // nil: as input
	Output *float64 `toml:"output" range:"0 to 100000"`

	// Of requests with longer prompts; nil: as those above, LongCached and LongWrite as LongInput if that is set.
	LongAbove  int      `toml:"long_above" range:"0 to 100000000"` // tokens; 0: no prompt is long
	LongInput  *float64 `toml:"long_input" range:"0 to 100000"`
	LongCached *float64 `toml:"long_cached" range:"0 to 100000"`
	LongWrite  *float64 `toml:"long_write" range:"0 to 100000"`
	LongOutput *float64 `toml:"long_output" range:"0 to 100000"`
}

// Money returns the prices of tokens and the budgets.
func (s *Settings) Money() access.Money {
	m := access.Money{PerDay: s.BudgetPerDay, PerMonth: s.BudgetPerMonth, PerPerson: s.BudgetPerPerson, Prices: prices.List{}}
	for model, p := range s.Prices {
		input := cmp.Or(p.Input, new(0.0))
		output := cmp.Or(p.Output, new(0.0))
		price := prices.Price{Rates: prices.Rates{Input: *input, Cached: *cmp.Or(p.Cached, input), Write: *cmp.Or(p.Write, input), Output: *output}}
		price.Above = int64(p.LongAbove)
		if price.Above > 0 {
			long := cmp.Or(p.LongInput, input)
			price.Long = prices.Rates{
				Input: *long, Cached: *cmp.Or(p.LongCached, p.LongInput, p.Cached, input),
				Write: *cmp.Or(p.LongWrite, p.LongInput, p.Write, input), Output: *cmp.Or(p.LongOutput, output),
			}
		}
		m.Prices[model] = price
	}
	return m
}

// Default returns the settings of the shipped config.toml, without a file.
func Default() Settings {
	s := shippedSettings()
	s.Agents = slices.Clone(s.Agents)
	return s
}

var shippedSettings = sync.OnceValue(func() Settings {
	s := Settings{Defaults: Defaults{Compaction: compactor.DefaultPolicy()}} // the file does not set prepare_threshold
	var raw map[string]any
	if _, err := toml.Decode(shipped, &raw); err != nil {
		panic(err)
	}
	d := decoder{checker: checker{s: &s, report: newReport(nil, nil)}}
	d.settings(raw)
	s.set = nil
	return s
})

// Path resolves a path of the settings file, relative to that file.
func (s *Settings) Path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(s.file), p)
}

// Origin returns the table that sets a key of an agent's policy; "" if none does.
func (s *Settings) Origin(agent, key string) string {
	switch path := s.setAt(agent, "compaction."+key); {
	case path == "":
		return ""
	case strings.HasPrefix(path, "defaults."):
		return "[defaults.compaction]"
	}
	return fmt.Sprintf("[agents.%s.compaction]", agent)
}

// Position returns where a key of an agent's policy, or of the agent, is set: "config.toml:12"; "" if nowhere.
func (s *Settings) Position(agent, key string) string {
	at, set := s.set[cmp.Or(s.setAt(agent, "compaction."+key), s.setAt(agent, key))]
	if !set {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(at.file), at.line)
}

// setAt returns the path in the files that sets a key for an agent; "" if none does.
func (s *Settings) setAt(agent, key string) string {
	for _, path := range []string{agentPath(s.agent(agent)) + "." + key, "defaults." + key} {
		if s.isSet(path) {
			return path
		}
	}
	return ""
}

// isSet reports whether a file sets the key at a path.
func (s *Settings) isSet(path string) bool {
	_, set := s.set[path]
	return set
}

// agent returns the index of an agent; -1 if there is none.
func (s *Settings) agent(id string) int {
	return slices.IndexFunc(s.Agents, func(a Agent) bool { return a.ID == id })
}

func agentPath(i int) string { return fmt.Sprintf("agents.%d", i) }

// The values of share_memories: with which conversations a public channel shares its memories.
const (
	ShareChannel = "channel" // with none
	ShareServer  = "server"  // with the other public channels of its server
)
