// Commands: with /cairn, as a message, or by a button.

package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
)

// command is one command, and the person who sent it.
type command struct {
	place channel.Place
	line  string // "/compact prices"
	who   channel.Person
	page  int

	written bool // as a message
}

// onSlashCommand runs "/cairn compact prices" as "/compact prices". One may arrive twice.
func (s *Slack) onSlashCommand(payload json.RawMessage) {
	var p slackgo.SlashCommand
	_ = json.Unmarshal(payload, &p) // fields in an unknown form stay empty
	if p.ChannelID == "" || s.repeated("command", p.TriggerID, p.ResponseURL) {
		return
	}
	line := "/" + cmp.Or(strings.TrimLeft(strings.TrimSpace(p.Text), "/"), "help")
	c := command{place: s.place(p.ChannelID, ""), line: line, who: channel.Person{ID: p.UserID, Name: p.UserName}}
	called, _ := channel.FindCommand(strings.TrimPrefix(c.line, "/"))
	s.start(c, s.overURL(p.ResponseURL, "", called.Public, false))
}

// repeated reports whether a command or a press was handled before; without ids that is unknown.
func (s *Slack) repeated(kind, a, b string) bool {
	return s.Handled.Seen(kind+"/"+a+"/"+b) && a+b != ""
}

// runTimeout is how long a command may take, with the work that it starts: a response_url is valid for 30 minutes.
const runTimeout = 25 * time.Minute

// start runs and answers a command. Admins may manage everything, and everyone their direct messages with the bot.
func (s *Slack) start(c command, answer answerer) {
	s.Work.Start(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, runTimeout)
		defer cancel()
		name, admin, err := s.lookUpPerson(ctx, c.who.ID)
		if err != nil {
			s.Log.Debug("look_up_person_failed", "error", err)
		}
		c.who.Name, c.who.Manager = cmp.Or(name, c.who.Name), admin || c.place.Direct()
		err = s.RunCommand(ctx, c.place.String(), c.who, c.line, func(ctx context.Context, a channel.Answer, refused bool) error {
			if c.written && refused { // as for other messages
				return nil
			}
			return answer(ctx, c, a)
		})
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("command_failed", "conversation", c.place.String(), "error", err)
		}
	})
}

// Spell returns how people write a command: after /cairn, or in a thread, where Slack has none, after a mention of the bot.
func (s *Slack) Spell(conversation, line string) string {
	place := channel.ParsePlace(conversation)
	command, _ := channel.FindCommand(strings.TrimPrefix(line, "/"))
	if place.Thread == "" && !(command.Replies && s.repliesInThreads(place)) {
		return "/cairn " + strings.TrimPrefix(line, "/")
	}
	name := "Cairn"
	select {
	case <-s.Work.Opened:
		name = cmp.Or(s.self.name, name)
	default: // not authenticated yet
	}
	return "@" + name + " " + line
}

// onTextCommand runs a written command: Slack has no slash commands in threads. It comes as a message and as a mention.
func (s *Slack) onTextCommand(place channel.Place, in channel.Inbound) {
	if s.repeated("line", place.Channel, in.ID) {
		return
	}
	c := command{place: place, line: in.Text, who: channel.Person{ID: in.AuthorID, Name: in.Author}, written: true}
	s.start(c, s.asMessage(place, in.ID))
}

// buttonValue is the value of a button, as JSON.
type buttonValue struct {
	Line   string `json:"line"`
	Page   int    `json:"page"`
	Thread string `json:"thread,omitempty"`
}

func (s *Slack) onButton(payload json.RawMessage) {
	var p struct {
		Type    string `json:"type"`
		User    struct{ ID, Name, Username string }
		Channel struct{ ID string }
		Message struct {
			TS     string
			Thread string `json:"thread_ts"` // also of the one at the top of it
		}
		Trigger string `json:"trigger_id"`
		URL     string `json:"response_url"`
		Actions []struct {
			ActionID string `json:"action_id"`
			Value    string `json:"value"`
		} `json:"actions"`
	}
	if err := json.Unmarshal(payload, &p); err != nil || p.Type != "block_actions" || len(p.Actions) == 0 || p.Channel.ID == "" {
		return
	}
	action := p.Actions[0]
	var value buttonValue
	if !strings.HasPrefix(action.ActionID, actionPrefix) || json.Unmarshal([]byte(action.Value), &value) != nil {
		return
	}
	if s.repeated("press", p.Trigger, p.URL) {
		return
	}
	place := s.place(p.Channel.ID, value.Thread)
	thread := s.placeOf(p.Channel.ID, slackgo.Msg{Timestamp: p.Message.TS, ThreadTimestamp: p.Message.Thread}).Thread
	who := channel.Person{ID: p.User.ID, Name: cmp.Or(p.User.Name, p.User.Username)}
	c := command{place: place, line: value.Line, who: who, page: value.Page}
	s.start(c, s.overURL(p.URL, thread, false, true))
}
