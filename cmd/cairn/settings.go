// The settings file: what it may hold, and its defaults.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"cairn/channel"
	"cairn/compactor"
	"cairn/slack"
)

// defaultFile is read, if it is there, when --config names no other.
const defaultFile = "config.toml"

// settings is everything a settings file can say. What it does not say is as
// defaultSettings has it.
type settings struct {
	DataDir          string             `toml:"data_dir"`  // in the file: relative to it
	CatchUp          compactor.Duration `toml:"catch_up"`  // unanswered messages older than this become context
	TimeZone         string             `toml:"time_zone"` // in which times are told to models and people
	Workers          int                `toml:"workers"`   // compactions that may ask a model at the same time
	Respond          channel.Respond    `toml:"respond"`   // where no binding says otherwise
	TurnsPerMinute   int                `toml:"turns_per_minute"`
	CallsPerHour     int                `toml:"calls_per_hour"` // of models, for each conversation
	BudgetPerDay     float64            `toml:"budget_per_day"` // in the currency of the prices; 0: none
	BudgetPerMonth   float64            `toml:"budget_per_month"`
	AttachmentTokens int                `toml:"attachment_tokens"` // of text files, for each message
	Pictures         bool               `toml:"pictures"`
	RecallTokens     int                `toml:"recall_tokens"` // of what is recalled unasked, for each turn
	Restricted       []string           `toml:"restricted"`    // commands that only managers run
	ShareMemories    string             `toml:"share_memories"`
	Health           string             `toml:"health"` // where `cairn run` tells how it is; empty: nowhere
	LLM              modelSettings      `toml:"llm"`
	Providers        []providerSettings `toml:"providers"`
	Defaults         agentDefaults      `toml:"defaults"`
	Discord          discordSettings    `toml:"discord"`
	Slack            slackSettings      `toml:"slack"`
	Bindings         []binding          `toml:"bindings"`
	Prices           map[string]price   `toml:"prices"` // by model
	Agents           []agentSettings    // decoded apart: an agent inherits from Defaults

	warnings []fault // what works and should be otherwise

	file string          // empty: there is none
	text []byte          // what stands in it
	set  map[string]bool // which settings stand in it: "agents.0.compaction.keep_first"
}

// modelSettings say where the model is. What is empty comes from the environment, see
// settings.server.
type modelSettings struct {
	Wire    string `toml:"wire"` // "auto", "chat", "responses" or "messages"
	BaseURL string `toml:"base_url"`
	Model   string `toml:"model"`   // of a provider as "provider/model"
	APIKey  string `toml:"api_key"` // "file:PATH", "env:NAME", or the key itself, of which a warning tells
}

// agentDefaults is what all agents inherit.
type agentDefaults struct {
	Compaction compactor.Policy `toml:"compaction"`
}

// agentSettings is one persona and the model behind it.
type agentSettings struct {
	ID              string           `toml:"id"`
	Model           string           `toml:"model"`     // empty: as [llm] says; of a provider as "provider/model"
	BaseURL         string           `toml:"base_url"`  // empty: as [llm] says
	Wire            string           `toml:"wire"`      // empty: as [llm] or the provider says
	Reasoning       string           `toml:"reasoning"` // how hard the model thinks, one of llm.ReasoningEfforts; empty: the server's own
	Instructions    string           `toml:"instructions"`
	ContextWindow   int              `toml:"context_window"` // tokens; 0: discovered
	MaxOutputTokens int              `toml:"max_output_tokens"`
	Compaction      compactor.Policy `toml:"compaction"`
}

func defaultSettings() settings {
	return settings{
		DataDir:          "data",
		CatchUp:          compactor.Duration(channel.DefaultCatchUp),
		TimeZone:         "UTC",
		Workers:          channel.DefaultWorkers,
		Respond:          channel.RespondMention,
		TurnsPerMinute:   60,
		CallsPerHour:     600,
		AttachmentTokens: 4000,
		Pictures:         true,
		RecallTokens:     600,
		Restricted:       declaredRestricted(),
		ShareMemories:    shareChannel,
		LLM:              modelSettings{Wire: wireAuto},
		Defaults:         agentDefaults{Compaction: compactor.DefaultPolicy()},
		Discord:          discordSettings{MessageContent: true},
		Slack:            slackSettings{Working: slack.Workings[0], ReplyIn: slack.ReplyPlaces[0]},
	}
}

// With whom a public channel has its memories in common.
const (
	shareChannel = "channel" // with nobody
	shareServer  = "server"  // with the other public channels of its server
)

// newAgent is an agent that says nothing of its own.
func (s *settings) newAgent() agentSettings {
	return agentSettings{ID: "cairn", MaxOutputTokens: 4096, Compaction: s.Defaults.Compaction}
}

// agents are those that may answer: the ones in the file, else the built-in one. The
// first does where no binding says otherwise.
func (s *settings) agents() []agentSettings {
	if len(s.Agents) > 0 {
		return s.Agents
	}
	return []agentSettings{s.newAgent()}
}

// path resolves a path that stands in the settings file.
func (s *settings) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(s.file), p)
}

// loadSettings reads file; an empty name means config.toml if it is there, else the
// defaults. If anything is wrong with what stands in it, the error is a *settingsError.
func loadSettings(file string) (settings, error) {
	text, err := readFile(cmp.Or(file, defaultFile))
	if errors.Is(err, fs.ErrNotExist) && file == "" {
		return defaultSettings(), nil
	}
	if err != nil {
		return defaultSettings(), usage(fmt.Errorf("read the settings: %w", err))
	}
	return parseSettings(cmp.Or(file, defaultFile), text)
}

// parseSettings reads text, which stands in file.
func parseSettings(file string, text []byte) (settings, error) {
	s := defaultSettings()
	s.file, s.text = file, text
	if line := deepLine(string(text)); line > 0 {
		return s, newSettingsError(s.file, []fault{{Line: line, Text: fmt.Sprintf("this nests deeper than %d levels, which no setting does", maxDepth)}})
	}
	var raw map[string]any
	if _, err := toml.Decode(string(text), &raw); err != nil {
		wrong := fault{Text: err.Error()}
		var at toml.ParseError
		if errors.As(err, &at) {
			wrong = fault{Line: at.Position.Line, Text: at.Message}
		}
		return s, newSettingsError(s.file, []fault{wrong})
	}
	d := decoder{lines: keyLines(string(text)), set: map[string]bool{}}
	s.set = d.set
	d.settings(&s, raw)
	d.check(&s)
	s.warnings = d.warnings
	return s, newSettingsError(s.file, d.faults)
}

// settings decodes the file over the defaults, and then each agent over the
// defaults this file gives.
func (d *decoder) settings(s *settings, raw map[string]any) {
	agents := raw["agents"]
	delete(raw, "agents")
	d.table(s, raw, "")
	if raw["data_dir"] != nil {
		s.DataDir = s.path(s.DataDir)
	}
	tables, ok := agents.([]map[string]any)
	if agents != nil && !ok {
		d.fault("agents", "agents: must be tables, each under [[agents]]")
	}
	for i, table := range tables {
		agent := s.newAgent()
		agent.ID, _ = table["id"].(string)
		d.agents = append(d.agents, agent.ID)
		d.table(&agent, table, agentPath(i))
		s.Agents = append(s.Agents, agent)
	}
}

// origin is the table that sets a key of an agent's policy; "" if none does.
func (s *settings) origin(agent, key string) string {
	for i, a := range s.Agents {
		if a.ID == agent && s.set[agentPath(i)+".compaction."+key] {
			return fmt.Sprintf("[agents.compaction] of agent %q", agent)
		}
	}
	if s.set["defaults.compaction."+key] {
		return "[defaults.compaction]"
	}
	return ""
}

func agentPath(i int) string { return fmt.Sprintf("agents.%d", i) }
