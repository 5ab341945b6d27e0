// Titles of agents' sessions, which begin with a person's words, and lose them when the message is deleted or forgotten.

package slack

import (
	"context"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/connector/platform"
)

// textUntitled is the title of a session whose question is deleted.
const textUntitled = "Conversation"

// Forgotten implements channel.Forgetter.
func (s *Slack) Forgotten(conversation string, ids []string) {
	s.replies.untitle(conversation, ids)
	s.home.emptyOutdated()
}

// untitle replaces the titles of sessions that begin with messages which are gone. Slack does not say what the title of a session is, so one
// that a person has written since is replaced, too.
func (r *replies) untitle(conversation string, ids []string) {
	for _, id := range ids { // each by itself: one that fails holds up no other
		r.base.Work.Start(func(ctx context.Context) {
			if r.base.Work.Wait(ctx) == nil && r.sessions.exist() {
				r.untitleOne(ctx, conversation, id)
			}
		})
	}
}

func (r *replies) untitleOne(ctx context.Context, conversation, id string) {
	thread := chat.ParsePlace(conversation)
	found := ""
	platform.Retry(ctx, platform.Backoff{First: time.Second, Max: time.Minute}, func() (done bool) { // the database may be away
		ts, err := r.titled(ctx, thread, id)
		found = ts
		if err != nil {
			r.base.Log.Debug("read_title_failed", "error", err)
		}
		return err == nil
	})
	if found != "" {
		thread.Thread = found
		r.sessions.untitle(ctx, conversation, thread)
	}
}

// titled returns the thread whose session may have a message as its title; "": none has. It is the first question there: outside of
// threads, each opens one.
func (r *replies) titled(ctx context.Context, place chat.Place, id string) (ts string, err error) {
	asked, first, err := channel.AskedFirst(ctx, r.base.Hub, place.String(), id)
	switch {
	case !asked || !isTS(id):
		return "", err
	case place.Thread == "" && r.threadOf(ctx, place, id) != id: // in a direct message
		return "", nil
	case place.Thread == "":
		return id, nil
	case !first:
		return "", nil
	}
	byRoot, _, err := channel.AskedFirst(ctx, r.base.Hub, above(place), place.Thread)
	if byRoot {
		return "", nil
	}
	return place.Thread, err
}

// untitle gives the session of a thread, if there is one, a title that says nothing.
func (s *sessions) untitle(ctx context.Context, conversation string, thread chat.Place) {
	title := sentences.In(channel.SpokenIn(s.base.Hub, conversation)).Translate(textUntitled)
	platform.Retry(ctx, platform.Backoff{First: time.Second, Max: time.Minute}, func() (done bool) {
		if s.unnamed.holds() {
			return true
		}
		_, err := s.api.write.RenameAgentSessionContext(background(ctx, nil), slackgo.AgentSessionRenameParameters{
			ChannelID: thread.Channel, ThreadTS: thread.Thread, Title: title,
		})
		return err == nil || s.unnamed.note(err)
	})
}
