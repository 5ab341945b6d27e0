// Posting and reacting. Each message is posted once, and can be found again.

package discord

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/internal/platform"
)

// post is the JSON of a new message, of an edit, or of the answer to an interaction. discordgo's types have no nonce.
type post struct {
	Content   string                           `json:"content"`
	Nonce     string                           `json:"nonce,omitempty"`
	Enforce   bool                             `json:"enforce_nonce,omitempty"`
	Mentions  discordgo.MessageAllowedMentions `json:"allowed_mentions"`
	Reference *discordgo.MessageReference      `json:"message_reference,omitempty"`
	Flags     int                              `json:"flags,omitempty"`

	Components []discordgo.MessageComponent `json:"components,omitzero"` // empty: those of the edited message go
}

// textPost returns a message that notifies no one: by default Discord notifies everyone whom the model mentions.
func textPost(text string) post {
	return post{Content: text, Mentions: discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}} // never null
}

// nonce hashes parts into 25 characters. For a few minutes Discord posts no second message with the same nonce.
func nonce(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q", parts)))
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])[:25]
}

// newPost returns a message that replies to the message to, unless that is empty.
func newPost(channel, text, to, nonce string) post {
	p := textPost(text)
	if p.Nonce, p.Enforce = nonce, true; to != "" {
		p.Reference = &discordgo.MessageReference{MessageID: to, ChannelID: channel, FailIfNotExists: new(bool)}
	}
	return p
}

// create posts a message and returns it. If one with the same nonce was posted before, it returns that.
func (d *Discord) create(ctx context.Context, channel string, p post, once bool) (made message, err error) {
	c := call{method: http.MethodPost, path: "/channels/" + channel + "/messages", body: p, into: &made, once: once}
	err = d.rest.do(ctx, c)
	if refusalIn(err).code == codeNoReplyHere {
		p.Reference = nil
		c.body = p
		err = d.rest.do(ctx, c)
	}
	if err == nil && made.ID == "" {
		err = fmt.Errorf("%s: the answer has no id", c.describe())
	}
	return made, err
}

func (d *Discord) editMessage(ctx context.Context, channel, id, text string, once bool) error {
	return d.rest.do(ctx, call{method: http.MethodPatch, path: "/channels/" + channel + "/messages/" + id, body: textPost(text), once: once})
}

// sameText reports whether two texts are equal to Discord, which trims space at both ends.
func sameText(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// maxSearch is the maximum number of history pages searched for a message.
const maxSearch = 5

// findSent returns the message in which a piece was sent; its id is empty if there is none.
func (d *Discord) findSent(ctx context.Context, conversation string, piece channel.Piece) (message, error) {
	return d.find(ctx, conversation, piece.Reply, piece.To, func(m message) bool {
		switch first := piece.Part == 0 && len(piece.To) > 0; {
		case m.nonce() != "":
			return m.nonce() == nonceOf(conversation, piece) || first && m.repliesTo(piece.To)
		case first && m.Reference != nil:
			return m.repliesTo(piece.To)
		}
		return m.Reference == nil && sameText(m.text(), piece.Text)
	})
}

// findStarted returns the messages in which an earlier process started the reply to the messages to: the one that
// references any of them, and those that follow without a reference. reply is its id, once it has one.
func (d *Discord) findStarted(ctx context.Context, conversation, reply string, to []string) (pieces []message, err error) {
	_, err = d.find(ctx, conversation, reply, to, func(m message) bool {
		switch {
		case len(pieces) == 0 && !m.repliesTo(to):
			return false
		case len(pieces) > 0 && (m.Reference != nil || m.Type != 0 || !timeOf(m.ID).Before(d.started)): // it belongs to another reply
			return true
		}
		pieces = append(pieces, m)
		return false
	})
	return pieces, err
}

func (m message) repliesTo(to []string) bool {
	return m.Reference != nil && slices.Contains(to, m.Reference.MessageID)
}

// find returns the bot's first message for which is returns true; its id is empty if there is none.
// It searches after the oldest message in to, or among the newest messages if to is empty, and skips
// those of which the hub knows that they belong to another reply, such as a notice posted in between.
func (d *Discord) find(ctx context.Context, conversation, reply string, to []string, is func(message) bool) (message, error) {
	after := ""
	if len(to) > 0 {
		after = slices.MinFunc(to, byAge)
	}
	me, err := d.self(ctx)
	if err != nil {
		return message{}, err
	}
	for range maxSearch {
		page, err := d.messages(ctx, channelID(conversation), after, "", maxPage, false)
		if err != nil {
			return message{}, fmt.Errorf("look for what was sent: %w", err)
		}
		for _, m := range page {
			if m.Author == nil || m.Author.ID != me.ID {
				continue
			}
			sent, known, err := d.Hub.SentAs(ctx, conversation, m.ID)
			if err != nil {
				return message{}, err
			}
			if (!known || sent.Reply == reply) && is(m) {
				return m, nil
			}
		}
		if len(page) < maxPage || after == "" {
			break
		}
		after = page[len(page)-1].ID
	}
	return message{}, nil
}

func nonceOf(conversation string, p channel.Piece) string {
	return nonce(conversation, p.Reply, p.Part)
}

// summarizedReaction marks messages that were summarized.
const summarizedReaction = "📚"

// React adds the reaction to a message. If the bot lacks the permission, it logs that once per channel and returns nil.
func (d *Discord) React(ctx context.Context, conversation, id string) error {
	place := channelID(conversation)
	path := "/channels/" + place + "/messages/" + id + "/reactions/" + url.PathEscape(summarizedReaction) + "/@me"
	err := d.rest.do(ctx, call{method: http.MethodPut, path: path, background: true})
	if refusalIn(err).code != codeNotPermitted {
		return err
	}
	if !d.reactionRefused.Seen(place) {
		d.Log.Warn("reaction_refused", "missing_permissions", "Add Reactions, Read Message History", "channel", place)
	}
	return nil
}

// messages splits replies at 2000 UTF-16 units, the strictest reading of Discord's "2000 characters" (Message: Create Message).
var messages = platform.Splitter{Limit: 2000}

// Split splits a reply into messages.
func (d *Discord) Split(text string) []string {
	pieces := messages.Texts(text, "…") // Discord rejects empty messages
	for i, p := range pieces {
		pieces[i] = strings.TrimRightFunc(p, unicode.IsSpace)
	}
	return pieces
}
