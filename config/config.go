// Package config reads the settings file: it decodes config.toml over the defaults, checks
// every value, has agents inherit from the common policy, and follows edits of the file.
//
// Load and Parse report everything that is wrong with a file as one *Error, each Problem with
// its line, its table and what the value may be. Reference describes every setting. A Watcher
// reads the file again after an edit; a file with mistakes changes nothing.
//
// The package imports channel, compactor and llm, whose types the settings fill. The program
// and the dashboard import it; nothing below does.
package config

import (
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/hooks"
)

// DefaultFile is read, if it exists, when no other file is named.
const DefaultFile = "config.toml"

// Settings are the settings of a file, with the defaults for what it leaves out.
type Settings struct {
	DataDir          string             `toml:"data_dir"`  // in the file: relative to it
	CatchUp          compactor.Duration `toml:"catch_up"`  // unanswered messages older than this become context
	TimeZone         string             `toml:"time_zone"` // in which models and people read times
	Workers          int                `toml:"workers"`   // compactions that may ask a model at the same time
	Respond          channel.Respond    `toml:"respond"`   // where no binding says otherwise
	TurnsPerMinute   int                `toml:"turns_per_minute"`
	CallsPerHour     int                `toml:"calls_per_hour"` // of models, for each conversation
	BudgetPerDay     float64            `toml:"budget_per_day"` // in the currency of the prices; 0: none
	BudgetPerMonth   float64            `toml:"budget_per_month"`
	AttachmentTokens int                `toml:"attachment_tokens"` // of text files, for each message
	Language         string             `toml:"language"`          // of prompts; one of channel.Languages
	Pictures         bool               `toml:"pictures"`
	RecallTokens     int                `toml:"recall_tokens"` // of what is recalled unasked, for each turn
	Restricted       []string           `toml:"restricted"`    // commands that only managers run
	ShareMemories    string             `toml:"share_memories"`
	Health           string             `toml:"health"` // where `cairn run` tells how it is; empty: nowhere
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
	Agents           []Agent            // at least one; decoded last, because an agent inherits from Defaults

	File     string          // empty: there is none
	Warnings []Problem       // what works and should be changed
	text     []byte          // the content of File
	set      map[string]bool // which settings File sets: "agents.0.compaction.keep_first"
}

// Backup says which backups a bot makes by itself.
type Backup struct {
	Every compactor.Duration `toml:"every"` // 0: none
	Keep  int                `toml:"keep"`
	Dir   string             `toml:"dir"` // empty: "backups" in the data folder
}

// Web is [web]: the HTTP API and the dashboard.
type Web struct {
	Listen string   `toml:"listen"` // address; empty: off
	Token  string   `toml:"token"`  // "file:PATH" only; empty: CAIRN_WEB_TOKEN
	Hosts  []string `toml:"hosts"`  // names, beside addresses and localhost, under which browsers may ask
	Debug  bool     `toml:"debug"`

	MCPWrites bool `toml:"mcp_writes"` // clients of /mcp may change memories, and compact
}

// LLM say where the model is. What is empty comes from the environment, see
// Settings.Target.
type LLM struct {
	Wire    string `toml:"wire"` // "auto", "chat", "responses" or "messages"
	BaseURL string `toml:"base_url"`
	Model   string `toml:"model"`   // of a provider as "provider/model"
	APIKey  string `toml:"api_key"` // "file:PATH", "env:NAME", or the key itself, of which a warning tells
}

// Defaults is what all agents inherit.
type Defaults struct {
	Compaction compactor.Policy `toml:"compaction"`
}

// Agent is one persona and the model behind it.
type Agent struct {
	ID              string             `toml:"id"`
	Model           string             `toml:"model"`     // empty: as [llm] says; of a provider as "provider/model"
	BaseURL         string             `toml:"base_url"`  // empty: as [llm] says
	Wire            string             `toml:"wire"`      // empty: as [llm] or the provider says
	Reasoning       string             `toml:"reasoning"` // how hard the model thinks, one of llm.ReasoningEfforts; empty: the server's own
	Instructions    string             `toml:"instructions"`
	Language        string             `toml:"language"`       // empty: as Settings.Language says
	ContextWindow   int                `toml:"context_window"` // tokens; 0: discovered
	MaxOutputTokens int                `toml:"max_output_tokens"`
	Tools           []string           `toml:"tools"`      // ids of [[tools]]
	Spawn           []string           `toml:"spawn"`      // ids of agents that it may give tasks to
	TaskCalls       int                `toml:"task_calls"` // of its model, for one task
	TaskTime        compactor.Duration `toml:"task_time"`  // after which a task expires
	Compaction      compactor.Policy   `toml:"compaction"`
}

func Default() Settings {
	s := Settings{
		DataDir:          "data",
		CatchUp:          compactor.Duration(channel.DefaultCatchUp),
		TimeZone:         "UTC",
		Workers:          channel.DefaultWorkers,
		Respond:          channel.RespondMention,
		TurnsPerMinute:   60,
		CallsPerHour:     600,
		AttachmentTokens: 4000,
		Language:         channel.DefaultLanguage,
		Pictures:         true,
		RecallTokens:     600,
		Restricted:       declaredRestricted(),
		ShareMemories:    ShareChannel,
		Backup:           Backup{Every: compactor.Duration(24 * time.Hour), Keep: 7},
		Hooks:            Hooks{Timeout: compactor.Duration(hooks.DefaultTimeout)},
		LLM:              LLM{Wire: wireAuto},
		Defaults:         Defaults{Compaction: compactor.DefaultPolicy()},
		Discord:          Discord{MessageContent: true},
		Slack:            Slack{Working: SlackWorking[0], ReplyIn: SlackReplyIn[0]},
	}
	s.Agents = []Agent{s.newAgent()}
	return s
}

// With whom a public channel has its memories in common.
const (
	ShareChannel = "channel" // with nobody
	ShareServer  = "server"  // with the other public channels of its server
)

// newAgent returns an agent that inherits everything.
func (s *Settings) newAgent() Agent {
	return Agent{
		ID: "cairn", MaxOutputTokens: 4096, Compaction: s.Defaults.Compaction,
		TaskCalls: channel.DefaultTaskCalls, TaskTime: compactor.Duration(channel.DefaultTaskTime),
	}
}
