// Messages: people post, edit and delete them; what of them the bot may see.
package discordtest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"time"
)

// Types of messages, and flags (Discord, Message: Message Types, Flags).
const (
	MessageDefault = 0
	MessageReply   = 19
	MessageCommand = 20

	FlagEphemeral = 1 << 6
	FlagLoading   = 1 << 7 // a deferred response: "… is thinking"
)

// Message is a message of a channel (Discord, Message: Message Object).
type Message struct {
	ID           string            `json:"id"`
	ChannelID    string            `json:"channel_id"`
	GuildID      string            `json:"guild_id,omitempty"` // only in events
	Author       User              `json:"author"`
	Member       *Member           `json:"member,omitempty"` // only in events
	Content      string            `json:"content"`
	Timestamp    time.Time         `json:"timestamp"`
	Edited       *time.Time        `json:"edited_timestamp"`
	Type         int               `json:"type"`
	Mentions     []User            `json:"mentions"` // the users that are notified
	MentionRoles []string          `json:"mention_roles"`
	Attachments  []Attachment      `json:"attachments"`
	Embeds       []json.RawMessage `json:"embeds"`
	Components   []json.RawMessage `json:"components"`
	Reactions    []Reaction        `json:"reactions,omitempty"`
	Flags        int               `json:"flags"`
	WebhookID    string            `json:"webhook_id,omitempty"`
	Nonce        json.RawMessage   `json:"nonce,omitempty"`
	Reference    *Reference        `json:"message_reference,omitempty"`
	Referenced   *Message          `json:"referenced_message,omitempty"`

	Edits   []Edit `json:"-"` // each later content, oldest first
	Deleted bool   `json:"-"`
}

// Reference identifies the message that a reply answers.
type Reference struct {
	MessageID       string `json:"message_id"`
	ChannelID       string `json:"channel_id,omitempty"`
	GuildID         string `json:"guild_id,omitempty"`
	FailIfNotExists *bool  `json:"fail_if_not_exists,omitempty"`
}

// Edit is a new content with its time.
type Edit struct {
	At      time.Time
	Content string
}

// Post is a person's message with more than plain text.
type Post struct {
	Content string
	ReplyTo string // id of a message in the same channel
	Files   []File
	Webhook string // id of the webhook that posts it under the user's name
	Type    int    // MessageReply if ReplyTo is set
}

// Say posts a person's message.
func (s *Server) Say(channel, user, content string) Message {
	return s.Post(channel, user, Post{Content: content})
}

// Post posts a person's message.
func (s *Server) Post(channel, user string, p Post) (m Message) {
	s.do(func(w *world) {
		n := w.newMessage(w.channel(channel), *w.user(user), p.Content)
		n.Type, n.WebhookID = p.Type, p.Webhook
		if p.ReplyTo != "" {
			_, to := w.message(channel, p.ReplyTo)
			n.reply(to)
		}
		n.mention(w, allowed{Parse: []string{"users", "roles", "everyone"}, RepliedUser: true})
		for _, f := range p.Files {
			n.Attachments = append(n.Attachments, w.attach(n, f))
		}
		w.post(n)
		m = n.copy()
	})
	return m
}

// Edit changes a message's content.
func (s *Server) Edit(channel, message, content string) {
	s.do(func(w *world) {
		_, m := w.message(channel, message)
		m.edit(content)
		m.mention(w, allowed{Parse: []string{"users", "roles", "everyone"}})
		w.dispatchMessage("MESSAGE_UPDATE", m)
	})
}

// Embed adds a link preview with a MESSAGE_UPDATE that has no content or author, as older and
// compatible servers send it (judgement: the page promises the whole message).
func (s *Server) Embed(channel, message string) {
	s.do(func(w *world) {
		c, m := w.message(channel, message)
		m.Embeds = append(m.Embeds, encode(map[string]any{"type": "link", "url": "https://example.com"}))
		part := map[string]any{"id": m.ID, "channel_id": m.ChannelID, "embeds": m.Embeds}
		if c.GuildID != "" {
			part["guild_id"] = c.GuildID
		}
		w.channelEvent(c, "MESSAGE_UPDATE", part)
	})
}

// Delete deletes messages; two or more at once cause one MESSAGE_DELETE_BULK.
func (s *Server) Delete(channel string, messages ...string) {
	s.do(func(w *world) {
		if len(messages) == 1 {
			_, m := w.message(channel, messages[0])
			w.deleted(m)
			return
		}
		c := w.channel(channel)
		for _, id := range messages {
			_, m := w.message(channel, id)
			m.Deleted = true
		}
		data := map[string]any{"channel_id": channel, "ids": messages}
		if c.GuildID != "" {
			data["guild_id"] = c.GuildID
		}
		w.channelEvent(c, "MESSAGE_DELETE_BULK", data)
	})
}

// intent returns the intent for messages of this channel.
func (c *Channel) intent() int {
	if c.GuildID == "" {
		return IntentDirectMessages
	}
	return IntentGuildMessages
}

func (w *world) message(channel, id string) (*Channel, *Message) {
	c := w.channel(channel)
	if m := w.find(channel, id); m != nil {
		return c, m
	}
	panic("discordtest: the script names a message that is not there: " + id)
}

// find returns a message that is not deleted, or nil.
func (w *world) find(channel, id string) *Message {
	for _, m := range w.messages[channel] {
		if m.ID == id && !m.Deleted {
			return m
		}
	}
	return nil
}

func (w *world) newMessage(c *Channel, author User, content string) *Message {
	return &Message{
		ID: w.newID(), ChannelID: c.ID, Author: author, Content: content, Timestamp: time.Now().UTC(),
		Mentions: []User{}, MentionRoles: []string{}, Attachments: []Attachment{},
		Embeds: []json.RawMessage{}, Components: []json.RawMessage{},
	}
}

func (w *world) post(m *Message) {
	w.messages[m.ChannelID] = append(w.messages[m.ChannelID], m)
	w.channel(m.ChannelID).LastID = m.ID
	w.dispatchMessage("MESSAGE_CREATE", m)
}

func (w *world) dispatchMessage(name string, m *Message) {
	c := w.channel(m.ChannelID)
	e := m.copy()
	if g := w.guilds[c.GuildID]; g != nil {
		e.GuildID = g.ID
		if member := g.Members[m.Author.ID]; member != nil && m.WebhookID == "" {
			e.Member = &Member{Nick: member.Nick, Roles: member.Roles, JoinedAt: member.JoinedAt}
		}
	}
	if w.may(c, PermissionViewChannel) {
		w.dispatch(event{name: name, intent: c.intent(), message: &e})
	}
}

func (m *Message) reply(to *Message) {
	referenced := to.copy()
	referenced.Referenced = nil // only one level (judgement)
	m.Type, m.Referenced = MessageReply, &referenced
	m.Reference = &Reference{MessageID: to.ID, ChannelID: to.ChannelID}
}

func (m *Message) edit(content string) {
	now := time.Now().UTC()
	m.Content, m.Edited = content, &now
	m.Edits = append(m.Edits, Edit{now, content})
}

// visibleTo returns the message as a bot with or without access to content sees it: without, only
// its own messages, direct messages and messages that mention it have content (Discord, Gateway:
// Message Content Intent).
func (w *world) visibleTo(m Message, access bool) Message {
	own := m.Author.ID == w.bot.ID
	direct := w.channel(m.ChannelID).Type == DirectChat
	named := slices.ContainsFunc(m.Mentions, func(u User) bool { return u.ID == w.bot.ID })
	if m.Referenced != nil {
		r := w.visibleTo(*m.Referenced, access)
		m.Referenced = &r
	}
	if access || own || direct || named {
		return m
	}
	m.Content, m.Attachments = "", []Attachment{}
	m.Embeds, m.Components = []json.RawMessage{}, []json.RawMessage{}
	return m
}

var mentionForm = regexp.MustCompile(`<@([!&]?)(\d+)>`)

// mention sets the users and roles that the content notifies, limited to the allowed ones (Discord,
// Message: Allowed Mentions Object).
func (m *Message) mention(w *world, a allowed) {
	m.Mentions, m.MentionRoles = []User{}, []string{}
	for _, found := range mentionForm.FindAllStringSubmatch(m.Content, -1) {
		id := found[2]
		switch u := w.users[id]; {
		case found[1] == "&" && a.permits("roles", a.Roles, id) && !slices.Contains(m.MentionRoles, id):
			m.MentionRoles = append(m.MentionRoles, id)
		case found[1] != "&" && u != nil && a.permits("users", a.Users, id):
			m.mentionUser(*u)
		}
	}
	if m.Referenced != nil && a.RepliedUser {
		m.mentionUser(m.Referenced.Author)
	}
}

func (m *Message) mentionUser(u User) {
	if !slices.ContainsFunc(m.Mentions, func(other User) bool { return other.ID == u.ID }) {
		m.Mentions = append(m.Mentions, u)
	}
}

// File is a file attached by a person.
type File struct {
	Name, ContentType string
	Data              []byte
}

// Attachment is a file of a message; the double serves its URL.
type Attachment struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type,omitempty"`
	Size        int    `json:"size"`
	URL         string `json:"url"`
	ProxyURL    string `json:"proxy_url"`
}

// attach stores a file and returns it as an attachment.
func (w *world) attach(m *Message, f File) Attachment {
	id := w.newID()
	path := "/attachments/" + m.ChannelID + "/" + id + "/" + f.Name
	w.files[path] = f
	return Attachment{
		ID: id, Filename: f.Name, ContentType: f.ContentType, Size: len(f.Data),
		URL: w.url + path, ProxyURL: w.url + path,
	}
}

// serveFile requires no token. Requests and Fail also apply to downloads, by their path.
func (s *Server) serveFile(rw http.ResponseWriter, r *http.Request) {
	record := &Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery}
	s.exchange(rw, r, record, func(w *world, f *Fault) answer {
		if f != nil && f.breaks() {
			return f.answer()
		}
		file, ok := w.files[r.URL.Path]
		if !ok {
			return answer{status: http.StatusNotFound, body: []byte("This content is no longer available.")}
		}
		return answer{status: http.StatusOK, header: http.Header{"Content-Type": {file.ContentType}}, body: file.Data}
	})
}
