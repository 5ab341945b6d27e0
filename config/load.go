// Load and Parse read a file into settings.

package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Load reads file. An empty name means DefaultFile if it exists, otherwise the defaults. The error
// is an *Error if the file is readable but contains mistakes.
func Load(file string) (Settings, error) {
	text, err := ReadFile(cmp.Or(file, DefaultFile))
	if errors.Is(err, fs.ErrNotExist) && file == "" {
		return Default(), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Default(), fmt.Errorf("%w: correct --config, or leave it out to use %s or the defaults", err, DefaultFile)
	}
	if err != nil {
		return Default(), fmt.Errorf("read the settings: %w", err)
	}
	return Parse(cmp.Or(file, DefaultFile), text)
}

// Parse parses text, the content of file.
func Parse(file string, text []byte) (Settings, error) {
	s := Default()
	s.File, s.text = file, text
	if line := deepLine(string(text)); line > 0 {
		return s, newError(file, []Problem{{Line: line, Text: fmt.Sprintf("this is nested deeper than %d levels, and no setting is", maxDepth)}})
	}
	var raw map[string]any
	if _, err := toml.Decode(string(text), &raw); err != nil {
		wrong := Problem{Text: err.Error()}
		if at, ok := errors.AsType[toml.ParseError](err); ok {
			wrong = Problem{Line: at.Position.Line, Text: fmt.Sprintf(`this is not valid TOML (%s): write key = value, and texts in "quotes"`, strings.TrimSuffix(at.Message, "."))}
		}
		return s, newError(file, []Problem{wrong})
	}
	d := decoder{lines: keyLines(string(text)), set: map[string]bool{}}
	d.settings(&s, raw)
	d.check(&s)
	s.set, s.Warnings = d.set, d.warnings
	return s, newError(file, d.problems)
}

// settings decodes the file over the defaults, and then each agent over the defaults that the file
// sets for all agents.
func (d *decoder) settings(s *Settings, raw map[string]any) {
	agents := raw["agents"]
	delete(raw, "agents")
	d.table(s, raw, "")
	if raw["data_dir"] != nil {
		s.DataDir = s.Path(s.DataDir)
	}
	tables, ok := agents.([]map[string]any)
	if agents != nil && !ok {
		d.problem("agents", "agents: must be tables, each under [[agents]]")
	}
	d.set["agents"] = agents != nil
	var base Agent
	if len(s.Agents) > 0 {
		base = s.Agents[0]
	}
	base.Compaction = s.Defaults.Compaction
	s.Agents = nil
	for i, table := range tables {
		agent := base
		if table["id"] != nil || len(tables) > 1 { // the only one may go without
			agent.ID, _ = table["id"].(string)
		}
		d.agents = append(d.agents, agent.ID)
		d.table(&agent, table, agentPath(i))
		s.Agents = append(s.Agents, agent)
	}
	if len(s.Agents) == 0 {
		s.Agents = []Agent{base}
	}
}

// Path resolves a path of the settings file, relative to that file.
func (s *Settings) Path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(s.File), p)
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

// Line returns the line of the settings file that sets a key of an agent's policy, or of the agent;
// 0 if none does.
func (s *Settings) Line(agent, key string) int {
	return keyLines(string(s.text))[cmp.Or(s.setAt(agent, "compaction."+key), s.setAt(agent, key))]
}

// setAt returns the path in the file that sets a key for an agent; "" if none does.
func (s *Settings) setAt(agent, key string) string {
	i := slices.IndexFunc(s.Agents, func(a Agent) bool { return a.ID == agent })
	for _, path := range []string{agentPath(i) + "." + key, "defaults." + key} {
		if s.set[path] {
			return path
		}
	}
	return ""
}

func agentPath(i int) string { return fmt.Sprintf("agents.%d", i) }
