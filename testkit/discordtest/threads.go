// Threads: people and the bot start them, and they can be archived and locked.

package discordtest

import (
	"net/http"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"
)

// Thread adds a public thread under a channel, started by a user.
func (s *Server) Thread(parent, user, name string) discordgo.Channel {
	return s.addChannel("THREAD_CREATE", func(w *world) *discordgo.Channel {
		meta := &discordgo.ThreadMetadata{AutoArchiveDuration: 4320, ArchiveTimestamp: time.Now().UTC()}
		p := w.channel(parent)
		return &discordgo.Channel{
			Type: discordgo.ChannelTypeGuildPublicThread, GuildID: p.GuildID, ParentID: p.ID, OwnerID: user, Name: name, ThreadMetadata: meta,
		}
	})
}

// Archive archives a thread. A message unarchives it, unless it is locked (Discord, Threads: Active & Archived Threads).
func (s *Server) Archive(thread string, locked bool) {
	s.do(func(w *world) { w.archive(w.channel(thread), true, locked) })
}

func (w *world) archive(c *discordgo.Channel, archived, locked bool) {
	meta := *c.ThreadMetadata
	meta.Archived = archived
	meta.Locked = locked
	meta.ArchiveTimestamp = time.Now().UTC()
	c.ThreadMetadata = &meta
	w.announce(c, event{name: "THREAD_UPDATE", intent: discordgo.IntentGuilds, data: c})
}

// writable: Discord, Threads: Locked Threads; Opcodes and Status Codes: JSON Error Codes.
func (w *world) writable(c *discordgo.Channel, edit bool) {
	if !c.IsThread() {
		return
	}
	refuseIf(c.ThreadMetadata.Locked && !w.may(c, discordgo.PermissionManageThreads), &apiError{status: http.StatusBadRequest, code: 160005, message: "Thread is locked"})
	refuseIf(c.ThreadMetadata.Archived && edit, &apiError{status: http.StatusBadRequest, code: 50083, message: "Thread is archived"})
}

// startThread: Discord, Channel: Start Thread from Message. The thread has the id of the message, and the bot started it. That another kind
// of channel is refused with this code is judgement, from its text.
func (w *world) startThread(q query) any {
	c := w.channelOf(q)
	m := w.messageOf(q)
	ofChannel := c.Type == discordgo.ChannelTypeGuildText || c.Type == discordgo.ChannelTypeGuildNews
	refuseIf(!ofChannel, &apiError{status: http.StatusBadRequest, code: 50024, message: "Cannot execute action on this channel type"})
	refuseIf(!w.may(c, discordgo.PermissionCreatePublicThreads), errPermission)
	var asked struct {
		Name    string `json:"name"`
		Archive *int   `json:"auto_archive_duration"`
	}
	q.decode(&asked)
	n := len([]rune(asked.Name))
	refuseIf(n < 1 || n > 100, invalid("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length."))
	known := asked.Archive == nil || slices.Contains([]int{60, 1440, 4320, 10080}, *asked.Archive)
	refuseIf(!known, invalid("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of {60, 1440, 4320, 10080}."))
	refuseIf(w.channels[m.ID] != nil, &apiError{status: http.StatusBadRequest, code: 160004, message: "A thread has already been created for this message"})
	return *w.startFrom(c, m, w.bot.ID, asked.Name)
}

// StartThread has a person start a thread from a message; it has the message's id.
func (s *Server) StartThread(channel, message, user, name string) (c discordgo.Channel) {
	s.do(func(w *world) { c = *w.startFrom(w.channel(channel), w.message(channel, message), user, name) })
	return c
}

// startFrom starts a thread from a message, which fires Thread Create and Message Update. The thread begins with a message of the
// system that refers to it (Discord, Message: Message Reference, Content Attribution; that who started the thread is its author is judgement).
func (w *world) startFrom(c *discordgo.Channel, m *Message, user, name string) *discordgo.Channel {
	t := &discordgo.Channel{
		ID: m.ID, Type: discordgo.ChannelTypeGuildPublicThread, GuildID: c.GuildID, ParentID: c.ID, OwnerID: user, Name: name,
		ThreadMetadata: &discordgo.ThreadMetadata{AutoArchiveDuration: 4320, ArchiveTimestamp: w.now()},
	}
	if c.Type == discordgo.ChannelTypeGuildNews {
		t.Type = discordgo.ChannelTypeGuildNewsThread
	}
	w.channels[t.ID] = t
	m.Flags |= discordgo.MessageFlagsHasThread
	w.announce(t, event{name: "THREAD_CREATE", intent: discordgo.IntentGuilds, data: discordgo.ThreadCreate{Channel: t, NewlyCreated: true}})
	w.dispatchMessage("MESSAGE_UPDATE", m)
	starter := w.newMessage(t, w.user(user), "")
	starter.reply(m)
	starter.Type = discordgo.MessageTypeThreadStarterMessage
	w.post(starter)
	return t
}

// RemoveThread has a moderator delete a thread with its messages.
func (s *Server) RemoveThread(thread string) {
	s.do(func(w *world) {
		c := w.channel(thread)
		delete(w.channels, thread)
		gone := map[string]any{"id": c.ID, "guild_id": c.GuildID, "parent_id": c.ParentID, "type": c.Type}
		w.dispatch(event{name: "THREAD_DELETE", intent: discordgo.IntentGuilds, guild: c.GuildID, data: gone})
	})
}
