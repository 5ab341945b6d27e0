package channel

import (
	"strings"

	"cairn/store"
)

// Place holds the parts of a conversation's name: connector:server/channel[/thread].
type Place struct {
	Connector, Server, Channel, Thread string
}

// DirectServer replaces the server in the names of direct messages that belong to none.
const DirectServer = "@me"

// ParsePlace splits a conversation's name. Missing parts are empty.
func ParsePlace(conversation string) Place {
	connector, rest, _ := strings.Cut(conversation, ":")
	p := Place{Connector: connector}
	p.Server, rest, _ = strings.Cut(rest, "/")
	p.Channel, p.Thread, _ = strings.Cut(rest, "/")
	return p
}

// Label returns what people call a place: "#general · Cozy Corner", "plans in #general · Cozy
// Corner". Unknown parts are left out; empty if all are unknown.
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

// String joins the parts to the name.
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

// Direct reports whether the place is a conversation with one person alone. Slack's direct messages
// belong to a server; the letter D identifies their channels.
func (p Place) Direct() bool {
	return p.Server == DirectServer || p.Connector == "slack" && strings.HasPrefix(p.Channel, "D")
}

// Audience is who may read a place, besides its members. A connector that does not know leaves it
// empty.
type Audience = store.Audience

// The audiences.
const (
	Members     = store.Members     // a private channel or thread, a direct message
	ChannelWide = store.ChannelWide // a thread: everyone who may read its channel
	ServerWide  = store.ServerWide  // a public channel and its public threads
)

func connectorOf(conversation string) string {
	connector, _, _ := strings.Cut(conversation, ":")
	return connector
}
