// Posting and reacting: each message once, and how a posted one is found again.

package discord

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
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

// post is a new message.
type post struct {
	Content   string          `json:"content"`
	Nonce     string          `json:"nonce,omitempty"`
	Enforce   bool            `json:"enforce_nonce,omitempty"`
	Mentions  allowedMentions `json:"allowed_mentions"`
	Reference *replyTo        `json:"message_reference,omitempty"`

	Components []discordgo.MessageComponent `json:"components,omitempty"`
}

// allowedMentions suppresses all notifications: by default Discord would notify everybody whom the
// model mentions.
type allowedMentions struct {
	Parse       []string `json:"parse"` // never null
	RepliedUser bool     `json:"replied_user"`
}

func nobody() allowedMentions { return allowedMentions{Parse: []string{}} }

type replyTo struct {
	MessageID string `json:"message_id"`
	ChannelID string `json:"channel_id"`
	Fail      bool   `json:"fail_if_not_exists"`
}

// nonce identifies a message in the 25 characters that Discord allows, so that it is not posted
// twice within minutes.
func nonce(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q", parts)))
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])[:25]
}

// newPost is a message that replies to another, if to is not empty.
func newPost(channel, text, to, nonce string) post {
	p := post{Content: text, Nonce: nonce, Enforce: true, Mentions: nobody()}
	if to != "" {
		p.Reference = &replyTo{MessageID: to, ChannelID: channel}
	}
	return p
}

// create posts a message and returns it; it may be one posted before with the same nonce.
func (d *Discord) create(ctx context.Context, channel string, p post, once bool) (made message, err error) {
	c := call{method: http.MethodPost, path: "/channels/" + channel + "/messages", body: p, into: &made, once: once}
	err = d.rest.do(ctx, c)
	if refusedWith(err, codeNoReplyHere) {
		p.Reference = nil
		c.body = p
		err = d.rest.do(ctx, c)
	}
	if err == nil && made.ID == "" {
		err = fmt.Errorf("%s: the answer has no id", c.what())
	}
	return made, err
}

// editMessage edits one of the bot's messages.
func (d *Discord) editMessage(ctx context.Context, channel, id, text string, once bool) error {
	body := struct {
		Content  string          `json:"content"`
		Mentions allowedMentions `json:"allowed_mentions"`
	}{text, nobody()}
	return d.rest.do(ctx, call{method: http.MethodPatch, path: "/channels/" + channel + "/messages/" + id, body: body, once: once})
}

// same compares as Discord does, which trims space at both ends.
func same(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// maxSearch is how many pages of history are searched for a message.
const maxSearch = 5

// sent finds the message in which a piece arrived; the id is empty if there is none.
func (d *Discord) sent(ctx context.Context, conversation string, piece channel.Piece) (message, error) {
	key, _ := json.Marshal(nonceOf(conversation, piece)) // a string always can be
	return d.find(ctx, channelID(conversation), piece.To, func(m message) bool {
		if len(m.Nonce) > 0 && string(m.Nonce) != "null" {
			return string(m.Nonce) == string(key) || piece.Part == 0 && m.answers(piece.To)
		}
		if piece.Part == 0 && len(piece.To) > 0 && m.Reference != nil {
			return m.answers(piece.To)
		}
		return m.Reference == nil && same(m.text(), piece.Text)
	})
}

// findStarted finds the messages in which an earlier process began the reply to these: the one that
// references them, and those that follow, which have no reference. A notice posted in between has
// no reference either, but the hub knows its id.
func (d *Discord) findStarted(ctx context.Context, conversation string, to []string) (pieces []message, err error) {
	var failed error
	_, err = d.find(ctx, channelID(conversation), to, func(m message) bool {
		switch {
		case len(pieces) == 0:
			if m.answers(to) {
				pieces = append(pieces, m)
			}
			return false
		case m.Reference != nil || m.Type != 0 || !timeOf(m.ID).Before(d.started): // another reply
			return true
		}
		sent, known, err := d.hub.SentAs(ctx, conversation, m.ID)
		if !known || slices.Equal(sent.To, to) {
			pieces = append(pieces, m)
		}
		failed = err
		return err != nil
	})
	return pieces, errors.Join(err, failed)
}

func (m message) answers(to []string) bool {
	return m.Reference != nil && slices.Contains(to, m.Reference.MessageID)
}

// find searches for a message of the bot, after the oldest message in to, or among the newest.
func (d *Discord) find(ctx context.Context, channel string, to []string, is func(message) bool) (message, error) {
	after := ""
	for _, id := range to {
		if after == "" || newer(after, id) {
			after = id
		}
	}
	me, err := d.self(ctx)
	if err != nil {
		return message{}, err
	}
	for range maxSearch {
		page, err := d.messages(ctx, channel, after, "", maxPage, false)
		if err != nil {
			return message{}, fmt.Errorf("look for what was sent: %w", err)
		}
		for _, m := range page {
			if m.Author != nil && m.Author.ID == me.ID && is(m) {
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

// summarizedReaction is the reaction.
const summarizedReaction = "📚"

// React adds the reaction to a message. If the bot may not, it logs once per channel which
// permission is missing, and returns nil.
func (d *Discord) React(ctx context.Context, conversation, id string) error {
	place := channelID(conversation)
	err := d.rest.do(ctx, call{
		method: http.MethodPut, path: "/channels/" + place + "/messages/" + id + "/reactions/" + url.PathEscape(summarizedReaction) + "/@me", background: true,
	})
	if !refusedWith(err, codeNotPermitted) {
		return err
	}
	if !d.reactionRefused.Seen(place) {
		d.log.Warn("reaction_refused",
			"missing_permissions", "Add Reactions, Read Message History", "channel", place)
	}
	return nil
}

// messages splits at the length of a message in UTF-16 units, the strictest reading of Discord's
// "2000 characters" (Message: Create Message).
var messages = platform.Splitter{Limit: 2000}

// Split splits a reply into messages.
func (d *Discord) Split(text string) []string {
	pieces := messages.Texts(text, "…") // Discord takes no empty message
	for i, p := range pieces {
		pieces[i] = strings.TrimRightFunc(p, unicode.IsSpace)
	}
	return pieces
}
