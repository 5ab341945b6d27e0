// Who may read a channel.

package slack

import (
	"encoding/json"

	"cairn/channel"
)

// members are the members of a channel, as far as an event says.
type members struct {
	kind   string // channel, group, im, mpim; empty: it is not told, as with app_mention
	shared bool   // with another organisation
}

func membersOf(payload json.RawMessage) members {
	var outer struct {
		Shared bool `json:"is_ext_shared_channel"`
		Event  struct {
			Kind string `json:"channel_type"`
		} `json:"event"`
	}
	if json.Unmarshal(payload, &outer) != nil {
		return members{}
	}
	return members{outer.Event.Kind, outer.Shared}
}

// audience returns who may read a place; empty if unknown. A thread has the readers of its channel.
// A channel shared with another organisation is not public.
func (m members) audience(p channel.Place) channel.Audience {
	switch {
	case m.kind == "":
		return ""
	case m.kind == "channel" && !m.shared:
		return channel.ServerWide
	case p.Thread != "":
		return channel.ChannelWide
	}
	return channel.Members
}
