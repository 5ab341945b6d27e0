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
	"cairn/channel/sentences"
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
			ActionID string `json:"action_id"`
			Value    string `json:"value"`
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
	known := isButton && json.Unmarshal([]byte(p.Actions[0].Value), &value) == nil && platform.KnowsButton(value.Line)
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
	m := mark{Reply: "command-" + written}
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

const (
	maxBlocks    = 50           // of a message
	maxBytes     = 12_000       // of its blocks; Slack documents no limit, but was seen to refuse some 13 000
	maxValue     = 2_000        // characters of a button's value
	actionPrefix = "cairn_page" // prefix of the action ids of buttons that run a command
)

// blocks renders one page of an answer, shortened to fit, with buttons for its neighbours; text is what notifications show.
func blocks(c typed, a command.Answer) (text string, all []slackgo.Block) {
	a = a.Fenced()
	page := a.Page(c.page)
	buttons := pageButtons(c, a)
	if a.Pages() > 1 && buttons == nil {
		page = a.String() // the line is too long for a button
	}
	for _, b := range a.Buttons {
		if button := buttonOf(b.Label, buttonValue{Line: b.Line, Thread: c.place.Thread, Beside: b.Beside}); button != nil {
			buttons = append(buttons, button)
		}
	}
	for limit := maxBytes; ; limit = limit * 3 / 4 {
		text, all = sections(platform.Splitter{Limit: limit}.Fit(page))
		if buttons != nil {
			all = append(all, slackgo.NewActionBlock("", buttons...))
		}
		if encoded, _ := json.Marshal(all); len(encoded) <= maxBytes { // they can always be encoded
			break
		}
	}
	if len(all) == 1 {
		all = nil // the text is enough
	}
	return text, all
}

// sections renders a text as blocks, with room for one more; first is the text of the first one.
func sections(text string) (first string, all []slackgo.Block) {
	pieces := section.Texts(text, "")
	for _, piece := range pieces[:min(len(pieces), maxBlocks-1)] {
		if strings.TrimSpace(piece) != "" {
			all = append(all, slackgo.NewSectionBlock(slackgo.NewTextBlockObject(slackgo.MarkdownType, escape(piece), false, false), nil, nil))
		}
	}
	return escape(pieces[0]), all
}

func pageButtons(c typed, a command.Answer) (buttons []slackgo.BlockElement) {
	page := min(max(c.page, 0), a.Pages()-1)
	for _, b := range []struct {
		label string
		page  int
	}{{command.TextPrevious, page - 1}, {command.TextNext, page + 1}} {
		if b.page < 0 || b.page >= a.Pages() {
			continue
		}
		button := buttonOf(sentences.In(a.Language).Translate(b.label), buttonValue{Line: c.line, Page: b.page, Thread: c.place.Thread})
		if button == nil {
			return nil
		}
		buttons = append(buttons, button)
	}
	return buttons
}

// buttonOf returns a button that runs a command; nil if the command line is too long.
func buttonOf(label string, value buttonValue) slackgo.BlockElement {
	encoded, err := json.Marshal(value)
	if err != nil || len(encoded) > maxValue {
		return nil
	}
	return slackgo.NewButtonBlockElement(actionPrefix+strings.ToLower(label), string(encoded), slackgo.NewTextBlockObject(slackgo.PlainTextType, label, false, false))
}
