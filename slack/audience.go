// Who may read a channel.

package slack

import (
	"encoding/json"

	"cairn/channel"
)

// members are who is in a channel, as an event tells it.
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

// audience is who may read a place of the channel; empty if that is not known. A
// thread is read by all who read its channel. What another organisation reads too is
// no public channel of this one.
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
