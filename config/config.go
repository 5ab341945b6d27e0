// Package config reads the settings file: it decodes config.toml over the defaults, validates every
// value, lets agents inherit the common policy, and follows edits of the file.
//
// Load and Parse report all mistakes of a file as one *Error, each Problem with its line, its table
// and the allowed values. Reference describes every setting. A Watcher rereads the file after an
// edit; a file with mistakes changes nothing.
//
// The package imports channel, compactor and llm, because settings are decoded into their types.
// The program and the dashboard import it; nothing below does.
package config

import (
	"slices"
	"sync"

	"github.com/BurntSushi/toml"

	"cairn/channel"
	"cairn/compactor"
)

// DefaultFile is read, if it exists, when no other file is named.
const DefaultFile = "config.toml"

// Settings are the settings of a file, with defaults for what it leaves out.
type Settings struct {
	DataDir          string             `toml:"data_dir"`  // in the file: relative to the file
	CatchUp          compactor.Duration `toml:"catch_up"`  // unanswered messages older than this become context
	TimeZone         string             `toml:"time_zone"` // the zone of times shown to models and people
	Workers          int                `toml:"workers"`   // compactions that may call a model at the same time
	Respond          channel.Respond    `toml:"respond"`   // if no binding sets it
	TurnsPerMinute   int                `toml:"turns_per_minute"`
	CallsPerHour     int                `toml:"calls_per_hour"` // of models, per conversation
	BudgetPerDay     float64            `toml:"budget_per_day"` // in the currency of the prices; 0: no budget
	BudgetPerMonth   float64            `toml:"budget_per_month"`
	AttachmentTokens int                `toml:"attachment_tokens"` // of text files, per message
	Language         string             `toml:"language"`          // of prompts; one of channel.Languages
	Pictures         bool               `toml:"pictures"`
	RecallTokens     int                `toml:"recall_tokens"` // of memories recalled automatically, per turn
	Restricted       []string           `toml:"restricted"`    // commands that only managers may run
	ShareMemories    string             `toml:"share_memories"`
	Health           string             `toml:"health"` // address where `cairn run` serves health checks; empty: none
	Web              Web                `toml:"web"`
	Hooks            Hooks              `toml:"hooks"`
	Backup           Backup             `toml:"backup"`
	LLM              LLM                `toml:"llm"`
	Providers        []Provider         `toml:"providers"`
	Defaults         Defaults           `toml:"defaults"`
	Discord          Discord            `toml:"discord"`
	Slack            Slack              `toml:"slack"`
	Bindings         []Binding          `toml:"bindings"`
	Prices           map[string]Price   `toml:"prices"` // by model
	Tools            []ToolServer       `toml:"tools"`
	Agents           []Agent            // at least one; decoded last, because agents inherit from Defaults

	File     string          // empty: no file was read
	Warnings []Problem       // settings that work but should be changed
	text     []byte          // the content of File
	set      map[string]bool // the keys that File sets: "agents.0.compaction.keep_first"
}

// Backup configures automatic backups.
type Backup struct {
	Every compactor.Duration `toml:"every"` // 0: none
	Keep  int                `toml:"keep"`
	Dir   string             `toml:"dir"` // empty: "backups" in the data folder
}

// Web is [web]: the HTTP API and the dashboard.
type Web struct {
	Listen string   `toml:"listen"` // address; empty: off
	Token  string   `toml:"token"`  // "file:PATH" only; empty: CAIRN_WEB_TOKEN
	Hosts  []string `toml:"hosts"`  // host names, besides IP addresses and localhost, that browsers may use
	Debug  bool     `toml:"debug"`

	MCPWrites bool `toml:"mcp_writes"` // whether clients of /mcp may change memories and compact
}

// LLM is [llm]: the default model and its server. Empty fields come from the environment, see
// Settings.Target.
type LLM struct {
	Wire    string `toml:"wire"` // "auto", "chat", "responses" or "messages"
	BaseURL string `toml:"base_url"`
	Model   string `toml:"model"`   // with a provider: "provider/model"
	APIKey  string `toml:"api_key"` // "file:PATH", "env:NAME", or the key itself, which causes a warning
}

// Defaults is what all agents inherit.
type Defaults struct {
	Compaction compactor.Policy `toml:"compaction"`
}

// Agent is one persona and the model behind it.
type Agent struct {
	ID              string             `toml:"id"`
	Model           string             `toml:"model"`     // empty: as [llm]; with a provider: "provider/model"
	BaseURL         string             `toml:"base_url"`  // empty: as [llm]
	Wire            string             `toml:"wire"`      // empty: as [llm] or the provider
	Reasoning       string             `toml:"reasoning"` // one of llm.ReasoningEfforts; empty: the server's default
	Instructions    string             `toml:"instructions"`
	Language        string             `toml:"language"`       // empty: as Settings.Language
	ContextWindow   int                `toml:"context_window"` // tokens; 0: discovered
	MaxOutputTokens int                `toml:"max_output_tokens"`
	Tools           []string           `toml:"tools"`      // ids of [[tools]]
	Spawn           []string           `toml:"spawn"`      // ids of agents to which it may delegate tasks
	TaskCalls       int                `toml:"task_calls"` // most calls of its model per task
	TaskTime        compactor.Duration `toml:"task_time"`  // time after which a task expires
	Compaction      compactor.Policy   `toml:"compaction"`
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
	d := decoder{set: map[string]bool{}}
	d.settings(&s, raw)
	return s
})

// The values of share_memories: with which conversations a public channel shares its memories.
const (
	ShareChannel = "channel" // with none
	ShareServer  = "server"  // with the other public channels of its server
)
