package channel

import (
	"strings"

	"cairn/memory"
)

// Place is a conversation's name taken apart: connector:server/channel[/thread].
type Place struct {
	Connector, Server, Channel, Thread string
}

// DirectServer takes the place of the server of direct messages that belong to none.
const DirectServer = "@me"

// ParsePlace takes a conversation's name apart. What is missing is empty.
func ParsePlace(conversation string) Place {
	connector, rest, _ := strings.Cut(conversation, ":")
	p := Place{Connector: connector}
	p.Server, rest, _ = strings.Cut(rest, "/")
	p.Channel, p.Thread, _ = strings.Cut(rest, "/")
	return p
}

// Label is what people call a place: "#general · Cozy Corner", "plans in #general · Cozy
// Corner". What is not known is left out; empty if nothing is.
func Label(thread, channel, server string) string {
	if channel != "" {
		channel = "#" + channel
	}
	if thread != "" && channel != "" {
		channel = " in " + channel
	}
	label := thread + channel
	if label != "" && server != "" {
		label += " · "
	}
	return label + server
}

// String puts the name together again.
func (p Place) String() string {
	name := p.Connector + ":" + p.Server
	if p.Channel != "" {
		name += "/" + p.Channel
	}
	if p.Thread != "" {
		name += "/" + p.Thread
	}
	return name
}

// Direct reports whether it is a conversation with one person alone. Slack's direct
// messages belong to a server; their channels are known by the letter D.
func (p Place) Direct() bool {
	return p.Server == DirectServer || p.Connector == "slack" && strings.HasPrefix(p.Channel, "D")
}

// Audience is who may read a place, beside those who are in it. A connector that does not
// know leaves it empty.
type Audience = memory.Audience

// The audiences.
const (
	Members     = memory.Members     // a private channel or thread, a direct message
	ChannelWide = memory.ChannelWide // a thread: all who may read its channel
	ServerWide  = memory.ServerWide  // a public channel, and its public threads
)

func connectorOf(conversation string) string {
	connector, _, _ := strings.Cut(conversation, ":")
	return connector
}
