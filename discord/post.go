// Messages on their way to Discord, each posted once, and how they are found again.

package discord

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cairn/channel"
)

// post is a message on its way to Discord.
type post struct {
	Content   string          `json:"content"`
	Nonce     string          `json:"nonce,omitempty"`
	Enforce   bool            `json:"enforce_nonce,omitempty"`
	Mentions  allowedMentions `json:"allowed_mentions"`
	Reference *replyTo        `json:"message_reference,omitempty"`
}

// allowedMentions notifies nobody: by default Discord would notify whomever the model
// names, everyone included.
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

// nonce names a message by what it is, in the 25 characters Discord takes, so that
// the same message is not posted twice within minutes.
func nonce(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q", parts)))
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])[:25]
}

// newPost is a message that answers to, if that is not empty.
func newPost(channel, text, to, nonce string) post {
	p := post{Content: text, Nonce: nonce, Enforce: true, Mentions: nobody()}
	if to != "" {
		p.Reference = &replyTo{MessageID: to, ChannelID: channel}
	}
	return p
}

// create posts a message and returns it as it stands, which may be what was posted
// before under the same nonce.
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

// change edits one of the bot's own messages.
func (d *Discord) change(ctx context.Context, channel, id, text string, once bool) error {
	body := struct {
		Content  string          `json:"content"`
		Mentions allowedMentions `json:"allowed_mentions"`
	}{text, nobody()}
	defer d.pace.mark(channel)
	return d.rest.do(ctx, call{method: http.MethodPatch, path: "/channels/" + channel + "/messages/" + id, body: body, once: once})
}

// settle sees to it that a message that was found, or posted before, has this text.
func (d *Discord) settle(ctx context.Context, channel string, m message, text string) (string, error) {
	if m.Content != nil && same(*m.Content, text) {
		return m.ID, nil
	}
	if err := sleep(ctx, d.pace.left(channel)); err != nil {
		return "", err
	}
	return m.ID, d.change(ctx, channel, m.ID, text, false)
}

// same compares as Discord does, which cuts off space at both ends.
func same(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// maxSearch is how many pages of history are searched for a message.
const maxSearch = 5

// sent finds the message in which a piece arrived, if it did; the id is empty if not.
func (d *Discord) sent(ctx context.Context, conversation string, piece channel.Piece) (message, error) {
	key, _ := json.Marshal(nonceOf(conversation, piece)) // a string always can be
	return d.find(ctx, target(conversation), piece.To, func(m message) bool {
		if len(m.Nonce) > 0 && string(m.Nonce) != "null" {
			return string(m.Nonce) == string(key) || piece.Part == 0 && m.answers(piece.To)
		}
		if piece.Part == 0 && len(piece.To) > 0 && m.Reference != nil {
			return m.answers(piece.To)
		}
		return m.Reference == nil && same(m.text(), piece.Text)
	})
}

// begun finds the messages in which an earlier process began to answer these: the one that
// refers to them, and those that go on from there, which refer to nothing. A notice that was
// posted between them refers to nothing either, but the hub knows it.
func (d *Discord) begun(ctx context.Context, conversation string, to []string) (pieces []message, err error) {
	var failed error
	_, err = d.find(ctx, target(conversation), to, func(m message) bool {
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

// find looks for a message of the bot's own, said after the oldest of those in to, or
// among the newest.
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
