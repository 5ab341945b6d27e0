// Posting and reacting: how a text goes out, and how it is found again.

package slack

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

// mark is what a message of the bot carries, unseen by people, so that it can be
// found again: which piece of which reply it is, and what it answers.
type mark struct {
	reply   string // empty: the reply is still being written
	part    int
	sub, of int    // of a piece that takes several messages: which one, and how many
	answers string // the ts of the last message that is answered
}

const replyType = "cairn_reply"

func (m mark) metadata() slackgo.SlackMetadata {
	payload := map[string]any{"answers": m.answers}
	if m.reply != "" {
		payload["reply"], payload["part"] = m.reply, m.part
		if m.of > 1 {
			payload["sub"], payload["of"] = m.sub, m.of
		}
	}
	return slackgo.SlackMetadata{EventType: replyType, EventPayload: payload}
}

// markOf reads the mark of a message; ok is false if it has none.
func markOf(m slackgo.Message) (found mark, ok bool) {
	if m.Metadata.EventType != replyType {
		return found, false
	}
	payload := m.Metadata.EventPayload
	found.reply, _ = payload["reply"].(string)
	found.answers, _ = payload["answers"].(string)
	found.part, found.sub, found.of = number(payload["part"]), number(payload["sub"]), number(payload["of"])
	return found, true
}

func number(v any) int {
	switch n := v.(type) {
	case float64:
		return int(n)
	case string:
		i, _ := strconv.Atoi(n)
		return i
	}
	return 0
}

// takesNoMarkdown are refusals of servers that do not know markdown_text.
var takesNoMarkdown = []string{
	"no_text", "invalid_arguments", "invalid_arg_name", "markdown_text_conflict", "invalid_blocks", "invalid_blocks_format",
}

// errCutAgain is a text that was cut for Markdown and is too long without.
var errCutAgain = errors.New("too long for plain text")

// errBlank is a message that says nothing though it was given a text in Markdown.
var errBlank = errors.New("the server shows nothing of markdown_text")

// write posts a text, or edits a message: as Markdown, or, where a server refuses that or
// does not show it, as plain text.
func (s *Slack) write(ctx context.Context, client *slackgo.Client, channelID, edits, text string, options ...slackgo.MsgOption) (ts string, err error) {
	if edits != "" {
		options = append(options, slackgo.MsgOptionUpdate(edits))
	}
	var blank bool
	call := func(words slackgo.MsgOption) (ts string, err error) {
		_, ts, _, err = client.SendMessageContext(context.WithValue(ctx, blankKey{}, &blank), channelID, append(options[:len(options):len(options)], words)...)
		return ts, err
	}
	refused := false
	if !s.plain.Load() {
		ts, err = call(slackgo.MsgOptionMarkdownText(defuseMentions(text)))
		if err == nil && blank && s.o.APIBase != "" { // Slack itself knows Markdown
			err = errBlank
			if edits == "" {
				s.remove(ctx, channelID, ts)
			}
		}
		refused = errors.Is(err, errBlank) || slices.Contains(takesNoMarkdown, codeOf(err))
	}
	if refused && costOf(text, plainCost) > maxPlain {
		s.learnPlain(err)
		return "", errCutAgain
	}
	if refused || s.plain.Load() {
		var inPlain error
		if ts, inPlain = call(slackgo.MsgOptionText(escaped(text), false)); refused && inPlain == nil {
			s.learnPlain(err)
		}
		err = inPlain
	}
	if err == nil && ts == "" {
		err = errors.New("the answer names no message")
	}
	return ts, err
}

// remove deletes a message of the bot, as well as it can be done.
func (s *Slack) remove(ctx context.Context, channelID, ts string) {
	_, _, err := s.api.write.DeleteMessageContext(ctx, channelID, ts)
	if err != nil && codeOf(err) != "message_not_found" {
		s.log.Debug("delete_message_failed", "error", err)
	}
}

// learnPlain notes that the server takes no Markdown.
func (s *Slack) learnPlain(err error) {
	if !s.plain.Swap(true) {
		s.log.Info("markdown_refused", "error", err)
	}
}

// post says a text in a place, as a new message.
func (s *Slack) post(ctx context.Context, client *slackgo.Client, place channel.Place, text string, m mark, buttons ...channel.Button) (ts string, err error) {
	options := []slackgo.MsgOption{slackgo.MsgOptionMetadata(m.metadata())}
	if place.Thread != "" {
		options = append(options, slackgo.MsgOptionTS(place.Thread))
	}
	if len(buttons) > 0 { // Slack takes no Markdown beside blocks
		options = append(options, slackgo.MsgOptionText(escaped(text), false), asking(place, text, buttons))
		_, ts, err = client.PostMessageContext(ctx, place.Channel, options...)
	} else {
		ts, err = s.write(ctx, client, place.Channel, "", text, options...)
	}
	if err == nil {
		s.noteOwnMessage(place, ts)
	}
	return ts, err
}

const editTries = 3

// repeatEdit calls edit again after an error with which it may have taken effect: to edit twice does
// no harm.
func (s *Slack) repeatEdit(ctx context.Context, edit func() error) error {
	for try := 1; ; try++ {
		err := edit()
		if err == nil || try == editTries || !mayHaveHappened(err) || platform.Sleep(ctx, s.times.backoff) != nil {
			return err
		}
	}
}

// edit replaces what one of the bot's messages says.
func (s *Slack) edit(ctx context.Context, place channel.Place, ts, text string, m mark) error {
	return s.repeatEdit(ctx, func() error {
		_, err := s.write(ctx, s.api.write, place.Channel, ts, text, slackgo.MsgOptionMetadata(m.metadata()))
		return err
	})
}

// lookPages is how much of a history is searched for a message of the bot.
const lookPages = 10

// carries reports whether a message of the bot is the one with that mark and text. A
// compatible server may tell of no marks.
func (s *Slack) carries(m slackgo.Message, wanted mark, text string) bool {
	if was, marked := markOf(m); marked {
		return was.reply == wanted.reply && was.part == wanted.part && was.sub == wanted.sub
	}
	_, other := s.finished.Find(m.Channel + "/" + m.Timestamp)
	return !other && m.Metadata.EventType == "" && slices.Contains([]string{text, defuseMentions(text), escaped(text)}, m.Text)
}

// tooLong reports whether a text took more than Slack had room for: it counts what it
// makes of a text, too.
func tooLong(err error) bool {
	code := codeOf(err)
	return code == "msg_too_long" || code == "msg_blocks_too_long"
}

// wasCut reports whether a piece was sent in several messages, as far as it was.
func wasCut(own []slackgo.Message, piece channel.Piece) bool {
	return slices.ContainsFunc(own, func(o slackgo.Message) bool {
		was, _ := markOf(o)
		return was.reply == piece.Reply && was.part == piece.Part && was.of > 1
	})
}

// sent finds messages of the bot that were posted after the one it answers, oldest
// first.
func (s *Slack) sent(ctx context.Context, place channel.Place, answers string) ([]slackgo.Message, error) {
	if answers == "" {
		answers = tsOf(time.Now().Add(-time.Hour))
	}
	var own []slackgo.Message
	cursor := ""
	for range lookPages {
		found, next, err := s.page(ctx, place, span{oldest: answers, cursor: cursor, metadata: true})
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			belongs := s.placeOf(place.Channel, m.Msg) == place
			if belongs && s.own(m.Msg) && timeOf(m.Timestamp).After(timeOf(answers)) {
				m.Channel = place.Channel
				own = append(own, m)
			}
		}
		if next == "" || next == cursor {
			break
		}
		cursor = next
	}
	slices.SortStableFunc(own, byTime)
	return own, nil
}

// summarizedReaction is the reaction.
const summarizedReaction = "books"

const reactMethod = "reactions.add"

// React adds the reaction to a message, unless it is there. If the app may not, it logs once which
// scope is missing, and returns nil.
func (s *Slack) React(ctx context.Context, conversation, id string) error {
	place := channel.ParsePlace(conversation)
	if s.refused(reactMethod, "") {
		return nil
	}
	err := s.api.write.AddReactionContext(ctx, summarizedReaction, slackgo.NewRefToMessage(place.Channel, id))
	switch codeOf(err) {
	case "already_reacted":
		return nil
	case "missing_scope":
		if _, logged := s.refusals.First(reactMethod+"/", "missing_scope"); !logged {
			s.log.Warn("reaction_refused", "problem", explainBotError(reactMethod, err))
		}
		return nil
	}
	return err
}
