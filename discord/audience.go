// Who may read a channel or a thread.

package discord

import (
	"github.com/bwmarrin/discordgo"

	"cairn/channel"
)

// audience returns who may read a place; empty if unknown.
func (a *stateCache) audience(id string) channel.Audience {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, known := a.places[id]
	switch {
	case !known:
		return ""
	case p.Guild == "" || p.Secret:
		return channel.Members
	case p.Parent != "":
		if a.openLocked(p.Parent) == channel.ServerWide {
			return channel.ServerWide
		}
		return channel.ChannelWide
	}
	return a.openLocked(id)
}

// openLocked returns ServerWide if everyone on the server may read a channel (Discord, Permissions:
// Permission Overwrites), else Members; empty if unknown.
func (a *stateCache) openLocked(id string) channel.Audience {
	p := a.places[id]
	everyone, known := a.guilds[p.Guild].Roles[p.Guild]
	if !known || !p.Told {
		return ""
	}
	const needed = discordgo.PermissionViewChannel | discordgo.PermissionReadMessageHistory
	can := everyone.Permissions
	if can&discordgo.PermissionAdministrator == 0 && (can&^p.Deny|p.Allow)&needed != needed {
		return channel.Members
	}
	return channel.ServerWide
}
