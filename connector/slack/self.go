// Who the bot is.

package slack

import (
	"sync/atomic"
	"time"

	"cairn/chat"
)

// self is who the bot is. It is set before the group of goroutines is opened, apart from renamed.
type self struct {
	team, user, bot, name string
	workspace             string    // name of the team
	url                   string    // of the workspace, with a slash at the end
	since                 time.Time // when this process authenticated, by Slack's clock
	agent                 bool      // the app has the scope that Slack gives to agents: its direct messages consist of threads

	renamed atomic.Pointer[string] // the bot's name since an event changed it; nil: name is it
}

// currentName returns what people call the bot.
func (me *self) currentName() string {
	if called := me.renamed.Load(); called != nil {
		return *called
	}
	return me.name
}

func (me *self) place(channelID, thread string) chat.Place {
	return chat.Place{Connector: Name, Server: me.team, Channel: channelID, Thread: thread}
}

// wrote reports whether the bot wrote a message.
func (me *self) wrote(m message) bool {
	return m.User == me.user || m.BotID != "" && m.BotID == me.bot
}
