// Messages are converted from Slack's form to the hub's, with who may read them.

package slack

import (
	"cmp"
	"context"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/chat"
	"cairn/connector/platform"
)

// kept are the subtypes of messages that people or apps wrote: not joins or topics.
var kept = []string{
	"", slackgo.MsgSubTypeFileShare, slackgo.MsgSubTypeThreadBroadcast, slackgo.MsgSubTypeReplyBroadcast,
	slackgo.MsgSubTypeMeMessage, slackgo.MsgSubTypeBotMessage,
}

// isKept reports whether a message is one that people or apps wrote, or the note of a huddle.
func (m message) isKept() bool {
	return m.isHuddle() || slices.Contains(kept, m.SubType) && (m.User != "" || m.BotID != "")
}

// translator converts messages from Slack's form to the hub's.
type translator struct {
	base    *platform.Base
	self    *self
	names   *names
	recent  *recent
	files   *platform.Files
	replyIn string // see Options
}

// inbound converts a message of a place. relevant is false for what the bot ignores, such as its messages. It makes
// no requests; what is not cached is left to Complete.
func (t *translator) inbound(place chat.Place, m message) (in channel.Inbound, relevant bool) {
	switch {
	case timeOf(m.TS).IsZero():
		t.base.Log.Warn("event_refused", "problem", "invalid ts", "channel", place.Channel, "ts", m.TS)
		return in, false
	case t.self.wrote(m):
		t.recent.noteFromBot(place.Channel, m.TS)
		if thread := t.recent.threadOf(place.Channel, m); thread != "" {
			t.recent.noteReply(place.Channel, m.TS, thread)
		}
		return in, false
	case !m.isKept():
		return in, false
	}
	if m.isHuddle() {
		m.User = cmp.Or(m.Room.Creator, m.User) // otherwise Slackbot
	}
	in = channel.Inbound{
		ID: m.TS, AuthorID: cmp.Or(m.User, m.BotID), Time: timeOf(m.TS),
		Bot: m.BotID != "" || m.SubType == slackgo.MsgSubTypeBotMessage, Thread: place.Thread != "",
	}
	if thread := t.recent.threadOf(place.Channel, m); thread != "" {
		t.recent.noteReply(place.Channel, in.ID, thread)
		if place.Thread == "" { // a direct message with an agent: the answer goes there
			in.ReplyTo = thread
		}
	}
	if m.User != "" {
		t.recent.noteAuthor(place.Channel, in.ID, m.User, m.Team)
	}
	// Only the text of the message itself counts: a forwarded one addresses no one.
	in.Addressed = !m.isHuddle() && (t.self.mentionsBot(m.Text) || place.Direct() || t.repliesToBot(place, m))
	in.Text = t.names.plainText(t.self.withoutMention(withForwarded(m)))
	in.Author = t.names.authorOf(m)
	in.Attachments = attachments(m.Files)
	t.files.LimitTexts(in.Attachments)
	if in.Text == "" && len(in.Attachments) == 0 {
		return in, false
	}
	// The first message seen in a thread replies to the one at its top, which belongs to the channel's conversation.
	if place.Thread != "" && t.recent.startsThread(place, in.ID) && !t.isKnown(place, in.ID) {
		in.ReplyTo = place.Thread // Complete adds the quote
	}
	unlabeled := t.names.nameOf(place.Channel) == "" && !place.Direct()
	in.Incomplete = unresolvedName.MatchString(in.Text) || isNameless(in) || unlabeled || in.ReplyTo != "" && place.Thread != "" ||
		slices.ContainsFunc(in.Attachments, t.files.Wanted)
	return in, true
}

// repliesToBot reports whether a message is the first reply in a thread under a message of the bot, or under one that it answers
// there. Only the first one counts: after it the hub knows the thread, and people can tell the bot to stop.
func (t *translator) repliesToBot(place chat.Place, m message) bool {
	if place.Thread == "" || !channel.AnswersInThread(t.base.Hub, place.String()) {
		return false
	}
	parent := m.ParentUser
	if parent == "" { // Slack may leave it out
		parent, _, _ = t.recent.author(place.Channel, place.Thread)
	}
	if parent != t.self.user && !t.answersInThread(place) {
		return false
	}
	return t.recent.isFirstReplyToBot(place, m.TS) && !t.isKnown(place, m.TS)
}

// isKnown reports whether other messages of a thread were received, also by other processes; false if that cannot be found out.
func (t *translator) isKnown(place chat.Place, but string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	known, err := channel.HasMessages(ctx, t.base.Hub, place.String(), but)
	return err == nil && known
}

// answersInThread reports whether a thread is under a message that addressed the bot; false if that cannot be found out.
func (t *translator) answersInThread(place chat.Place) bool {
	above := t.self.place(place.Channel, "")
	if t.recent.hasReplyToBot(place) || !repliesInThreads(t.replyIn, above) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	addressed, err := t.base.Hub.WasAddressed(ctx, above.String(), place.Thread)
	return err == nil && addressed
}

// steersAbove reports whether a message in a thread may be for the answer to the message that the thread hangs on, which belongs to the
// channel's conversation.
func (t *translator) steersAbove(place chat.Place, in channel.Inbound) bool {
	_, spoken := command.Spoken(in.Text)
	return spoken && in.Addressed && !in.Bot && place.Thread != "" && repliesInThreads(t.replyIn, t.self.place(place.Channel, ""))
}

// attachments describes the files of a message by the fields of its event.
func attachments(files []file) []channel.Attachment {
	var all []channel.Attachment
	for _, f := range files {
		if f.Mode == "tombstone" || f.Mode == "hidden_by_limit" {
			all = append(all, channel.Attachment{Kind: "file", Caption: "no longer there"})
			continue
		}
		a := channel.Attachment{
			Kind: platform.KindOf(f.Mimetype), Name: cmp.Or(f.Name, f.Title), Type: f.Mimetype, Size: f.Size,
			URL: cmp.Or(f.Download, f.URL), Caption: f.AltText,
		}
		f.describeVoice(&a)
		if f.Mimetype == canvasType {
			a.Kind = "canvas"
			a.Name = cmp.Or(f.Title, f.Name) // Slack derives the name from the title
		}
		all = append(all, a)
	}
	return all
}
