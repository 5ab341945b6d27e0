// Messages as Discord sends them, and their ids.

package discord

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// message contains the fields of a message that the connector uses. discordgo's type cannot be decoded if one
// component is of an unknown kind, and cannot distinguish the missing fields of an update from empty ones.
type message struct {
	ID          string
	ChannelID   string `json:"channel_id"`
	GuildID     string `json:"guild_id"` // in events only
	Type        discordgo.MessageType
	Flags       discordgo.MessageFlags
	Author      *user
	Member      *member // in events only
	WebhookID   string  `json:"webhook_id"`
	Content     *string // nil: missing
	Timestamp   string
	Edited      string `json:"edited_timestamp"`
	Mentions    []mentioned
	Roles       []string     `json:"mention_roles"`
	Attachments []attachment // nil: missing
	Embeds      []embed
	Components  []any
	Stickers    []struct{ Name string } `json:"sticker_items"`
	Poll        *poll
	Reference   *discordgo.MessageReference `json:"message_reference"`
	Referenced  *message                    `json:"referenced_message"`
	Snapshots   []struct{ Message message } `json:"message_snapshots"` // the messages that it forwards
	Nonce       json.RawMessage
}

type user struct {
	ID, Username string
	GlobalName   string `json:"global_name"`
	Bot          bool
}

type member struct {
	GuildID     string `json:"guild_id"` // in GUILD_MEMBER_UPDATE only
	User        *user  // not in messages
	Nick        string
	Roles       []string
	Permissions bitset // in interactions only
	TimedOut    string `json:"communication_disabled_until"`
	Joined      string `json:"joined_at"`
}

// timedOut returns until when the member may only read; zero: it may do more.
func (m member) timedOut() (until time.Time) {
	until, _ = time.Parse(time.RFC3339, m.TimedOut) // a missing time means never
	return until
}

// bitset is a set of permissions. In JSON it is a number, quoted or not, or null.
type bitset int64

// UnmarshalJSON decodes anything but a number as no permissions.
func (b *bitset) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(data), `"`), 10, 64)
	if err != nil {
		n = 0
	}
	*b = bitset(n)
	return nil
}

type mentioned struct {
	user
	Member *member
}

type attachment struct {
	Filename, Description, URL string
	ContentType                string `json:"content_type"`
	Size                       int64
	Seconds                    float64 `json:"duration_secs"` // of a voice message
}

// files describes the files of a message and of those that it forwards. The file of a voice message is its recording.
func (m message) files() (all []channel.Attachment) {
	for _, f := range m.Attachments {
		a := channel.Attachment{
			Kind: platform.KindOf(f.ContentType), Name: f.Filename, Size: f.Size, URL: f.URL, Caption: f.Description, Seconds: platform.Length(f.Seconds),
		}
		a.Type, _, _ = strings.Cut(f.ContentType, ";")
		if a.Kind == "audio" && m.Flags&discordgo.MessageFlagsIsVoiceMessage != 0 {
			a.Kind = chat.Voice
		}
		all = append(all, a)
	}
	for _, s := range m.Snapshots {
		all = append(all, s.Message.files()...)
	}
	return all
}

func (m message) text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// nonce returns the nonce, if it is a string and the history tells it.
func (m message) nonce() (nonce string) {
	_ = json.Unmarshal(m.Nonce, &nonce) // fails if it is something else
	return nonce
}

// isChat reports whether a person or an app wrote the message, or it says how a poll ended; other types are system messages.
func (m message) isChat() bool {
	return slices.Contains([]discordgo.MessageType{
		discordgo.MessageTypeDefault, discordgo.MessageTypeReply, discordgo.MessageTypeChatInputCommand,
		discordgo.MessageTypeContextMenuCommand, pollEnded,
	}, m.Type)
}

// name returns the user's display name in a server, or in direct messages if guild is empty; m may be nil.
func (u user) name(guild string, m *member) string {
	if guild != "" && m != nil && m.Nick != "" {
		return m.Nick
	}
	return cmp.Or(u.GlobalName, u.Username)
}

const epoch = 1420070400000 // of Discord's ids, in Unix milliseconds

// number parses a snowflake; 0 if it is invalid.
func number(id string) uint64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// newer reports whether a was created after b. An invalid snowflake is older than any valid one.
func newer(a, b string) bool { return number(a) > number(b) }

func byAge(a, b string) int { return cmp.Compare(number(a), number(b)) }

func timeOf(id string) time.Time { return time.UnixMilli(int64(number(id)>>22) + epoch).UTC() }

// idAt returns the first id that could be created at a time.
func idAt(t time.Time) string {
	return strconv.FormatInt(max(t.UnixMilli()-epoch, 0)<<22, 10)
}
