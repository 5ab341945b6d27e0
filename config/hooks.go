// [hooks]: programs and URLs that are notified of events.

package config

import (
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"time"

	"cairn/compactor"
	"cairn/hooks"
)

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
