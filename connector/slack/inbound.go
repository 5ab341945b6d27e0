// Messages are converted from Slack's form to the hub's, with who may read them.

package slack

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
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

// inbound converts a message of a place. relevant is false for what the bot ignores, such as its own messages. It makes
// no requests; what is not cached is left to Complete.
func (s *Slack) inbound(place chat.Place, m message) (in channel.Inbound, relevant bool) {
	switch {
	case timeOf(m.TS).IsZero():
		s.Log.Warn("event_refused", "problem", "invalid ts", "channel", place.Channel, "ts", m.TS)
		return in, false
	case s.isOwn(m):
		s.noteOwnMessage(place, m.TS)
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
	if place.Thread != "" {
		s.replies.Set(place.Channel+"/"+in.ID, place.Thread)
	}
	if m.User != "" {
		s.authors.Set(place.Channel+"/"+in.ID, m.User+"/"+cmp.Or(m.Team, s.self.team))
	}
	// Only the message's own text counts here: a forwarded one addresses no one.
	in.Addressed = !m.isHuddle() && (s.mentionsBot(m.Text) || place.Direct() || s.repliesToBot(place, m))
	in.Text, in.Author = s.plainText(s.withoutMention(withForwarded(m))), s.authorName(m)
	in.Attachments = attachments(m.Files)
	if in.Text == "" && len(in.Attachments) == 0 {
		return in, false
	}
	// The first message seen in a thread replies to the one at its top, which belongs to the channel's conversation.
	if place.Thread != "" {
		if first, _ := s.threads.First(place.Channel+"/"+place.Thread, in.ID); first == in.ID {
			in.ReplyTo = place.Thread // Complete adds the quote
		}
	}
	unlabeled := s.nameOf(place.Channel) == "" && !place.Direct()
	in.Incomplete = unresolvedName.MatchString(in.Text) || isNameless(in) || unlabeled || in.ReplyTo != "" ||
		slices.ContainsFunc(in.Attachments, s.files.Wanted)
	return in, true
}

// placeOf returns the place of a message. The event of a deletion may leave the thread out, so it is cached.
func (s *Slack) placeOf(channelID string, m message) chat.Place {
	thread := m.Thread
	if thread == "" {
		thread, _ = s.replies.Find(channelID + "/" + m.TS)
	}
	if thread == m.TS {
		thread = ""
	}
	return s.place(channelID, thread)
}

func (s *Slack) isOwn(m message) bool {
	return m.User == s.self.user || m.BotID != "" && m.BotID == s.self.bot
}

// repliesToBot reports whether a message is the first reply in a thread under a message of the bot, or under one that it answers
// there. Only the first one counts: after it the hub knows the thread, and people can tell the bot to stop.
func (s *Slack) repliesToBot(place chat.Place, m message) bool {
	if place.Thread == "" {
		return false
	}
	parent := m.ParentUser
	if parent == "" { // Slack may leave it out
		author, _ := s.authors.Find(place.Channel + "/" + place.Thread)
		parent, _, _ = strings.Cut(author, "/")
	}
	if parent != s.self.user && !s.answersInThread(place) {
		return false
	}
	first, _ := s.threads.First(firstReplyKey(place), m.TS)
	return first == m.TS
}

// answersInThread reports whether a thread is under a message that addressed the bot; false if that cannot be found out.
func (s *Slack) answersInThread(place chat.Place) bool {
	above := s.place(place.Channel, "")
	if _, started := s.threads.Find(firstReplyKey(place)); started || !s.repliesInThreads(above) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	asked, err := s.Hub.Asked(ctx, above.String(), place.Thread)
	return err == nil && asked
}

func firstReplyKey(place chat.Place) string { return "bot/" + place.Channel + "/" + place.Thread }

func (s *Slack) noteOwnMessage(place chat.Place, ts string) {
	s.authors.Set(place.Channel+"/"+ts, s.self.user+"/"+s.self.team)
}

// authorName returns the name of the author, or the id if it is not known.
func (s *Slack) authorName(m message) string {
	switch {
	case s.isOwn(m):
		return s.ownName()
	case m.Username != "":
		return m.Username
	case (m.User == "" || m.BotID != "") && m.BotProfile.Name != "":
		return m.BotProfile.Name
	}
	return cmp.Or(s.nameOf(m.User), m.User, m.BotID)
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
		if f.Mimetype == canvasType {
			a.Kind = "canvas"
			a.Name = cmp.Or(f.Title, f.Name) // the name is made of the title
		}
		all = append(all, a)
	}
	return all
}
