// The name of a conversation, and the place that it names.

package chat

import "strings"

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

// String joins the parts to the name.
func (p Place) String() string {
	return p.Connector + ":" + strings.TrimRight(p.Server+"/"+p.Channel+"/"+p.Thread, "/")
}

// Direct reports whether the place is a conversation with one person alone. Slack's direct messages
// belong to a server; the letter D identifies their channels.
func (p Place) Direct() bool {
	return p.Server == DirectServer || p.Connector == "slack" && strings.HasPrefix(p.Channel, "D")
}

// PlaceLabel returns what people call a place: "#general · Cozy Corner", "plans in #general · Cozy
// Corner". Unknown parts are left out; empty if all are unknown.
func PlaceLabel(thread, channel, server string) string {
	if channel != "" {
		channel = "#" + channel
	}
	if thread != "" && channel != "" {
		channel = " in " + channel
	}
	if thread+channel != "" && server != "" {
		server = " · " + server
	}
	return thread + channel + server
}
