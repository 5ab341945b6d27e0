// Commands, with /cairn, as a message, or by a button, and their answers, over a response_url or as messages.

package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
	"cairn/connector/platform"
)

// typed is a command as a person gave it.
type typed struct {
	place chat.Place
	line  string // "/compact prices"
	who   access.Person
	page  int

	home bool // it was pressed in the Home tab

	thread string // where its answer is posted, if place has none: in a direct message with an agent

	ran chan struct{} // nil: it was not written as a message; see platform.Base.RunCommand
}

// commands runs the commands that people write, and answers them.
type commands struct {
	base     *platform.Base
	api      *api
	self     *self
	names    *names
	times    *times
	recent   *recent
	history  *history
	poster   *poster
	sessions *sessions
	home     *home
	queue    *platform.KeyedQueue[event] // see events

	reactions []string // see Options
}

// onSlashCommand runs "/cairn compact prices" as "/compact prices". One may arrive twice.
func (r *commands) onSlashCommand(payload json.RawMessage) {
	var p slackgo.SlashCommand
	_ = json.Unmarshal(payload, &p) // fields in an unknown form stay empty
	if p.ChannelID == "" {
		return
	}
	line := "/" + cmp.Or(strings.TrimLeft(strings.TrimSpace(p.Text), "/"), "help")
	c := typed{place: r.self.place(p.ChannelID, ""), line: line, who: access.Person{ID: p.UserID, Name: p.UserName}}
	called, _ := command.Find(strings.TrimPrefix(c.line, "/"))
	r.start(p.TriggerID+p.ResponseURL, c, r.overURL(c, p.ResponseURL, "", called.Public, false))
}

const commandPrefix = "command-" // starts the marks of answers to commands that people wrote as messages, whose ts follows

const runTimeout = 25 * time.Minute // of a command and the work that it starts: a response_url is valid for 30 minutes

// start runs and answers a command, once by its id. Admins may manage everything, and everyone their direct messages with the bot.
func (r *commands) start(id string, c typed, show platform.Show) {
	r.base.Command(id, c.place.String(), runTimeout, c.ran, func(ctx context.Context) error { return r.run(ctx, c, show) })
}

// run runs a command with the rights that the person has now.
func (r *commands) run(ctx context.Context, c typed, show platform.Show) error {
	name, admin, _, err := lookUpPerson(ctx, r.api.read, c.who.ID)
	if err != nil {
		r.base.Log.Debug("look_up_person_failed", "error", err)
	}
	c.who.Name, c.who.Manager = cmp.Or(name, c.who.Name), admin || c.place.Direct()
	if !c.home {
		show = r.home.clearing(c, show)
	}
	queued := "" // where the queue waits for the command
	if c.ran != nil {
		show = platform.Reaching(r.poster, c.place.String(), c.who, show)
		queued = c.place.Channel
	}
	if platform.Deletes(c.line) {
		r.queue.Settle(ctx, queued)
	}
	return r.base.RunCommand(ctx, c.place.String(), c.who, c.line, c.ran, show)
}

type buttonValue struct {
	Line   string `json:"line"`
	Page   int    `json:"page"`
	Thread string `json:"thread,omitempty"`
	Beside bool   `json:"beside,omitempty"` // the answer does not replace the message
}

func (r *commands) onButton(payload json.RawMessage) {
	var p struct {
		Type    string `json:"type"`
		User    struct{ ID, Name, Username string }
		Channel struct{ ID string }
		Message message
		Entry   string `json:"callback_id"` // of a message's menu
		Trigger string `json:"trigger_id"`
		URL     string `json:"response_url"`
		Actions []struct {
			ActionID string                 `json:"action_id"`
			Value    string                 `json:"value"`
			Selected struct{ Value string } `json:"selected_option"` // of a menu
		} `json:"actions"`
	}
	if err := platform.Decode(payload, &p); err != nil || p.Channel.ID == "" || p.URL == "" {
		return // there is nowhere to answer
	}
	who := access.Person{ID: p.User.ID, Name: cmp.Or(p.User.Name, p.User.Username)}
	if p.Type == "message_action" {
		r.onMenu(p.Entry, p.Channel.ID, p.Message, who, p.Trigger, p.URL)
		return
	}
	var value buttonValue
	isButton := p.Type == "block_actions" && len(p.Actions) > 0 && strings.HasPrefix(p.Actions[0].ActionID, actionPrefix)
	known := isButton && json.Unmarshal([]byte(cmp.Or(p.Actions[0].Value, p.Actions[0].Selected.Value)), &value) == nil && platform.KnowsButton(value.Line)
	place := r.self.place(p.Channel.ID, value.Thread)
	thread := r.recent.threadOf(p.Channel.ID, p.Message)
	c := typed{place: place, line: value.Line, who: who, page: value.Page}
	show := r.overURL(c, p.URL, thread, false, !value.Beside)
	if !known {
		r.base.Command(p.Trigger+p.URL, place.String(), runTimeout, nil, func(ctx context.Context) error { return r.base.RefuseButton(ctx, place.String(), show) })
		return
	}
	r.start(p.Trigger+p.URL, c, show)
}

// overURL answers over a response_url. Only the sender sees the answer, unless it is public. The answer may replace the
// message whose button was pressed, in this thread.
func (r *commands) overURL(c typed, url, thread string, public, replaces bool) platform.Show {
	return func(ctx context.Context, a command.Answer) error {
		public = public && !a.Private
		text, all := blocks(c, a)
		m := &slackgo.WebhookMessage{Text: text, ReplaceOriginal: replaces && !a.Private && !a.Refused, ResponseType: slackgo.ResponseTypeEphemeral}
		if public {
			m.ResponseType = slackgo.ResponseTypeInChannel
		}
		if !m.ReplaceOriginal {
			m.ThreadTimestamp = thread
		}
		if len(all) > 0 {
			m.Blocks = &slackgo.Blocks{BlockSet: all}
		}
		first := !replaces
		replaces = true
		return r.retry(ctx, func(failed error) error {
			m.ReplaceOriginal = m.ReplaceOriginal || first && mayHaveTakenEffect(failed)
			return platform.WithoutURL(slackgo.PostWebhookCustomHTTPContext(ctx, url, r.api.http, m))
		})
	}
}

// asMessage answers a written command with a message, which all see unless the answer is private: such a one cannot be edited.
func (r *commands) asMessage(c typed, written string) platform.Show {
	ts := ""
	place := c.place
	place.Thread = cmp.Or(place.Thread, c.thread)
	m := mark{Reply: commandPrefix + written}
	write := r.api.write
	return func(ctx context.Context, a command.Answer) error {
		options := optionsOf(blocks(c, a))
		return r.retry(ctx, func(failed error) (err error) {
			if ts != "" {
				_, _, _, err = write.UpdateMessageContext(ctx, place.Channel, ts, options...)
				return err
			}
			options := options
			if place.Thread != "" {
				options = append(options, slackgo.MsgOptionTS(place.Thread))
			}
			if a.Private && !place.Direct() {
				_, err = write.PostEphemeralContext(ctx, place.Channel, c.who.ID, options...)
				return err
			}
			if mayHaveTakenEffect(failed) {
				sent, err := r.history.messagesSince(ctx, place, written)
				for _, answer := range sent {
					if answer.marked() && answer.Metadata.Mark == m {
						ts = answer.TS
					}
				}
				if err != nil || ts != "" {
					return err
				}
			}
			_, ts, err = write.PostMessageContext(ctx, place.Channel, append(options, m.option())...)
			if err == nil {
				r.recent.noteFinished(place.Channel, ts)
			}
			r.poster.notePost(place, err)
			return err
		})
	}
}

const maxTries = 3 // of an answer

// retry calls try until it succeeds, is refused for good, or has failed maxTries times. failed is the error of the previous time.
func (r *commands) retry(ctx context.Context, try func(failed error) error) (err error) {
	for tries := 1; ; tries++ {
		err = try(err)
		pause, _ := rateLimit(err)
		if err == nil || isPermanent(err) || tries == maxTries || platform.Sleep(ctx, max(r.times.answer, pause)) != nil {
			return err
		}
	}
}

// optionsOf returns a message of blocks; text is what notifications show, and all of it if there are no blocks.
func optionsOf(text string, all []slackgo.Block) []slackgo.MsgOption {
	options := []slackgo.MsgOption{slackgo.MsgOptionText(text, false)}
	if len(all) > 0 {
		options = append(options, slackgo.MsgOptionBlocks(all...))
	}
	return options
}
