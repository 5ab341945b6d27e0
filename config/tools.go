// [[tools]], [web] and [hooks]: MCP servers, the HTTP API and the dashboard, who is notified of events.

package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/compactor"
	"cairn/internal/hooks"
	"cairn/mcp"
)

// ToolServer is one of [[tools]].
type ToolServer struct {
	ID              string             `toml:"id"`
	Command         Command            `toml:"command"`
	URL             string             `toml:"url"`
	Builtin         string             `toml:"builtin" one:"- fetch files"`
	Folder          string             `toml:"folder"`
	Allow           []string           `toml:"allow"`
	Env             map[string]string  `toml:"env"`     // values like an api_key: "file:PATH", "env:NAME", or the value itself
	Headers         map[string]string  `toml:"headers"` // as Env
	Timeout         compactor.Duration `toml:"timeout" range:"1s to 10m"`
	MaxResultTokens int                `toml:"max_result_tokens" range:"100 to 100000"`
	Approve         string             `toml:"approve" one:"never first always"`
}

// Command is a program and its arguments, without a shell: a list, or a string that is split at spaces.
type Command []string

// UnmarshalText splits a string at spaces.
func (c *Command) UnmarshalText(text []byte) error {
	*c = strings.Fields(string(text))
	return nil
}

// ToolServers returns the MCP servers, with the secrets that their settings refer to.
func (s *Settings) ToolServers() ([]mcp.Server, error) {
	var servers []mcp.Server
	for _, t := range s.Tools {
		env, errEnv := s.resolveSecrets("env", t.Env)
		headers, errHeaders := s.resolveSecrets("headers", t.Headers)
		if err := cmp.Or(errEnv, errHeaders); err != nil {
			return nil, fmt.Errorf("tools %q: %w", t.ID, err)
		}
		servers = append(servers, mcp.Server{
			ID: t.ID, Command: t.Command, URL: t.URL, Builtin: t.Builtin, Folder: s.Path(t.Folder), Allow: t.Allow, Env: env, Headers: headers,
			Timeout: time.Duration(t.Timeout), MaxResultTokens: t.MaxResultTokens, Approve: t.Approve,
		})
	}
	return servers, nil
}

// resolveSecrets replaces references to secrets in a setting by the secrets.
func (s *Settings) resolveSecrets(key string, values map[string]string) (map[string]string, error) {
	resolved := make(map[string]string, len(values))
	for name, setting := range values {
		value, _, err := s.Resolve(setting)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", key, name, err)
		}
		resolved[name] = value
	}
	return resolved, nil
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
	if i := s.agent(agent); i >= 0 {
		return s.Agents[i].Tools
	}
	return nil
}

// toolID is the form of a server's id, which is the prefix of its tools' names.
var toolID = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

// reservedIDs are the prefixes of built-in tools.
var reservedIDs = []string{"memory", "parallel"}

func (c *checker) checkTools() {
	ids := map[string]bool{}
	for i, t := range c.s.Tools {
		path := fmt.Sprintf("tools.%d", i)
		c.checkNewID(path, t.ID, ids, toolID.MatchString(t.ID) && !slices.Contains(reservedIDs, t.ID),
			`lower-case letters, digits and dashes, e.g. "calc", and not "`+strings.Join(reservedIDs, `" or "`)+`", which are built in`)
		c.checkToolServer(path, t)
	}
	known := slices.Sorted(maps.Keys(ids))
	for i, a := range c.s.Agents {
		c.checkNames(agentPath(i)+".tools", "server", a.Tools, known)
	}
	for i, b := range c.s.Bindings {
		c.checkNames(fmt.Sprintf("bindings.%d.tools", i), "server", b.Tools, known)
	}
}

func (c *checker) checkToolServer(path string, t ToolServer) {
	unset := func(place string) bool { return place == "" }
	if places := slices.DeleteFunc([]string{strings.Join(t.Command, " "), t.URL, t.Builtin}, unset); len(places) != 1 {
		c.report.problem(path+".command", `set one of command, url and builtin, e.g. url = "https://example.com/mcp", or builtin = "fetch"`)
	}
	if u, err := url.Parse(t.URL); err == nil && u.User != nil {
		c.report.problem(path+".url", "url: an address must not contain a password; put it into headers")
	}
	c.checkBuiltin(path, t)
	c.checkURL(path+".url", t.URL, "https://example.com/mcp")
	if len(t.Allow) == 0 {
		c.report.warn(path+".allow", fmt.Sprintf("allow of tools %q is empty: no tool may be called", t.ID))
	}
	for key, values := range map[string]map[string]string{"env": t.Env, "headers": t.Headers} {
		if _, err := c.s.resolveSecrets(key, values); err != nil {
			c.report.problem(path+"."+key, err.Error())
		}
	}
}

func (c *checker) checkBuiltin(path string, t ToolServer) {
	switch info, err := os.Stat(c.s.Path(t.Folder)); {
	case t.Folder == "" && t.Builtin == "files":
		c.report.problem(path+".builtin", `builtin = "files" needs a folder to read, e.g. folder = "docs"`)
	case t.Folder == "":
	case t.Builtin != "files":
		c.report.problem(path+".folder", `folder: only builtin = "files" has one`)
	case err != nil || !info.IsDir():
		c.report.problem(path+".folder", fmt.Sprintf("folder = %q: there is no such folder", t.Folder))
	}
}

// WebName is the connector name of conversations in the browser.
const WebName = "web"

// WebOwner is the user id of the person in the browser: everyone who may open the dashboard owns the bot.
const WebOwner = "owner"

const webTokenVariable = "CAIRN_WEB_TOKEN"

// WebToken returns the token of the API and the dashboard; "" if there is none.
func (s *Settings) WebToken() (string, error) {
	token, err := s.secret(s.Web.Token, webTokenVariable)
	if err != nil {
		return "", fmt.Errorf("token under [web]: %w", err)
	}
	return token, nil
}

// CheckWeb returns an error for an invalid address of the API and the dashboard, or if other
// machines can reach it and there is no token.
func CheckWeb(address, token string) error {
	host, err := checkAddress("listen", address)
	if err != nil || address == "" || token != "" {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf(`listen = %q: needs a token, because others can reach it: set %s ("openssl rand -hex 32" makes one), or listen on "127.0.0.1:8090"`, address, webTokenVariable)
	}
	return nil
}

// ProxyNetworks returns the addresses of reverse proxies as networks.
func (w Web) ProxyNetworks() (all []netip.Prefix) {
	for _, text := range w.Proxies {
		if prefix, err := network(text); err == nil { // others were reported when the settings were read
			all = append(all, prefix)
		}
	}
	return all
}

// network reads an address, as a network of one, or a network.
func network(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

func (c *checker) checkWeb() {
	token, tokenErr := c.s.WebToken() // an unreadable one is reported below
	if _, err := checkAddress("listen", c.s.Web.Listen); err != nil {
		c.report.problem("web.listen", err.Error())
	} else if err := CheckWeb(c.s.Web.Listen, token); err != nil && tokenErr == nil { // a mistake at the start, whose environment may have one
		c.report.warn("web.listen", err.Error())
	}
	c.checkSecret("web.token", c.s.Web.Token, webTokenVariable)
	for _, host := range c.s.Web.Hosts {
		if host == "" || strings.ContainsAny(host, "/:@* ") {
			c.report.problem("web.hosts", fmt.Sprintf(`hosts: %q must be a name without scheme, port or wildcard, e.g. "cairn.example.com"`, host))
		}
	}
	for _, text := range c.s.Web.Proxies {
		if _, err := network(text); err != nil {
			c.report.problem("web.proxies", fmt.Sprintf(`proxies: %q must be an address or a network, e.g. "10.0.0.5" or "10.0.0.0/8"`, text))
		}
	}
}

// Hooks is [hooks]. Each hook is a program with arguments, or a URL.
type Hooks struct {
	Before  Command            `toml:"before_compaction"`
	After   Command            `toml:"after_compaction"`
	Memory  Command            `toml:"on_memory"`
	Reply   Command            `toml:"on_reply"`
	Timeout compactor.Duration `toml:"timeout" range:"1s to 1m"`
	Secret  string             `toml:"secret"` // "file:PATH", "env:NAME", or the text itself
}

// Calls returns the hooks by name.
func (h Hooks) Calls() map[string][]string {
	return map[string][]string{hooks.Before: h.Before, hooks.After: h.After, hooks.OnMemory: h.Memory, hooks.OnReply: h.Reply}
}

// HookSettings returns the hooks to call, and the secret.
func (s *Settings) HookSettings() (hooks.Settings, error) {
	secret, _, err := s.Resolve(s.Hooks.Secret)
	if err != nil {
		return hooks.Settings{}, fmt.Errorf("hooks: secret: %w", err)
	}
	return hooks.Settings{Call: s.Hooks.Calls(), Timeout: time.Duration(s.Hooks.Timeout), Secret: secret}, nil
}

func (c *checker) checkHooks() {
	for _, name := range hooks.Names {
		target := c.s.Hooks.Calls()[name]
		switch {
		case slices.Contains(target, ""):
			c.report.problem("hooks."+name, name+": a word of the command is empty")
		case hooks.IsURL(target):
			c.checkURL("hooks."+name, target[0], "https://example.com/cairn")
			if u, err := url.Parse(target[0]); err == nil && u.User != nil {
				c.report.problem("hooks."+name, name+": an address must not contain a password; set secret, and check X-Cairn-Signature")
			}
		case len(target) > 0:
			if _, err := exec.LookPath(target[0]); err != nil {
				c.report.warn("hooks."+name, fmt.Sprintf("%s: there is no program %q that can be run: install it, or write its full path", name, target[0]))
			}
		}
	}
	if _, _, err := c.s.Resolve(c.s.Hooks.Secret); err != nil {
		c.report.problem("hooks.secret", fmt.Sprintf("secret: %v", err))
	}
}
