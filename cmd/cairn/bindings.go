// Bindings: which agent answers where, and what.
package main

import (
	"fmt"
	"slices"
	"strings"

	"cairn/channel"
	"cairn/terminal"
)

// binding is one of [[bindings]]: where it holds, and what it sets there. What it
// leaves out, it leaves to the bindings after it.
type binding struct {
	Door    string          `toml:"door"`    // empty: any
	Server  string          `toml:"server"`  // empty: any
	Channel string          `toml:"channel"` // a channel with its threads, or one thread; empty: any
	Direct  *bool           `toml:"direct"`  // nil: in direct messages and elsewhere
	Agent   string          `toml:"agent"`
	Respond channel.Respond `toml:"respond"`
}

// holds tells whether the binding is about a conversation.
func (b binding) holds(conversation string) bool {
	p := channel.ParsePlace(conversation)
	if p.Door == terminal.Name { // it has no servers, and any name is one of a channel
		p = channel.Place{Door: p.Door, Channel: strings.TrimPrefix(conversation, terminal.Name+":")}
	}
	return (b.Door == "" || b.Door == p.Door) &&
		(b.Server == "" || b.Server == p.Server) &&
		(b.Channel == "" || b.Channel == p.Channel || b.Channel == p.Thread) &&
		(b.Direct == nil || *b.Direct == p.Direct())
}

// agentID is who answers in a conversation.
func (s *settings) agentID(conversation string) string {
	for _, b := range s.Bindings {
		if b.Agent != "" && b.holds(conversation) {
			return b.Agent
		}
	}
	return s.agents()[0].ID
}

// respond is what is answered in a conversation.
func (s *settings) respond(conversation string) channel.Respond {
	for _, b := range s.Bindings {
		if b.Respond != "" && b.holds(conversation) {
			return b.Respond
		}
	}
	return s.Respond
}

// checkBinding notes what is wrong with a binding.
func (d *decoder) checkBinding(path string, s *settings, b binding) {
	if b.Agent == "" && b.Respond == "" {
		d.fault(path+".agent", "sets nothing: give it an agent, or respond")
	}
	if b.Respond != "" {
		d.checkRespond(path+".respond", b.Respond)
	}
	var agents []string
	for _, a := range s.agents() {
		agents = append(agents, a.ID)
	}
	if b.Agent != "" && !slices.Contains(agents, b.Agent) {
		d.fault(path+".agent", fmt.Sprintf("agent = %q: there is no such agent%s; there are %s", b.Agent, meant(b.Agent, agents), strings.Join(agents, ", ")))
	}
	if b.Door != "" && !slices.Contains(doorNames, b.Door) {
		d.fault(path+".door", fmt.Sprintf("door = %q: must be discord, slack or terminal%s", b.Door, meant(b.Door, doorNames)))
		return
	}
	for key, id := range map[string]string{"server": b.Server, "channel": b.Channel} {
		switch {
		case id == "":
		case b.Door == terminal.Name && key == "server":
			d.fault(path+".server", "server: the terminal has none")
		case b.Door != "":
			d.checkID(path+"."+key, b.Door, id)
		case !idForms["discord"].MatchString(id) && !idForms["slack"].MatchString(id):
			d.fault(path+"."+key, fmt.Sprintf(`%s: %q must be an id of Discord or Slack; a terminal's channel needs door = "terminal" beside it`, key, id))
		}
	}
}
