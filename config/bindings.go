// Bindings: which agent answers in which conversation, and to which messages.

package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cairn/channel"
)

// Binding is one of [[bindings]]: the conversations it applies to, and what it sets for them. A
// setting that it leaves out comes from the next binding that applies.
type Binding struct {
	Connector string          `toml:"connector"` // empty: any
	Server    string          `toml:"server"`    // empty: any
	Channel   string          `toml:"channel"`   // a channel with its threads, or one thread; empty: any
	Direct    *bool           `toml:"direct"`    // nil: direct messages and channels
	Agent     string          `toml:"agent"`
	Respond   channel.Respond `toml:"respond"`
	Tools     []string        `toml:"tools"` // ids of [[tools]], in addition to the agent's
	Language  string          `toml:"language"`
}

// matches reports whether the binding applies to the conversation.
func (b Binding) matches(conversation string) bool {
	p := channel.ParsePlace(conversation)
	if p.Connector == terminalName { // it has no servers, and a channel may have any name
		p = channel.Place{Connector: p.Connector, Channel: strings.TrimPrefix(conversation, terminalName+":")}
	}
	return (b.Connector == "" || b.Connector == p.Connector) &&
		(b.Server == "" || b.Server == p.Server) &&
		(b.Channel == "" || b.Channel == p.Channel || b.Channel == p.Thread) &&
		(b.Direct == nil || *b.Direct == p.Direct())
}

// bound returns what the first binding that applies to the conversation and sets it says; "" if none
// does.
func bound[T ~string](s *Settings, conversation string, of func(Binding) T) T {
	for _, b := range s.Bindings {
		if value := of(b); value != "" && b.matches(conversation) {
			return value
		}
	}
	return ""
}

// AgentFor returns the id of the agent that answers in a conversation.
func (s *Settings) AgentFor(conversation string) string {
	return cmp.Or(bound(s, conversation, func(b Binding) string { return b.Agent }), s.Agents[0].ID)
}

// respondIn returns which messages are answered in a conversation.
func (s *Settings) respondIn(conversation string) channel.Respond {
	return cmp.Or(bound(s, conversation, func(b Binding) channel.Respond { return b.Respond }), s.Respond)
}

// LanguageIn returns the language of the prompts in a conversation, one of channel.Languages: from
// the first binding that sets one, else from its agent, else from the settings.
func LanguageIn(s *Settings, conversation string) string {
	id := s.AgentFor(conversation)
	agent := s.Agents[slices.IndexFunc(s.Agents, func(a Agent) bool { return a.ID == id })]
	return cmp.Or(bound(s, conversation, func(b Binding) string { return b.Language }), agent.Language, s.Language)
}

// checkBinding reports mistakes in a binding.
func (d *decoder) checkBinding(path string, s *Settings, b Binding) {
	if b.Agent == "" && b.Respond == "" && len(b.Tools) == 0 && b.Language == "" {
		d.problem(path+".agent", "sets nothing: set agent, respond, tools or language")
	}
	d.checkLanguage(path+".language", cmp.Or(b.Language, channel.DefaultLanguage))
	d.checkChoiceIfSet(path+".respond", string(b.Respond), responds)
	var agents []string
	for _, a := range s.Agents {
		agents = append(agents, a.ID)
	}
	if b.Agent != "" {
		d.checkNames(path+".agent", "agent", []string{b.Agent}, agents)
	}
	d.checkChoiceIfSet(path+".connector", b.Connector, connectors)
	for key, id := range map[string]string{"server": b.Server, "channel": b.Channel} {
		switch {
		case id == "":
		case b.Connector == terminalName && key == "server":
			d.problem(path+".server", "server: the terminal has none")
		case b.Connector != "":
			d.checkID(path+"."+key, b.Connector, id)
		case !idForms["discord"].MatchString(id) && !idForms["slack"].MatchString(id):
			d.problem(path+"."+key, fmt.Sprintf(`%s: %q must be an id of Discord or Slack; for a channel of the terminal, also set connector = "terminal"`, key, id))
		}
	}
}
