// A trial of the connector in a real conversation, see platform.Trial: what it needs of Slack.

package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// trialExpected is what Slack should do in the steps of a trial. The pages are those below https://docs.slack.dev/reference/methods/.
var trialExpected = map[string]string{
	"post":    "chat.postMessage takes markdown_text and metadata, and answers with the ts",
	"find":    "conversations.history with include_all_metadata has the message with its text and its metadata",
	"again":   "the message is found by its metadata, and nothing is posted",
	"working": "in a channel reactions.add and reactions.remove, elsewhere assistant.threads.setStatus, show that the bot works",
	"edit":    "chat.postMessage shows the beginning, chat.update the rest and the metadata; the message counts as edited",
	"answer":  "in a thread chat.startStream shows the beginning, chat.appendStream more, and chat.stopStream ends it with metadata; conversations.replies has the whole text and the metadata",
	"stop":    "chat.delete removes an unfinished answer; chat.stopStream ends it before, where Slack has streams",
	"press":   "a message takes a markdown block and an actions block; the press comes over Socket Mode, and its response_url takes an answer for one person",
	"upload":  "",

	"clean up": "chat.delete removes every message of the trial, and the history no longer has them",
}

// Trial prepares a trial in a conversation, "slack:CHANNEL", "slack:WORKSPACE/CHANNEL" or with a thread behind it. hub has a store of
// its own. The error says what a person has to do. The connector must not be used for anything else.
func (s *Slack) Trial(ctx context.Context, hub *channel.Hub, conversation string) (*platform.Trial, error) {
	calls := platform.Record(s.api.http, callName)
	s.Hub = hub
	if err := s.probeBot(ctx); err != nil {
		return nil, err
	}
	place, err := s.placeForTrial(ctx, conversation)
	if err != nil {
		return nil, err
	}
	s.Work.Open(ctx)
	expected := maps.Clone(trialExpected)
	if s.o.Working == workingOff || s.o.Working == workingPlaceholder { // the first is nothing, the second is an edit
		delete(expected, "working")
	}
	if _, tried := expected["working"]; tried && s.self.agent {
		expected["working"] = "in a channel reactions.add and reactions.remove, in threads agents.sessions.setStatus, show that the bot works"
	}
	started := tsOf(s.Clock.Now().Add(-time.Minute))
	return &platform.Trial{
		Connector: s, Conversation: place.String(), Calls: calls, Work: s.Work, Expected: expected, Answer: "response_url", Remove: s.removeTried, Pressed: s.awaitPress,
		Own: func(ctx context.Context, conversation string) (all []platform.Posted, err error) {
			found, err := s.messagesSince(ctx, chat.ParsePlace(conversation), started)
			for _, m := range found {
				all = append(all, platform.Posted{ID: m.TS, Text: entities.Replace(m.Text), Marked: m.marked() && m.Metadata.Mark.Reply != "", Edited: m.Edited != nil})
			}
			return all, err
		},
		Below: func(ctx context.Context, ts string) (string, error) { return s.belowForTrial(ctx, place, ts) },
	}, nil
}

// callName names a request of the client.
func callName(r *http.Request) string {
	if name := path.Base(r.URL.Path); strings.Contains(name, ".") {
		return name
	}
	return "response_url" // which is a secret
}

// placeForTrial completes the name of a conversation, and makes sure that the bot is in it.
func (s *Slack) placeForTrial(ctx context.Context, conversation string) (chat.Place, error) {
	place := chat.ParsePlace(conversation)
	if place.Channel == "" || place.Server != s.self.team && isChannelID(place.Server) {
		place = chat.Place{Connector: Name, Server: s.self.team, Channel: place.Server, Thread: place.Channel}
	}
	switch {
	case !isChannelID(place.Channel):
		return place, fmt.Errorf("%s names no channel: write slack:C0123456789, with the id that Slack shows at the end of the channel's details", conversation)
	case place.Server != s.self.team:
		return place, fmt.Errorf("%s is of another workspace: the bot token is one of %s", conversation, s.self.team)
	}
	found, err := s.api.read.GetConversationInfoContext(ctx, &slackgo.GetConversationInfoInput{ChannelID: place.Channel})
	invite := "add it there with /invite @" + s.self.currentName()
	switch {
	case codeOf(err) == "channel_not_found":
		return place, fmt.Errorf("there is no channel %s, or it is private and the bot is not in it: %s", place.Channel, invite)
	case err != nil:
		return place, fmt.Errorf("look up the channel: %w", explainBotError(err))
	case found.IsArchived:
		return place, platform.SetupError(channel.ChannelArchived)
	case !place.Direct() && !found.IsMember:
		return place, errors.New("the bot is not in this channel: " + invite)
	}
	return place, nil
}

// isChannelID reports whether a text is the id of a channel, a private channel, or a direct message.
func isChannelID(id string) bool {
	return len(id) > 1 && strings.ContainsRune("CGD", rune(id[0])) && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// belowForTrial has the answer to a message of the bot streamed as if the person who wrote last had written that message: in a channel, a
// stream is for one person. It returns where the answer will be.
func (s *Slack) belowForTrial(ctx context.Context, place chat.Place, ts string) (string, error) {
	below := place
	if place.Thread == "" && (repliesInThreads(s.o.ReplyIn, place) || s.recent.isWithAgent(place.Channel)) {
		below.Thread = ts
	}
	if below.Thread == "" {
		return "", platform.Skip("answers are posted without a thread here, where Slack has no streams")
	}
	found, err := s.history.page(ctx, chat.Place{Channel: place.Channel}, span{})
	if err != nil {
		return "", err
	}
	for _, m := range found.messages { // the newest first
		if m.User != "" && m.BotID == "" && m.isKept() {
			s.recent.noteAuthor(place.Channel, ts, m.User, m.Team)
			return below.String(), nil
		}
	}
	return "", platform.Skip("a stream is for one person, and no person has written here lately: write something and try again")
}

// removeTried deletes a message. A stream must be stopped first.
func (s *Slack) removeTried(ctx context.Context, conversation, ts string) error {
	channelID := chat.ParsePlace(conversation).Channel
	_, _, err := s.api.write.DeleteMessageContext(ctx, channelID, ts)
	if code := codeOf(err); code == "cant_delete_message" || code == "streaming_state_conflict" {
		_, _, stopErr := s.api.write.StopStreamContext(ctx, channelID, ts)
		if stopErr == nil {
			_, _, err = s.api.write.DeleteMessageContext(ctx, channelID, ts)
		}
	}
	if codeOf(err) == "message_not_found" {
		err = nil
	}
	return err
}

// awaitPress opens a socket, on which it handles the press of one button alone: Slack sends the rest again, to the bot.
func (s *Slack) awaitPress(ctx context.Context, turn string, post func() error) error {
	_, address, err := s.api.write.StartSocketModeContext(ctx)
	if err != nil {
		return explainSocketError(err)
	}
	ws, err := platform.Dial(ctx, address, http.Header{"Origin": {"https://api.slack.com"}}, helloTimeout)
	if err != nil {
		return err
	}
	defer ws.Close()
	k := &socket{sockets: s.sockets, ws: ws}
	pressed := errors.New("pressed")
	ping := time.NewTicker(s.times.silence / 3)
	defer ping.Stop()
	err = ws.Serve(ctx, ping.C, ws.Ping, func(message []byte) error {
		var r struct {
			socketmode.Request
			Connections int `json:"num_connections"` // of hello
		}
		if json.Unmarshal(message, &r) != nil {
			return nil
		}
		switch {
		case r.Type == socketmode.RequestTypeHello && r.Connections > 1:
			return cmp.Or(post(), error(platform.Skip("another connection of this app is open, and Slack may send a press there: stop the bot to try this")))
		case r.Type == socketmode.RequestTypeHello:
			ws.Expect(s.times.silence)
			return post()
		case r.Type == socketmode.RequestTypeInteractive && bytes.Contains(r.Payload, []byte(turn)):
			k.acknowledge(r.EnvelopeID)
			s.commands.onButton(r.Payload)
			return pressed
		}
		return nil
	})
	if errors.Is(err, pressed) {
		return nil
	}
	return err
}
