// Messages: people post, edit and delete them; what of them the bot may see.

package discordtest

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"
)

// Message is a message of a channel, with guild_id and member only in events (Discord, Message: Message Object).
type Message struct {
	discordgo.Message
	Components []json.RawMessage `json:"components"`
	Nonce      json.RawMessage   `json:"nonce,omitempty"`

	Deleted bool `json:"-"`
}

// Post is a person's message with more than plain text.
type Post struct {
	Content string
	ReplyTo string // id of a message in the same channel
	Files   []File
	Type    discordgo.MessageType // that of a reply if ReplyTo is set

	Poll    *discordgo.Poll // which has no content
	Forward string          // id of a message in the same channel, of which a snapshot is forwarded, without content

	Voice float64 // seconds of a voice message, which has one file and no content

	Embeds     []*discordgo.MessageEmbed // of an app
	Components []json.RawMessage         // of an app: those of version 2, which allow no content
}

// checkBuilt panics on what Discord refuses of an app's message: more than 10 embeds (Discord, Message: Embed Limits), content or
// embeds beside components of version 2, and components that are none (Discord, Components: Component Reference).
func (p Post) checkBuilt() {
	if len(p.Embeds) > 10 || len(p.Components) > 40 {
		panic("discordtest: too many embeds or components")
	}
	if len(p.Components) > 0 && (p.Content != "" || len(p.Embeds) > 0) {
		panic("discordtest: components of version 2 allow no content and no embeds")
	}
	for _, c := range p.Components {
		if _, err := discordgo.MessageComponentFromJSON(c); err != nil {
			panic("discordtest: no component: " + err.Error())
		}
	}
}

// Say posts a person's message.
func (s *Server) Say(channel, user, content string) Message {
	return s.Post(channel, user, Post{Content: content})
}

// Post posts a person's message.
func (s *Server) Post(channel, user string, p Post) (m Message) {
	s.do(func(w *world) {
		n := w.newMessage(w.channel(channel), w.user(user), p.Content)
		n.Type = p.Type
		p.checkBuilt()
		n.Embeds = append(n.Embeds, p.Embeds...)
		n.Components = append(n.Components, p.Components...)
		if len(p.Components) > 0 {
			n.Flags |= discordgo.MessageFlagsIsComponentsV2
		}
		if p.ReplyTo != "" {
			n.reply(w.message(channel, p.ReplyTo))
		}
		n.mention(w, allowAll)
		for _, f := range p.Files {
			n.Attachments = append(n.Attachments, w.attach(n, f))
		}
		n.voice(p)
		n.ask(w, p)
		w.post(n)
		m = *n
	})
	return m
}

// Edit changes a message's content.
func (s *Server) Edit(channel, message, content string) {
	s.do(func(w *world) {
		m := w.message(channel, message)
		if m.is(discordgo.MessageFlagsIsVoiceMessage) {
			panic("discordtest: a voice message cannot be edited")
		}
		m.edit(content, w.now())
		m.mention(w, allowAll)
		w.dispatchMessage("MESSAGE_UPDATE", m)
	})
}

// Delete deletes messages; two or more at once cause one MESSAGE_DELETE_BULK.
func (s *Server) Delete(channel string, messages ...string) {
	s.do(func(w *world) {
		if len(messages) == 1 {
			w.deleted(w.message(channel, messages[0]))
			return
		}
		for _, id := range messages {
			w.message(channel, id).Deleted = true
		}
		w.messageEvent(w.channel(channel), "MESSAGE_DELETE_BULK", map[string]any{"ids": messages})
	})
}

func intentOf(c *discordgo.Channel) discordgo.Intent {
	if c.GuildID == "" {
		return discordgo.IntentDirectMessages
	}
	return discordgo.IntentGuildMessages
}

func (w *world) message(channel, id string) *Message {
	if m := w.find(channel, id); m != nil {
		return m
	}
	panic("discordtest: the script names a message that is not there: " + id)
}

func (w *world) find(channel, id string) *Message {
	for _, m := range w.messages[channel] {
		if m.ID == id && !m.Deleted {
			return m
		}
	}
	return nil
}

func (w *world) newMessage(c *discordgo.Channel, author *discordgo.User, content string) *Message {
	m := &Message{Components: []json.RawMessage{}}
	m.ID = w.newID()
	m.ChannelID = c.ID
	m.Author = author
	m.Content = content
	m.Timestamp = w.now()
	m.Attachments = []*discordgo.MessageAttachment{}
	m.Embeds = []*discordgo.MessageEmbed{}
	return m
}

func (w *world) post(m *Message) {
	w.messages[m.ChannelID] = append(w.messages[m.ChannelID], m)
	if !m.is(discordgo.MessageFlagsEphemeral) {
		w.channel(m.ChannelID).LastMessageID = m.ID
	}
	w.dispatchMessage("MESSAGE_CREATE", m)
}

func (m *Message) is(flag discordgo.MessageFlags) bool { return m.Flags&flag != 0 }

func (w *world) dispatchMessage(name string, m *Message) {
	c := w.channel(m.ChannelID)
	e := *m
	if g := w.guilds[c.GuildID]; g != nil {
		e.GuildID = g.ID
		if n := member(g, m.Author.ID); n != nil {
			e.Member = &discordgo.Member{Nick: n.Nick, Roles: n.Roles, JoinedAt: n.JoinedAt}
		}
	}
	if !m.is(discordgo.MessageFlagsEphemeral) {
		w.announce(c, event{name: name, intent: intentOf(c), message: &e})
	}
}

func (m *Message) reply(to *Message) {
	referenced := to.Message
	referenced.ReferencedMessage = nil // only one level (judgement)
	m.Type = discordgo.MessageTypeReply
	m.ReferencedMessage = &referenced
	m.MessageReference = &discordgo.MessageReference{MessageID: to.ID, ChannelID: to.ChannelID}
}

func (m *Message) edit(content string, at time.Time) {
	m.Content = content
	m.EditedTimestamp = &at
}

// visibleTo returns the message as a bot with or without access to content sees it: without, only its own messages,
// direct messages and messages that mention it have content (Discord, Gateway: Message Content Intent).
func (w *world) visibleTo(m Message, access bool) Message {
	own := m.Author.ID == w.bot.ID
	direct := w.channel(m.ChannelID).Type == discordgo.ChannelTypeDM
	named := slices.Contains(m.Mentions, w.bot)
	if m.ReferencedMessage != nil {
		r := w.visibleTo(Message{Message: *m.ReferencedMessage}, access)
		m.ReferencedMessage = &r.Message
	}
	if !access && !own && !direct && !named {
		m.Content = ""
		m.Attachments = []*discordgo.MessageAttachment{}
		m.Embeds = []*discordgo.MessageEmbed{}
		m.Components = []json.RawMessage{}
		m.Poll = nil
	}
	return m
}

var mentionForm = regexp.MustCompile(`<@([!&]?)(\d+)>`)

// mention sets whom the content notifies (Discord, Message: Allowed Mentions Object).
func (m *Message) mention(w *world, a discordgo.MessageAllowedMentions) {
	m.Mentions = []*discordgo.User{}
	m.MentionRoles = []string{}
	for _, found := range mentionForm.FindAllStringSubmatch(m.Content, -1) {
		id := found[2]
		switch u := w.users[id]; {
		case found[1] == "&" && (slices.Contains(a.Parse, "roles") || slices.Contains(a.Roles, id)):
			m.MentionRoles = appendNew(m.MentionRoles, id)
		case found[1] != "&" && u != nil && (slices.Contains(a.Parse, "users") || slices.Contains(a.Users, id)):
			m.Mentions = appendNew(m.Mentions, u)
		}
	}
	if m.ReferencedMessage != nil && a.RepliedUser {
		m.Mentions = appendNew(m.Mentions, m.ReferencedMessage.Author)
	}
}

func appendNew[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}
