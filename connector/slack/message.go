// Messages and events as Slack sends them, and the mark by which the bot's messages are found again.

package slack

import (
	"encoding/json"
	"fmt"
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
	Tab       string   // of App Home, see onHome

	// In events about reactions only.
	Reaction string
	Item     struct{ Type, Channel, TS string }
	ItemUser string `json:"item_user"` // the author of the message
}

type file struct {
	ID, Mode, Name, Title, Mimetype string
	Size                            int64
	Download                        string  `json:"url_private_download"`
	URL                             string  `json:"url_private"`
	AltText                         string  `json:"alt_txt"`
	Subtype                         string  // voiceClip for one
	Milliseconds                    float64 `json:"duration_ms"`
	Transcription                   transcription
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
