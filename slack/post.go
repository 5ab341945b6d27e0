// Posting and reacting, and finding the messages that were posted.

package slack

import (
	"context"
	"errors"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
)

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
	refused, long := false, false
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
		if refused && plainErr == nil && !s.plain.Swap(true) {
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
func (s *Slack) post(ctx context.Context, client *slackgo.Client, place channel.Place, text string, m mark, buttons ...slackgo.BlockElement) (ts string, err error) {
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
	return ts, err
}

const maxSearchPages = 10 // of a history, for the bot's messages

// matchesMark reports whether a message has this mark; by its text if it has none, as on servers that drop metadata.
func (s *Slack) matchesMark(m message, wanted mark, text string) bool {
	if found := m.Metadata.Mark; m.marked() {
		return found.Reply == wanted.Reply && found.Part == wanted.Part
	}
	_, claimed := s.claims.Find(m.Channel + "/" + m.TS)
	return !claimed && m.Metadata.Type == "" && slices.Contains([]string{text, defuseMentions(text), escape(text)}, m.Text)
}

// tooLongCodes may come within the limits: Slack also counts the blocks that it makes from a text.
var tooLongCodes = []string{"msg_too_long", "msg_blocks_too_long"}

// messagesSince returns the bot's messages after the ts answers, oldest first; those of the last hour if that is none.
func (s *Slack) messagesSince(ctx context.Context, place channel.Place, answers string) ([]message, error) {
	if !isTS(answers) {
		answers = tsOf(time.Now().Add(-time.Hour))
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
		if p.Cursor = found.next; p.Cursor == "" {
			break
		}
	}
	slices.SortStableFunc(own, byTime)
	return own, nil
}

const summarizedReaction = "books" // marks messages that were summarized

// React adds the reaction to a message. If the app lacks the scope, it logs that once and returns nil.
func (s *Slack) React(ctx context.Context, conversation, id string) error {
	if s.cannotReact.Load() {
		return nil
	}
	message := slackgo.NewRefToMessage(channel.ParsePlace(conversation).Channel, id)
	err := s.api.write.AddReactionContext(ctx, summarizedReaction, message)
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
