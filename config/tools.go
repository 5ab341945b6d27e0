// [[tools]]: MCP servers, and which agents and conversations have their tools.

package config

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/mcp"
	"cairn/mcp/builtin"
)

// ToolServer is one of [[tools]].
type ToolServer struct {
	ID              string             `toml:"id"`
	Command         Command            `toml:"command"`
	URL             string             `toml:"url"`
	Builtin         string             `toml:"builtin"`
	Folder          string             `toml:"folder"`
	Allow           []string           `toml:"allow"`
	Env             map[string]string  `toml:"env"`     // values like an api_key: "file:PATH", "env:NAME", or the value itself
	Headers         map[string]string  `toml:"headers"` // as Env
	Timeout         compactor.Duration `toml:"timeout"`
	MaxResultTokens int                `toml:"max_result_tokens"`
	Approve         string             `toml:"approve"` // one of Approvals
}

// Command is a program and its arguments: a list, or one string that is split at spaces. It is not
// run by a shell.
type Command []string

// UnmarshalText splits a string at spaces.
func (c *Command) UnmarshalText(text []byte) error {
	*c = strings.Fields(string(text))
	return nil
}

// Approvals are the values of approve: when people are asked before a tool is called.
var Approvals = []string{channel.ApproveNever, channel.ApproveFirst, channel.ApproveAlways}

// toolServer returns a server with the default settings.
func toolServer() ToolServer {
	return ToolServer{Timeout: compactor.Duration(mcp.DefaultTimeout), MaxResultTokens: mcp.DefaultResultTokens, Approve: channel.ApproveNever}
}

// ToolServers returns the MCP servers, with the secrets that their settings refer to.
func (s *Settings) ToolServers() ([]mcp.Server, error) {
	var servers []mcp.Server
	for _, t := range s.Tools {
		env, err := s.resolveSecrets(t.Env)
		if err != nil {
			return nil, fmt.Errorf("tools %q: env: %w", t.ID, err)
		}
		headers, err := s.resolveSecrets(t.Headers)
		if err != nil {
			return nil, fmt.Errorf("tools %q: headers: %w", t.ID, err)
		}
		servers = append(servers, mcp.Server{
			ID: t.ID, Command: t.Command, URL: t.URL, Builtin: t.Builtin, Folder: s.Path(t.Folder), Allow: t.Allow, Env: env, Headers: headers,
			Timeout: time.Duration(t.Timeout), MaxResultTokens: t.MaxResultTokens,
		})
	}
	return servers, nil
}

// resolveSecrets replaces references to secrets by the secrets.
func (s *Settings) resolveSecrets(values map[string]string) (map[string]string, error) {
	made := make(map[string]string, len(values))
	for name, setting := range values {
		value, _, err := s.modelKey(setting)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		made[name] = value
	}
	return made, nil
}

// ToolsFor returns the ids of the servers whose tools an agent has in a conversation: the agent's,
// and those of each binding that applies. They are sorted.
func (s *Settings) ToolsFor(agent, conversation string) (ids []string) {
	ids = slices.Clone(s.ToolsOf(agent))
	for _, b := range s.Bindings {
		if b.matches(conversation) {
			ids = append(ids, b.Tools...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ToolsOf returns the ids of the servers whose tools an agent has everywhere, and in tasks.
func (s *Settings) ToolsOf(agent string) []string {
	for _, a := range s.Agents {
		if a.ID == agent {
			return a.Tools
		}
	}
	return nil
}

// toolID is the form of a server's id, which is the prefix of its tools' names.
var toolID = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

// reservedIDs are the prefixes of built-in tools.
var reservedIDs = []string{"memory", "parallel"}

func (d *decoder) checkTools(s *Settings) {
	ids := map[string]bool{}
	for i, t := range s.Tools {
		path := fmt.Sprintf("tools.%d", i)
		switch {
		case !toolID.MatchString(t.ID) || slices.Contains(reservedIDs, t.ID):
			d.problem(path+".id", fmt.Sprintf(`id = %q: must be lower-case letters, digits and dashes, e.g. "calc", and not "%s", which are built in`, t.ID, strings.Join(reservedIDs, `" or "`)))
		case ids[t.ID]:
			d.problem(path+".id", fmt.Sprintf("id = %q: another server has this name", t.ID))
		}
		ids[t.ID] = true
		d.checkToolServer(path, s, t)
	}
	known := slices.Sorted(maps.Keys(ids))
	for i, a := range s.Agents {
		d.checkNames(agentPath(i)+".tools", "server", a.Tools, known)
	}
	for i, b := range s.Bindings {
		d.checkNames(fmt.Sprintf("bindings.%d.tools", i), "server", b.Tools, known)
	}
}

func (d *decoder) checkToolServer(path string, s *Settings, t ToolServer) {
	unset := func(place string) bool { return place == "" }
	if places := slices.DeleteFunc([]string{strings.Join(t.Command, " "), t.URL, t.Builtin}, unset); len(places) != 1 {
		d.problem(path+".command", `set one of command, url and builtin: command = ["npx", "-y", "@modelcontextprotocol/server-everything"], or url = "https://example.com/mcp", or builtin = "fetch"`)
	}
	if u, err := url.Parse(t.URL); err == nil && u.User != nil {
		d.problem(path+".url", "url: an address must not contain a password; put it into headers")
	}
	d.checkBuiltin(path, s, t)
	d.checkURL(path+".url", t.URL, "https://example.com/mcp")
	d.checkTime(path+".timeout", t.Timeout, time.Second, 10*time.Minute)
	checkRange(d, path+".max_result_tokens", t.MaxResultTokens, 100, 100_000)
	d.checkChoice(path+".approve", t.Approve, Approvals)
	if len(t.Allow) == 0 {
		d.warn(path+".allow", fmt.Sprintf("allow of tools %q is empty: no tool may be called", t.ID))
	}
	for key, values := range map[string]map[string]string{"env": t.Env, "headers": t.Headers} {
		if _, err := s.resolveSecrets(values); err != nil {
			d.problem(path+"."+key, fmt.Sprintf("%s: %v", key, err))
		}
	}
}

func (d *decoder) checkBuiltin(path string, s *Settings, t ToolServer) {
	d.checkChoiceIfSet(path+".builtin", t.Builtin, builtin.Names)
	switch info, err := os.Stat(s.Path(t.Folder)); {
	case t.Folder == "" && t.Builtin == "files":
		d.problem(path+".builtin", `builtin = "files" needs a folder to read, e.g. folder = "docs"`)
	case t.Folder == "":
	case t.Builtin != "files":
		d.problem(path+".folder", `folder: only builtin = "files" has one`)
	case err != nil || !info.IsDir():
		d.problem(path+".folder", fmt.Sprintf("folder = %q: there is no such folder", t.Folder))
	}
}
