// Where the bot may not write: Slack says so only when it refuses a post.

package slack

import (
	"context"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

const (
	refusedFor       = time.Hour   // how long a refused post counts, unless an event ends that: Slack sends none for some changes
	refusedForBeside = time.Minute // the same beside other processes, one of which may get the event
)

// refusals are why the bot may not write, by the error code of a post (Slack, chat.postMessage and chat.startStream: Errors). A
// missing chat:write ends Run, see stopIfSetupError.
var refusals = map[string]string{
	"not_in_channel":                        channel.NotInChannel,
	"channel_not_found":                     channel.NotInChannel, // a private channel that the bot has left
	"no_permission":                         channel.NotInChannel,
	"is_archived":                           channel.ChannelArchived,
	"restricted_action_read_only_channel":   channel.ChannelReadOnly,
	"restricted_action_thread_only_channel": channel.ThreadsOnly,
	"restricted_action_thread_locked":       channel.ThreadLocked,
	"restricted_action":                     channel.PostingRestricted,
	"ekm_access_denied":                     channel.PostingRestricted,
}

// repliesInThreads reports whether messages at the top level of a place are answered in threads, but in its conversation, by
// Options.ReplyIn.
func repliesInThreads(replyIn string, p chat.Place) bool {
	return replyIn == replyThread || replyIn == replyAuto && !p.Direct()
}

// above returns the name of a channel's conversation, for a place in the channel.
func above(place chat.Place) string {
	place.Thread = ""
	return place.String()
}

// joins and openings are the events, and the subtypes of messages, after which the bot may be able to post in a channel: somebody,
// perhaps the bot, has joined it; it is no longer archived, or others may post.
var (
	joins    = []string{slackgo.MsgSubTypeChannelJoin, slackgo.MsgSubTypeGroupJoin, "member_joined_channel"}
	openings = []string{slackgo.MsgSubTypeChannelUnarchive, slackgo.MsgSubTypeGroupUnarchive, slackgo.MsgSubTypeChannelPostingPermissions}
)

// notePermissions forgets why the bot may not write in a channel if an event says that this may have changed.
func notePermissions(base *platform.Base, me *self, m message) {
	is := func(kinds []string) bool { return slices.Contains(kinds, m.SubType) || slices.Contains(kinds, m.Type) }
	if m.Channel != "" && (is(openings) || is(joins) && m.User == me.user) {
		base.NoteWritable(me.place(m.Channel, "").String(), "")
	}
}

// checkedPages is how many pages of its channels Check reads: a workspace may have thousands.
const checkedPages = 5

// readOnly returns the channels that the bot is in and may not write in, as far as Slack lists them and says so (Conversation
// object: is_read_only). checked is how many channels it could read, and more whether there are others.
func (s *Slack) readOnly(ctx context.Context) (all []channel.Unwritable, checked int, more bool) {
	ctx, cancel := context.WithTimeout(ctx, s.times.check)
	defer cancel()
	channels, more, _ := s.api.channels(ctx, "", kinds[:2], checkedPages) // an error leaves more to read
	for _, c := range channels {
		if c.IsReadOnly {
			all = append(all, channel.Unwritable{Conversation: s.self.place(c.ID, "").String(), Label: chat.PlaceLabel("", c.Name, ""), Why: channel.ChannelReadOnly})
		}
	}
	return all, len(channels), more
}
