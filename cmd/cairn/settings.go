// The settings file: what it may hold, its defaults and its ranges.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"cairn/channel"
	"cairn/compactor"
)

// defaultFile is read, if it is there, when --config names no other.
const defaultFile = "config.toml"

// settings is everything a settings file can say. What it does not say is as
// defaultSettings has it.
type settings struct {
	DataDir  string             `toml:"data_dir"` // in the file: relative to it
	CatchUp  compactor.Duration `toml:"catch_up"` // unanswered messages older than this become context
	Workers  int                `toml:"workers"`  // compactions that may ask a model at the same time
	LLM      modelSettings      `toml:"llm"`
	Defaults agentDefaults      `toml:"defaults"`
	Agents   []agentSettings    // decoded apart: an agent inherits from Defaults

	file string // empty: there is none
}

// modelSettings say where the model is. What is empty comes from OPENAI_BASE_URL,
// OPENAI_MODEL and OPENAI_API_KEY.
type modelSettings struct {
	BaseURL string `toml:"base_url"`
	Model   string `toml:"model"`
	APIKey  string `toml:"api_key"` // "file:PATH" only: a secret does not stand in a settings file
}

// agentDefaults is what all agents inherit.
type agentDefaults struct {
	Compaction compactor.Policy `toml:"compaction"`
}

// agentSettings is one persona and the model behind it.
type agentSettings struct {
	ID              string           `toml:"id"`
	Model           string           `toml:"model"`    // empty: as [llm] says
	BaseURL         string           `toml:"base_url"` // empty: as [llm] says
	Instructions    string           `toml:"instructions"`
	ContextWindow   int              `toml:"context_window"` // tokens; 0: discovered
	MaxOutputTokens int              `toml:"max_output_tokens"`
	Compaction      compactor.Policy `toml:"compaction"`
}

func defaultSettings() settings {
	return settings{
		DataDir:  "data",
		CatchUp:  compactor.Duration(channel.DefaultCatchUp),
		Workers:  channel.DefaultWorkers,
		Defaults: agentDefaults{Compaction: compactor.DefaultPolicy()},
	}
}

// newAgent is an agent that says nothing of its own.
func (s *settings) newAgent() agentSettings {
	return agentSettings{ID: "cairn", MaxOutputTokens: 4096, Compaction: s.Defaults.Compaction}
}

// agent is the one that answers: the first in the file, else the built-in one.
func (s *settings) agent() agentSettings {
	if len(s.Agents) > 0 {
		return s.Agents[0]
	}
	return s.newAgent()
}

// path resolves a path that stands in the settings file.
func (s *settings) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(s.file), p)
}

// key is the key api_key refers to; "" if it refers to none.
func (s *settings) key() (string, error) {
	if s.LLM.APIKey == "" {
		return "", nil
	}
	name, ok := strings.CutPrefix(s.LLM.APIKey, "file:")
	if !ok {
		return "", errors.New(`must be "file:PATH", a file that holds the key; or leave it out and set OPENAI_API_KEY`)
	}
	text, err := readFile(s.path(name))
	if err != nil {
		return "", fmt.Errorf("must be a file that can be read: %w", err)
	}
	key := strings.TrimSpace(string(text))
	if key == "" {
		return "", fmt.Errorf("%s is empty", name)
	}
	return key, nil
}

// loadSettings reads file; an empty name means config.toml if it is there, else the
// defaults. If anything is wrong with what stands in it, the error is a *settingsError.
func loadSettings(file string) (settings, error) {
	s := defaultSettings()
	text, err := readFile(cmp.Or(file, defaultFile))
	if errors.Is(err, fs.ErrNotExist) && file == "" {
		return s, nil
	}
	if err != nil {
		return s, usage(fmt.Errorf("read the settings: %w", err))
	}
	s.file = cmp.Or(file, defaultFile)

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
	d := decoder{lines: keyLines(string(text))}
	d.settings(&s, raw)
	d.check(&s)
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

func agentPath(i int) string { return fmt.Sprintf("agents.%d", i) }

// check notes which values cannot be.
func (d *decoder) check(s *settings) {
	between(d, "catch_up", time.Duration(s.CatchUp), time.Second, 7*24*time.Hour)
	between(d, "workers", s.Workers, 1, 64)
	if s.DataDir == "" {
		d.fault("data_dir", `data_dir = "": must name a folder`)
	}
	d.checkURL("llm.base_url", s.LLM.BaseURL)
	if _, err := s.key(); err != nil {
		d.fault("llm.api_key", "api_key: "+err.Error())
	}
	inherited := d.checkPolicy("defaults.compaction", s, s.Defaults.Compaction, nil)
	ids := map[string]bool{}
	for i, agent := range s.Agents {
		path := agentPath(i)
		switch {
		case agent.ID == "":
			d.fault(path+".id", "id: is missing; every agent has a name of its own")
		case ids[agent.ID]:
			d.fault(path+".id", fmt.Sprintf("id = %q: another agent has this name", agent.ID))
		}
		ids[agent.ID] = true
		d.checkURL(path+".base_url", agent.BaseURL)
		if agent.ContextWindow != 0 {
			between(d, path+".context_window", agent.ContextWindow, 1000, 100_000_000)
		}
		between(d, path+".max_output_tokens", agent.MaxOutputTokens, 16, 10_000_000)
		d.checkPolicy(path+".compaction", s, agent.Compaction, inherited)
	}
}

// checkPolicy notes what is wrong with a policy and returns it. What an agent
// merely inherited was noted where it stands.
func (d *decoder) checkPolicy(path string, s *settings, p compactor.Policy, inherited map[string]bool) map[string]bool {
	wrong := map[string]bool{}
	note := func(key, text string) {
		wrong[text] = true
		if !inherited[text] {
			d.fault(path+"."+key, text)
		}
	}
	for _, e := range p.Validate() {
		note(e.Key, e.Error())
	}
	if d.lines[path+".prepare_threshold"] > 0 && p.PrepareThreshold == -1 { // our own mark for "not set"
		note("prepare_threshold", "prepare_threshold = -1: must be 0 (off) or below background_threshold")
	}
	if p.PromptFile != "" {
		if _, err := readFile(s.path(p.PromptFile)); err != nil {
			note("prompt_file", fmt.Sprintf("prompt_file = %q: must be a file that can be read (%v)", p.PromptFile, err))
		}
	}
	return wrong
}

func (d *decoder) checkURL(path, value string) {
	u, err := url.Parse(value)
	if value != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		d.fault(path, fmt.Sprintf(`base_url = %q: must look like "http://localhost:11434/v1"`, value))
	}
}
