// [web] and [hooks]: the HTTP API and the dashboard; programs and URLs that are notified of events.

package config

import (
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"cairn/compactor"
	"cairn/hooks"
)

// WebName is the connector name of conversations in the browser.
const WebName = "web"

// WebOwner is the user id of the person in the browser: whoever may open the dashboard owns the
// bot.
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
		return fmt.Errorf(`listen = %q: needs a token, because others can reach it: set %s, or token = "file:PATH" under [web] ("openssl rand -hex 32" makes one); without a token, listen on "127.0.0.1:8090"`, address, webTokenVariable)
	}
	return nil
}

func (d *decoder) checkWeb(s *Settings) {
	token, tokenErr := s.WebToken() // an unreadable one is reported below
	if _, err := checkAddress("listen", s.Web.Listen); err != nil {
		d.problem("web.listen", err.Error())
	} else if err := CheckWeb(s.Web.Listen, token); err != nil && tokenErr == nil { // a mistake at the start, whose environment may have one
		d.warn("web.listen", err.Error())
	}
	d.checkSecret(s, "web.token", s.Web.Token, webTokenVariable)
	for _, host := range s.Web.Hosts {
		if host == "" || strings.ContainsAny(host, "/:@* ") {
			d.problem("web.hosts", fmt.Sprintf(`hosts: %q must be a name without scheme, port or wildcard, e.g. "cairn.example.com"`, host))
		}
	}
}

// Hooks is [hooks]. Each hook is a program with arguments, or a URL.
type Hooks struct {
	Before  Command            `toml:"before_compaction"`
	After   Command            `toml:"after_compaction"`
	Memory  Command            `toml:"on_memory"`
	Reply   Command            `toml:"on_reply"`
	Timeout compactor.Duration `toml:"timeout"`
	Secret  string             `toml:"secret"` // "file:PATH", "env:NAME", or the text itself
}

// Calls returns the hooks by name.
func (h Hooks) Calls() map[string][]string {
	return map[string][]string{hooks.Before: h.Before, hooks.After: h.After, hooks.OnMemory: h.Memory, hooks.OnReply: h.Reply}
}

// HookSettings returns the hooks to call, and the secret.
func (s *Settings) HookSettings() (hooks.Settings, error) {
	secret, _, err := s.modelKey(s.Hooks.Secret)
	if err != nil {
		return hooks.Settings{}, fmt.Errorf("hooks: secret: %w", err)
	}
	return hooks.Settings{Call: s.Hooks.Calls(), Timeout: time.Duration(s.Hooks.Timeout), Secret: secret}, nil
}

func (d *decoder) checkHooks(s *Settings) {
	d.checkTime("hooks.timeout", s.Hooks.Timeout, time.Second, time.Minute)
	for _, name := range hooks.Names {
		target := s.Hooks.Calls()[name]
		switch {
		case slices.Contains(target, ""):
			d.problem("hooks."+name, name+": a word of the command is empty")
		case hooks.IsURL(target):
			d.checkURL("hooks."+name, target[0], "https://example.com/cairn")
			if u, err := url.Parse(target[0]); err == nil && u.User != nil {
				d.problem("hooks."+name, name+": an address must not contain a password; set secret, and check X-Cairn-Signature")
			}
		case len(target) > 0:
			if _, err := exec.LookPath(target[0]); err != nil {
				d.warn("hooks."+name, fmt.Sprintf("%s: there is no program %q that can be run: install it, or write its whole path", name, target[0]))
			}
		}
	}
	if _, _, err := s.modelKey(s.Hooks.Secret); err != nil {
		d.problem("hooks.secret", fmt.Sprintf("secret: %v", err))
	}
}
