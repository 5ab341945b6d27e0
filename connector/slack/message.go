// Messages and events as Slack sends them, and the bot's own messages: posted, marked, found again, and reacted to.

package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// message contains the fields of a message, or of an event about one, that the connector uses. slack-go's type cannot be decoded
// if one part has an unknown form.
type message struct {
	Type, SubType, Channel string
	User, Team, Username   string
	TS, Text               string
	Thread                 string                `json:"thread_ts"` // also of the message at the top of it
	BotID                  string                `json:"bot_id"`
	BotProfile             struct{ Name string } `json:"bot_profile"`
	ParentUser             string                `json:"parent_user_id"`
	Edited                 *struct{ TS string }
	Blocks                 []any
	Attachments            []forwarded
	Files                  []file
	Room                   *room // of a huddle
	Metadata               struct {
		Type string `json:"event_type"`
		Mark mark   `json:"event_payload"`
	}

	// In the history of a channel only.
	ReplyCount  int      `json:"reply_count"`
	ReplyUsers  []string `json:"reply_users"`
	LatestReply string   `json:"latest_reply"`

	// In events only.
	Kind      string   `json:"channel_type"` // of its channel, see audience
	Now       *message `json:"message"`      // after an edit
	Before    *message `json:"previous_message"`
	DeletedTS string   `json:"deleted_ts"`
	Streams   []string `json:"streaming_message_ts"` // the ts of what Slack stopped, see onStop
	EventTS   string   `json:"event_ts"`
}

type file struct {
	ID, Mode, Name, Title, Mimetype string
	Size                            int64
	Download                        string `json:"url_private_download"`
	URL                             string `json:"url_private"`
	AltText                         string `json:"alt_txt"`
}

// mark is metadata of the bot's messages, invisible to people, by which they are found again.
type mark struct {
	Reply   string // empty: the reply is still being written
	Part    int
	Answers string // ts of the last message that is answered
}

const replyType = "cairn_reply"

func (m mark) option() slackgo.MsgOption {
	payload := map[string]any{"answers": m.Answers}
	if m.Reply != "" {
		payload["reply"] = m.Reply
		payload["part"] = m.Part
	}
	return slackgo.MsgOptionMetadata(slackgo.SlackMetadata{EventType: replyType, EventPayload: payload})
}

func (m message) marked() bool { return m.Metadata.Type == replyType }

// event is what Slack reports about a message.
type event struct {
	message
	dropped int64  // start of a minute whose events Slack dropped, if that is what it reports
	ack     func() // acknowledges it
}

// readEvent decodes an event. The Channel of one that is not about a message is empty.
func readEvent(payload json.RawMessage) (e event) {
	var outer struct {
		Type    string
		Dropped int64 `json:"minute_rate_limited"`
		Shared  any   `json:"is_ext_shared_channel"`
		Event   message
	}
	if platform.Decode(payload, &outer) != nil {
		return e
	}
	e.message = outer.Event
	switch {
	case outer.Type == "app_rate_limited":
		e.dropped = outer.Dropped
	case outer.Shared == true:
		e.Kind = "shared"
	case outer.Shared != nil && outer.Shared != false: // it has an unknown form
		e.Kind = ""
	}
	return e
}

// audience returns who may read a place in a channel of a kind: channel, group, im, mpim, or shared with another organization;
// empty if the event does not say, as an app_mention.
func audience(kind string, p chat.Place) channel.Audience {
	switch {
	case kind == "":
		return ""
	case kind == "channel":
		return channel.ServerWide
	case p.Thread != "":
		return channel.ChannelWide
	}
	return channel.Members
}

// timeOf returns the time of a ts, which has seconds and microseconds; zero if ts is invalid.
func timeOf(ts string) time.Time {
	seconds, fraction, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseUint(seconds, 10, 62)
	us, fractionErr := strconv.ParseUint((fraction + "000000")[:6], 10, 62)
	if err != nil || fractionErr != nil {
		return time.Time{}
	}
	return time.Unix(int64(s), int64(us)*1000)
}

func byTime(a, b message) int { return timeOf(a.TS).Compare(timeOf(b.TS)) }

// tsOf returns the ts for a time; no message need have it.
func tsOf(t time.Time) string {
	us := t.UnixMicro()
	return fmt.Sprintf("%d.%06d", us/1e6, us%1e6)
}

// isTS reports whether an id is a ts; imported messages have other ids.
func isTS(id string) bool {
	_, fraction, _ := strings.Cut(id, ".")
	return fraction != "" && !timeOf(id).IsZero()
}

// noMarkdownCodes are the error codes of servers that do not know markdown_text.
var noMarkdownCodes = []string{
	"no_text", "invalid_arguments", "invalid_arg_name", "markdown_text_conflict", "invalid_blocks", "invalid_blocks_format",
}

var errBlank = errors.New("the server shows nothing of markdown_text")

// write posts a text, or edits the message edits to it: as Markdown, or as plain text if that is refused, not shown or too long.
func (s *Slack) write(ctx context.Context, client *slackgo.Client, channelID, edits, text string, options ...slackgo.MsgOption) (ts string, err error) {
	if edits != "" {
		options = append(options, slackgo.MsgOptionUpdate(edits))
	}
	var made answer
	call := func(words slackgo.MsgOption) (ts string, err error) {
		_, ts, _, err = client.SendMessageContext(decodedInto(ctx, &made), channelID, append(options[:len(options):len(options)], words)...)
		return ts, err
	}
	refused := false
	long := false
	if !s.plain.Load() {
		ts, err = call(slackgo.MsgOptionMarkdownText(defuseMentions(text)))
		if err == nil && made.isBlank() && s.o.APIBase != "" { // Slack itself always supports Markdown
			err = errBlank
			if edits == "" {
				s.remove(ctx, channelID, ts)
			}
		}
		refused = errors.Is(err, errBlank) || slices.Contains(noMarkdownCodes, codeOf(err))
		long = slices.Contains(tooLongCodes, codeOf(err))
	}
	if refused || long || s.plain.Load() {
		var plainErr error
		ts, plainErr = call(slackgo.MsgOptionText(escape(text), false))
		if refused && plainErr == nil && s.o.APIBase != "" && !s.plain.Swap(true) { // Slack itself refused this text only
			s.Log.Info("markdown_refused", "error", err)
		}
		err = plainErr
	}
	if err == nil && ts == "" {
		err = errors.New("the answer names no message")
	}
	return ts, err
}

func (s *Slack) remove(ctx context.Context, channelID, ts string) {
	_, _, err := s.api.write.DeleteMessageContext(ctx, channelID, ts)
	if err != nil && codeOf(err) != "message_not_found" {
		s.Log.Debug("delete_message_failed", "error", err)
	}
}

// post posts a text as a new message, with buttons if there are any.
func (s *Slack) post(ctx context.Context, client *slackgo.Client, place chat.Place, text string, m mark, buttons ...slackgo.BlockElement) (ts string, err error) {
	options := []slackgo.MsgOption{m.option()}
	if place.Thread != "" {
		options = append(options, slackgo.MsgOptionTS(place.Thread))
	}
	if len(buttons) > 0 { // Slack does not accept Markdown together with blocks
		first, all := sections(text)
		options = append(options, optionsOf(first, append(all, slackgo.NewActionBlock("", buttons...)))...)
		_, ts, err = client.PostMessageContext(ctx, place.Channel, options...)
	} else {
		ts, err = s.write(ctx, client, place.Channel, "", text, options...)
	}
	if err == nil {
		s.noteOwnMessage(place, ts)
	}
	s.notePost(place, err)
	return ts, err
}

const maxSearchPages = 10 // of a history, for the bot's messages

// matchesMark reports whether a message has this mark; by its text if it has none, as on servers that drop metadata.
func (s *Slack) matchesMark(m message, wanted mark, text string) bool {
	found := m.Metadata.Mark
	if m.marked() {
		return found.Reply == wanted.Reply && found.Part == wanted.Part
	}
	_, claimed := s.claims.Find(m.Channel + "/" + m.TS)
	return !claimed && m.Metadata.Type == "" && slices.Contains([]string{text, defuseMentions(text), escape(text)}, m.Text)
}

// tooLongCodes may come within the limits: Slack also counts the blocks that it makes from a text.
var tooLongCodes = []string{"msg_too_long", "msg_blocks_too_long"}

// messagesSince returns the bot's messages after the ts answers, oldest first; those of the last hour if that is none.
func (s *Slack) messagesSince(ctx context.Context, place chat.Place, answers string) ([]message, error) {
	if !isTS(answers) {
		answers = tsOf(s.Clock.Now().Add(-time.Hour))
	}
	var own []message
	p := span{Oldest: answers, IncludeAllMetadata: true}
	for range maxSearchPages {
		found, err := s.page(ctx, place, p)
		if err != nil {
			return nil, err
		}
		for _, m := range found.messages {
			if s.isOwn(m) && s.placeOf(place.Channel, m) == place && timeOf(m.TS).After(timeOf(answers)) {
				m.Channel = place.Channel
				own = append(own, m)
			}
		}
		p.Cursor = found.next
		if p.Cursor == "" {
			break
		}
	}
	slices.SortStableFunc(own, byTime)
	return own, nil
}

// emoji are the reactions as Slack names them.
var emoji = map[channel.Reaction]string{channel.ReactionSummarized: "books", channel.ReactionUnanswered: "mute"}

// React adds a reaction to a message. If the app lacks the scope, it logs that once and returns nil.
func (s *Slack) React(ctx context.Context, conversation, id string, reaction channel.Reaction) error {
	if s.cannotReact.Load() {
		return nil
	}
	message := slackgo.NewRefToMessage(chat.ParsePlace(conversation).Channel, id)
	err := s.api.write.AddReactionContext(ctx, emoji[reaction], message)
	switch codeOf(err) {
	case "already_reacted":
		return nil
	case "missing_scope":
		if !s.cannotReact.Swap(true) {
			s.Log.Warn("reaction_refused", "problem", explainBotError(err))
		}
		return nil
	}
	return err
}
