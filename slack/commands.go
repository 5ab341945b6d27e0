// Commands: /cairn, the same words as a message, and the buttons below a list.

package slack

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"cairn/channel"
)

// isCommand tells whether a message is a command: somebody addressed the bot, and
// said nothing else.
func isCommand(in channel.Inbound) bool {
	return in.Addressed && !in.Bot && channel.IsCommand(in.Text)
}

// Plain sentences for people.
const (
	sayRefused = "I do not answer here."
	sayFailed  = "That did not work; I wrote down why. Please try again later."
	sayUnknown = "I know no such command. These are the ones I know:"
)

// command is one command, and whoever gave it.
type command struct {
	place channel.Place
	line  string // "/compact prices"
	who   channel.Person
	page  int
}

// takeCommand runs a slash command: "/cairn compact prices" is "/compact prices".
// Slack does not send one twice, but it may arrive twice.
func (s *Slack) takeCommand(ctx context.Context, payload json.RawMessage) {
	var p struct {
		Channel  string `json:"channel_id"`
		User     string `json:"user_id"`
		UserName string `json:"user_name"`
		Text     string `json:"text"`
		URL      string `json:"response_url"`
		Trigger  string `json:"trigger_id"`
	}
	if err := json.Unmarshal(payload, &p); err != nil || p.Channel == "" {
		s.log.Debug("a command cannot be read", "error", err)
		return
	}
	if _, again := s.asked.first("command/"+p.Trigger+"/"+p.URL, ""); again && p.Trigger+p.URL != "" {
		return
	}
	c := command{place: s.place(p.Channel, ""), line: lineOf(p.Text), who: channel.Person{ID: p.User, Name: p.UserName}}
	s.commands.add(laneOf(c), func() {
		s.run(ctx, c, &privately{s: s, url: p.URL, public: isPublic(c.line)})
	})
}

// laneOf is where a command waits for those before it: its channel. /stop waits for
// none.
func laneOf(c command) string {
	if strings.EqualFold(strings.TrimSpace(c.line), "/stop") {
		return c.place.Channel + "/stop"
	}
	return c.place.Channel
}

// lineOf is what somebody typed behind the slash command, as a line. Without anything
// it asks for help.
func lineOf(text string) string {
	text = strings.TrimLeft(strings.TrimSpace(text), "/")
	if text == "" {
		text = "help"
	}
	return "/" + text
}

// Spell is how a command is written here: behind the one slash command that the app has,
// or in a thread, where Slack has none, behind the bot's name.
func (s *Slack) Spell(conversation, line string) string {
	if channel.ParsePlace(conversation).Thread == "" {
		return "/cairn " + strings.TrimPrefix(line, "/")
	}
	name := "Cairn"
	select {
	case <-s.ready:
		name = orElse(s.self.name, name)
	default: // the name is not known yet
	}
	return "@" + name + " " + line
}

func isPublic(line string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	for _, c := range channel.Commands {
		if strings.EqualFold(c.Name, name) {
			return c.Public
		}
	}
	return false
}

// takeLine runs a command that was written as a message: in threads Slack has no
// slash commands. It comes twice, as message and as mention.
func (s *Slack) takeLine(ctx context.Context, place channel.Place, in channel.Inbound) {
	if _, again := s.asked.first("line/"+place.Channel+"/"+in.ID, ""); again {
		return
	}
	c := command{place: place, line: in.Text, who: channel.Person{ID: in.AuthorID, Name: in.Author}}
	s.commands.add(laneOf(c), func() { s.run(ctx, c, &openly{s: s, place: place, answers: in.ID}) })
}

// pressed is what a button carries.
type pressed struct {
	Line   string `json:"line"`
	Page   int    `json:"page"`
	Thread string `json:"thread,omitempty"`
}

// takePress turns a page: the line is run again, for whoever pressed.
func (s *Slack) takePress(ctx context.Context, payload json.RawMessage) {
	var p struct {
		Type    string `json:"type"`
		User    struct{ ID, Name, Username string }
		Channel struct{ ID string }
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
	var value pressed
	if !strings.HasPrefix(action.ActionID, pageAction) || json.Unmarshal([]byte(action.Value), &value) != nil {
		return
	}
	if _, again := s.asked.first("press/"+p.Trigger+"/"+p.URL, ""); again && p.Trigger+p.URL != "" {
		return
	}
	place := s.place(p.Channel.ID, value.Thread)
	who := channel.Person{ID: p.User.ID, Name: orElse(p.User.Name, p.User.Username)}
	c := command{place: place, line: value.Line, who: who, page: value.Page}
	s.commands.add(laneOf(c), func() {
		s.run(ctx, c, &privately{s: s, url: p.URL, turned: true})
	})
}

// runTime is how long a command may take until its answer is there. What it began may
// go on longer: see Answer.Then.
const runTime = time.Minute

// thenTime is how long the end of what a command began is waited for: a response_url
// works for 30 minutes.
const thenTime = 25 * time.Minute

// run runs a command and answers it.
func (s *Slack) run(ctx context.Context, c command, to answerer) {
	brief, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	c.who = s.person(brief, c)
	answer, handled, err := s.hub.Run(brief, c.place.String(), c.who, c.line)
	switch {
	case errors.Is(err, channel.ErrRefused):
		to.refuse(brief, sayRefused)
		return
	case err != nil:
		if ctx.Err() == nil {
			s.log.Warn("command_failed", "conversation", c.place.String(), "error", err)
		}
		answer = channel.Answer{Text: sayFailed}
	case !handled:
		c.line = "/help"
		if answer, _, err = s.hub.Run(brief, c.place.String(), c.who, c.line); err != nil {
			to.refuse(brief, sayRefused)
			return
		}
		answer = answer.Fenced()
		answer.Text = sayUnknown + "\n" + answer.Text
	}
	if err := to.answer(brief, c, answer); err != nil {
		if ctx.Err() == nil {
			s.log.Warn("a command could not be answered", "conversation", c.place.String(), "error", err)
		}
		return
	}
	if answer.Then == nil {
		return
	}
	s.tasks.start(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, thenTime)
		defer cancel()
		text := answer.Then(ctx)
		if text == "" || ctx.Err() != nil {
			return
		}
		if err := to.replace(ctx, c, channel.Answer{Text: text}); err != nil && ctx.Err() == nil {
			s.log.Warn("a command could not be answered", "conversation", c.place.String(), "error", err)
		}
	})
}

// person completes who gave a command: Slack trusts its administrators, and everybody
// with what is said to the bot alone.
func (s *Slack) person(ctx context.Context, c command) channel.Person {
	who := c.who
	who.Manager = s.names.trusted(ctx, who.ID) || c.place.Direct()
	if name, ok := s.names.find(who.ID); ok {
		who.Name = name
	}
	return who
}
