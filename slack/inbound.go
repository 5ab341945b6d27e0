// Messages are converted from Slack's form to the hub's, with who may read them.

package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/internal/platform"
)

// kept are the subtypes of messages that people or apps wrote: not joins or topics.
var kept = []string{
	"", slackgo.MsgSubTypeFileShare, slackgo.MsgSubTypeThreadBroadcast, slackgo.MsgSubTypeReplyBroadcast,
	slackgo.MsgSubTypeMeMessage, slackgo.MsgSubTypeBotMessage,
}

// inbound converts a message of a place. relevant is false for what the bot ignores, such as its own messages. It makes
// no requests; what is not cached is left to Complete.
func (s *Slack) inbound(place channel.Place, m slackgo.Msg) (in channel.Inbound, relevant bool) {
	switch {
	case timeOf(m.Timestamp).IsZero():
		s.Log.Warn("event_refused", "problem", "invalid ts", "channel", place.Channel, "ts", m.Timestamp)
		return in, false
	case s.isOwn(m):
		s.noteOwnMessage(place, m.Timestamp)
		return in, false
	case !slices.Contains(kept, m.SubType) || m.User == "" && m.BotID == "":
		return in, false
	}
	in = channel.Inbound{
		ID: m.Timestamp, AuthorID: cmp.Or(m.User, m.BotID), Time: timeOf(m.Timestamp),
		Bot: m.BotID != "" || m.SubType == slackgo.MsgSubTypeBotMessage, Thread: place.Thread != "",
	}
	if place.Thread != "" {
		s.replies.Set(place.Channel+"/"+in.ID, place.Thread)
	}
	if m.User != "" {
		s.authors.Set(place.Channel+"/"+in.ID, m.User+"/"+cmp.Or(m.Team, s.self.team))
	}
	// Only the message's own text counts here: a forwarded one addresses no one.
	in.Addressed = s.mentionsBot(m.Text) || place.Direct() || s.repliesToBot(place, m)
	var namesKnown, authorKnown bool // are all of them cached?
	in.Text, namesKnown = s.plainText(s.withoutMention(withForwarded(m)))
	in.Author, authorKnown = s.authorName(m)
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
	_, channelKnown := s.nameOf(place.Channel) // for the label
	in.Incomplete = !namesKnown || !authorKnown || !channelKnown && !place.Direct() || slices.ContainsFunc(in.Attachments, s.files.Wanted) || in.ReplyTo != ""
	return in, true
}

// placeOf returns the place of a message. The event of a deletion may leave the thread out, so it is cached.
func (s *Slack) placeOf(channelID string, m slackgo.Msg) channel.Place {
	thread := m.ThreadTimestamp
	if thread == "" {
		thread, _ = s.replies.Find(channelID + "/" + m.Timestamp)
	}
	if thread == m.Timestamp {
		thread = ""
	}
	return s.place(channelID, thread)
}

func (s *Slack) isOwn(m slackgo.Msg) bool {
	return m.User == s.self.user || m.BotID != "" && m.BotID == s.self.bot
}

// repliesToBot reports whether a message is the first reply in a thread under a message of the bot, or under one that it answers
// there. Only the first one counts: after it the hub knows the thread, and people can tell the bot to stop.
func (s *Slack) repliesToBot(place channel.Place, m slackgo.Msg) bool {
	if place.Thread == "" {
		return false
	}
	parent := m.ParentUserId
	if parent == "" { // Slack may leave it out
		author, _ := s.authors.Find(place.Channel + "/" + place.Thread)
		parent, _, _ = strings.Cut(author, "/")
	}
	if parent != s.self.user && !s.answersInThread(place) {
		return false
	}
	first, _ := s.threads.First(firstReplyKey(place), m.Timestamp)
	return first == m.Timestamp
}

// answersInThread reports whether a thread is under a message that addressed the bot; false if that cannot be found out.
func (s *Slack) answersInThread(place channel.Place) bool {
	above := s.place(place.Channel, "")
	if _, started := s.threads.Find(firstReplyKey(place)); started || !s.repliesInThreads(above) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	asked, err := s.Hub.Asked(ctx, above.String(), place.Thread)
	return err == nil && asked
}

func firstReplyKey(place channel.Place) string { return "bot/" + place.Channel + "/" + place.Thread }

func (s *Slack) noteOwnMessage(place channel.Place, ts string) {
	s.authors.Set(place.Channel+"/"+ts, s.self.user+"/"+s.self.team)
}

// authorName returns the name of the author. known is false if it has to be looked up; name is the id then.
func (s *Slack) authorName(m slackgo.Msg) (name string, known bool) {
	if s.isOwn(m) {
		return s.self.name, true
	}
	if name = m.Username; name == "" && (m.User == "" || m.BotID != "") && m.BotProfile != nil {
		name = m.BotProfile.Name
	}
	if name == "" && m.User == "" {
		name = m.BotID
	}
	if name == "" {
		name, known = s.nameOf(m.User)
		return cmp.Or(name, m.User), known
	}
	return name, true
}

// withForwarded returns the text of a message, followed by the texts of the messages it forwards, and of
// what an app attached to its own; previews of links do not count. Some apps post blocks without a text.
func withForwarded(m slackgo.Msg) string {
	text := m.Text
	if text == "" {
		text = blocksText(m.Blocks)
	}
	for _, a := range m.Attachments {
		if forwarded := cmp.Or(a.Text, a.Fallback); (a.IsShare || a.FromURL == "" && m.BotID != "") && forwarded != "" && !strings.Contains(text, forwarded) {
			if a.AuthorName != "" {
				forwarded = a.AuthorName + ": " + forwarded
			}
			text = strings.TrimPrefix(text+"\n"+forwarded, "\n")
		}
	}
	return text
}

func blocksText(blocks slackgo.Blocks) string {
	var all []any
	encoded, _ := json.Marshal(blocks) // they were decoded from JSON
	_ = json.Unmarshal(encoded, &all)
	var lines []string
	for _, block := range all {
		if texts := textsIn(block); len(texts) > 0 {
			lines = append(lines, strings.Join(texts, " "))
		}
	}
	return strings.Join(lines, "\n")
}

// textsIn returns the texts in a part of a block, but not those of buttons.
func textsIn(part any) (texts []string) {
	switch part := part.(type) {
	case []any:
		for _, p := range part {
			texts = append(texts, textsIn(p)...)
		}
	case string:
		texts = append(texts, part)
	case map[string]any:
		if part["type"] == "actions" {
			return nil
		}
		for _, key := range []string{"text", "fields", "elements"} {
			texts = append(texts, textsIn(part[key])...)
		}
	}
	return texts
}

// attachments describes the files of a message by the fields of its event.
func attachments(files []slackgo.File) []channel.Attachment {
	var all []channel.Attachment
	for _, f := range files {
		if f.Mode == "tombstone" || f.Mode == "hidden_by_limit" {
			all = append(all, channel.Attachment{Kind: "file", Caption: "no longer there"})
			continue
		}
		all = append(all, channel.Attachment{
			Kind: platform.KindOf(f.Mimetype), Name: cmp.Or(f.Name, f.Title), Type: f.Mimetype, Size: int64(f.Size),
			URL: cmp.Or(f.URLPrivateDownload, f.URLPrivate), Caption: f.AltTxt,
		})
	}
	return all
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

// kindOf returns the kind of an event's channel: channel, group, im, mpim, or shared with another organization; empty if the
// event does not say, as an app_mention.
func kindOf(payload json.RawMessage) string {
	var outer struct {
		Shared bool `json:"is_ext_shared_channel"`
		Event  struct {
			Kind string `json:"channel_type"`
		}
	}
	switch err := json.Unmarshal(payload, &outer); {
	case err != nil:
		return ""
	case outer.Shared:
		return "shared"
	}
	return outer.Event.Kind
}

// audience returns who may read a place in a channel of this kind; empty if unknown.
func audience(kind string, p channel.Place) channel.Audience {
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
