// What the bot writes: messages that are posted, edited and removed, reactions, and where Slack refuses them.

package slack

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// poster writes to Slack, and remembers what Slack, or a compatible server, does not accept.
type poster struct {
	base        *platform.Base
	api         *api
	recent      *recent
	replyIn     string      // see Options
	compatible  bool        // the server is not Slack itself
	plain       atomic.Bool // the server does not support Markdown
	cannotReact atomic.Bool // the app lacks the scope
}

// noMarkdownCodes are the error codes of servers that do not know markdown_text.
var noMarkdownCodes = []string{
	"no_text", "invalid_arguments", "invalid_arg_name", "markdown_text_conflict", "invalid_blocks", "invalid_blocks_format",
}

var errBlank = errors.New("the server shows nothing of markdown_text")

// write posts a text, or edits the message edits to it: as Markdown, or as plain text if that is refused, blank or too long.
// Buttons below it are left out if they are refused.
func (p *poster) write(ctx context.Context, client *slackgo.Client, channelID, edits, text string, buttons []slackgo.BlockElement, options ...slackgo.MsgOption) (ts string, err error) {
	if edits != "" {
		options = append(options, slackgo.MsgOptionUpdate(edits))
	}
	var created answer
	call := func(words ...slackgo.MsgOption) (ts string, err error) {
		_, ts, _, err = client.SendMessageContext(decodedInto(ctx, &created), channelID, slices.Concat(options, words)...)
		return ts, err
	}
	if len(buttons) > 0 && !p.plain.Load() {
		ts, err = call(withButtons(text, buttons)...)
		if code := codeOf(err); !slices.Contains(noMarkdownCodes, code) && !slices.Contains(tooLongCodes, code) {
			return ts, err
		}
	}
	refused := false
	long := false
	if !p.plain.Load() {
		ts, err = call(slackgo.MsgOptionMarkdownText(defuseMentions(text)))
		if err == nil && created.isBlank() && p.compatible { // Slack itself always supports Markdown
			err = errBlank
			if edits == "" {
				p.remove(ctx, channelID, ts)
			}
		}
		refused = errors.Is(err, errBlank) || slices.Contains(noMarkdownCodes, codeOf(err))
		long = slices.Contains(tooLongCodes, codeOf(err))
	}
	if refused || long || p.plain.Load() {
		var plainErr error
		ts, plainErr = call(slackgo.MsgOptionText(escape(text), false))
		if refused && plainErr == nil && p.compatible && !p.plain.Swap(true) { // Slack itself refused this text only
			p.base.Log.Info("markdown_refused", "error", err)
		}
		err = plainErr
	}
	if err == nil && ts == "" {
		err = errors.New("the answer names no message")
	}
	return ts, err
}

// maxNotification is how much of a message a notification may show, in characters.
const maxNotification = 1000

// withButtons returns a text as Markdown with buttons below: a message has either markdown_text or blocks.
func withButtons(text string, buttons []slackgo.BlockElement) []slackgo.MsgOption {
	return []slackgo.MsgOption{
		slackgo.MsgOptionText(escape(channel.Clip(text, maxNotification)), false),
		slackgo.MsgOptionBlocks(slackgo.NewMarkdownBlock("", defuseMentions(text)), slackgo.NewActionBlock("", buttons...)),
	}
}

// remove deletes a message. It returns false if Slack does not allow that.
func (p *poster) remove(ctx context.Context, channelID, ts string) (removed bool) {
	_, _, err := p.api.write.DeleteMessageContext(ctx, channelID, ts)
	if err != nil && codeOf(err) != "message_not_found" {
		p.base.Log.Debug("delete_message_failed", "error", err)
	}
	return codeOf(err) != "cant_delete_message"
}

// post posts a text as a new message: a question with buttons, or an answer with some under it, if there are any.
func (p *poster) post(ctx context.Context, client *slackgo.Client, place chat.Place, text string, m mark, buttons, under []slackgo.BlockElement) (ts string, err error) {
	options := []slackgo.MsgOption{m.option()}
	if place.Thread != "" {
		options = append(options, slackgo.MsgOptionTS(place.Thread))
	}
	if len(buttons) > 0 { // Slack does not accept Markdown together with blocks
		first, all := sections(text)
		options = append(options, optionsOf(first, append(all, slackgo.NewActionBlock("", buttons...)))...)
		_, ts, err = client.PostMessageContext(ctx, place.Channel, options...)
	} else {
		ts, err = p.write(ctx, client, place.Channel, "", text, under, options...)
	}
	if err == nil {
		p.recent.noteFromBot(place.Channel, ts)
	}
	p.notePost(place, err)
	return ts, err
}

// ThreadOf implements channel.Threader.
func (p *poster) ThreadOf(ctx context.Context, conversation, id string) string {
	return p.threadOf(ctx, chat.ParsePlace(conversation), id)
}

// threadOf returns the thread for the answer to a message of a channel's conversation: each message at the top opens one.
func (p *poster) threadOf(ctx context.Context, place chat.Place, ts string) string {
	if thread, known := p.recent.threads.Find(place.Channel + "/" + ts); known {
		return thread
	}
	_, thread, err := channel.Said(ctx, p.base.Hub, place.String(), ts)
	if err != nil {
		p.base.Log.Debug("read_thread_failed", "error", err)
	}
	return cmp.Or(thread, ts)
}

// matchesMark reports whether a message has this mark; by its text if it has none, as on servers that drop metadata.
func (p *poster) matchesMark(m message, wanted mark, text string) bool {
	found := m.Metadata.Mark
	if m.marked() {
		return found.Reply == wanted.Reply && found.Part == wanted.Part
	}
	return !p.recent.isClaimed(m.Channel, m.TS) && m.Metadata.Type == "" && slices.Contains([]string{text, defuseMentions(text), escape(text)}, m.Text)
}

// tooLongCodes may come within the limits: Slack also counts the blocks that it makes from a text.
var tooLongCodes = []string{"msg_too_long", "msg_blocks_too_long"}

// CannotWrite returns why the bot may not write in a conversation; see channel.WriteChecker.
func (p *poster) CannotWrite(conversation string) (why string) {
	place := chat.ParsePlace(conversation)
	span := p.refusedFor()
	why = p.base.WritingRefused(above(place), span)
	if why == channel.ThreadsOnly && (place.Thread != "" || repliesInThreads(p.replyIn, place)) {
		why = ""
	}
	if why == "" && place.Thread != "" {
		why = p.base.WritingRefused(conversation, span)
	}
	return why
}

// refusedFor returns how long a refused post counts.
func (p *poster) refusedFor() time.Duration {
	select {
	case <-p.base.Work.Opened:
		if all, _ := channel.FleetOf(p.base.Hub).Processes(); len(all) > 1 {
			return refusedForBeside
		}
	default: // nothing was posted yet
	}
	return refusedFor
}

// notePost notes what a post says about the permissions in its place: it was refused, or err is nil.
func (p *poster) notePost(place chat.Place, err error) {
	why, refused := refusals[codeOf(err)]
	switch {
	case place.Direct():
	case refused && why == channel.ThreadLocked:
		p.base.NoteWritable(place.String(), why)
	case refused:
		p.base.NoteWritable(above(place), why)
	case err == nil:
		p.base.NoteWritable(place.String(), "")
		if p.base.WritingRefused(above(place), p.refusedFor()) != channel.ThreadsOnly {
			p.base.NoteWritable(above(place), "")
		}
	}
}

// Whisper posts a message that one person sees until the next reload, or where that is refused, a direct message.
func (p *poster) Whisper(ctx context.Context, conversation, person, text string) error {
	place := chat.ParsePlace(conversation)
	options := optionsOf(escape(text), nil)
	if place.Thread != "" {
		options = append(options, slackgo.MsgOptionTS(place.Thread))
	}
	_, err := p.api.write.PostEphemeralContext(ctx, place.Channel, person, options...)
	if isPermanent(err) {
		_, _, err = p.api.write.PostMessageContext(ctx, person, optionsOf("<#"+place.Channel+"> "+escape(text), nil)...)
	}
	return err
}

// emoji are the reactions as Slack names them.
var emoji = map[channel.Reaction]string{channel.ReactionSummarized: "books", channel.ReactionUnanswered: "mute", channel.ReactionRemembered: "floppy_disk"}

// React implements channel.Reactor.
func (p *poster) React(ctx context.Context, conversation, id string, reaction channel.Reaction) error {
	return p.mark(ctx, chat.ParsePlace(conversation).Channel, id, emoji[reaction])
}
