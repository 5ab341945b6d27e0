// Slash commands: their registration, use and autocompletion, and buttons. Discord waits 3 seconds for the
// first response to each use.

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
	"cairn/connector/platform"
)

// commands registers the bot's commands, runs those that people use, and answers them.
type commands struct {
	base       *platform.Base
	rest       *rest
	state      *stateCache
	queue      *platform.KeyedQueue[func()] // see events
	poster     *poster
	reactions  []string    // see Options
	registered atomic.Bool // the commands are registered, or being registered
}

const (
	tokenTimeout   = 14 * time.Minute // how long an interaction is handled; its token is valid for 15 minutes
	textTimeout    = time.Hour        // how long a written command is handled
	suggestTimeout = 2 * time.Second  // of the 3 seconds in which Discord accepts suggestions
)

// interaction is the use of a command or a button, or a request for suggestions. discordgo's does not decode if one field is odd.
type interaction struct {
	ID, Token string
	Type      discordgo.InteractionType
	AppID     string              `json:"application_id"`
	GuildID   string              `json:"guild_id"`
	ChannelID string              `json:"channel_id"`
	Member    *member             // in a server
	User      *user               // elsewhere
	Message   struct{ ID string } // whose button was pressed
	Data      struct {
		Name     string
		Options  []option
		CustomID string   `json:"custom_id"` // of a button, or a menu
		Values   []string // that were chosen in a menu
		TargetID string   `json:"target_id"` // the message whose menu was used
		Resolved struct{ Messages map[string]message }
	}
}

type option struct {
	Name    string
	Value   json.RawMessage
	Focused bool
}

func (o option) value() string {
	var s string
	if json.Unmarshal(o.Value, &s) == nil {
		return s
	}
	return string(o.Value)
}

// onInteraction handles an interaction in a goroutine, not in the channel's queue: Discord waits only 3 seconds.
func (c *commands) onInteraction(i interaction) {
	if i.ID != "" && i.Token != "" {
		where := place{ID: i.ChannelID, Guild: i.GuildID}.conversation()
		c.base.Command(i.ID, where, tokenTimeout, nil, func(ctx context.Context) error { return c.handle(ctx, i) })
	}
}

// handle defers the response to an interaction, runs its command for the person who caused it, and shows the answer.
func (c *commands) handle(ctx context.Context, i interaction) error {
	line, n, known := parseCustomID(i.pressed())
	deferral := discordgo.InteractionResponseDeferredMessageUpdate
	data := any(nil)
	switch i.Type {
	case discordgo.InteractionApplicationCommandAutocomplete:
		return c.suggest(ctx, i)
	case discordgo.InteractionMessageComponent:
		known = known && platform.KnowsButton(line)
		if i.isBeside() {
			deferral = discordgo.InteractionResponseDeferredChannelMessageWithSource
			data = map[string]any{"flags": i.flags()}
		}
	case discordgo.InteractionApplicationCommand:
		line = i.line()
		known = true
		fallthrough
	case discordgo.InteractionModalSubmit: // the bot opens none
		deferral = discordgo.InteractionResponseDeferredChannelMessageWithSource
		data = map[string]any{"flags": i.flags()}
	default:
		return nil
	}
	if err := c.callback(ctx, i, deferral, data); err != nil {
		return err
	}
	show := func(ctx context.Context, answer command.Answer) error { return c.showAnswer(ctx, i, line, n, answer) }
	if platform.Deletes(line) {
		c.queue.Settle(ctx, "")
	}
	name := c.holder(ctx, locate(ctx, c.rest, c.state, i.ChannelID, i.GuildID).conversation(), cmp.Or(i.Data.TargetID, i.Message.ID))
	if !known {
		return c.base.RefuseButton(ctx, name, show)
	}
	return c.base.RunCommand(ctx, name, i.person(), line, nil, show)
}

// holder returns the conversation to which a message belongs that people see in one: an answer in a thread may belong to that of the channel.
func (c *commands) holder(ctx context.Context, name, message string) string {
	if message == "" || chat.ParsePlace(name).Thread == "" {
		return name
	}
	found, err := channel.Holder(ctx, c.base.Hub, name, message)
	if err != nil {
		c.base.Log.Debug("find_message_failed", "error", err)
		return name
	}
	return found
}

// pressed returns the id of the button, or that of a button for what was chosen in a menu.
func (i interaction) pressed() string {
	if i.Data.CustomID == menuID && len(i.Data.Values) == 1 {
		return besidePrefix + i.Data.Values[0]
	}
	return i.Data.CustomID
}

// isButton reports whether the answer replaces the message whose button was pressed.
func (i interaction) isButton() bool {
	return i.Type == discordgo.InteractionMessageComponent && !i.isBeside()
}

// isBeside reports whether the answer to a button is a message of its own.
func (i interaction) isBeside() bool { return strings.HasPrefix(i.Data.CustomID, besidePrefix) }

// flags returns those of the answer: only the sender sees it, unless the command is public or it replaces the message of a button.
func (i interaction) flags() int {
	if command, _ := command.Find(i.Data.Name); command.Public || i.isButton() {
		return 0
	}
	return int(discordgo.MessageFlagsEphemeral)
}

func (i interaction) person() access.Person {
	switch m := i.Member; {
	case m != nil && m.User != nil:
		return access.Person{ID: m.User.ID, Name: m.User.name(i.GuildID, m), Roles: m.Roles, Manager: manages(m.Permissions)}
	case i.User != nil:
		return access.Person{ID: i.User.ID, Name: i.User.name("", nil), Manager: i.GuildID == ""}
	}
	return access.Person{}
}

// action returns the command of an entry in a message's menu; "/" if this version has no such entry.
func (i interaction) action() string {
	for _, a := range command.Menu {
		if a.Label == i.Data.Name {
			own := ""
			if target := i.Data.Resolved.Messages[i.Data.TargetID]; target.Content != nil && target.Author != nil && target.Author.ID == i.person().ID {
				own = *target.Content
			}
			return a.Line(i.Data.TargetID, own)
		}
	}
	return "/"
}

func (i interaction) line() string {
	if i.Data.TargetID != "" {
		return i.action()
	}
	line := "/" + i.Data.Name
	of, _ := command.Find(i.Data.Name)
	for _, a := range of.Args {
		for _, o := range i.Data.Options {
			switch {
			case o.Name != a.Name:
			case a.Named:
				line += " " + command.Named(a.Name, o.value())
			default:
				line += " " + strings.TrimSpace(o.value())
			}
		}
	}
	return line
}

// suggest completes an argument of a command. It responds even if it finds nothing: otherwise Discord shows an error.
func (c *commands) suggest(ctx context.Context, i interaction) error {
	typed := ""
	number := false
	command, _ := command.Find(i.Data.Name)
	for _, o := range i.Data.Options {
		for _, a := range command.Args {
			if o.Focused && a.Name == o.Name {
				typed = o.value()
				number = a.Number
			}
		}
	}
	limited, cancel := context.WithTimeout(ctx, suggestTimeout)
	defer cancel()
	name := locate(limited, c.rest, c.state, i.ChannelID, i.GuildID).conversation()
	found, err := c.base.Hub.Suggest(limited, name, i.person(), i.Data.Name, typed)
	if errors.Is(err, channel.ErrRefused) {
		err = nil
	}
	choices := []discordgo.ApplicationCommandOptionChoice{}
	for _, s := range found[:min(len(found), 25)] {
		value, _ := json.Marshal(platform.Short(s.Value, 100)) // a string can always be encoded
		if number {
			value = json.RawMessage(s.Value)
		}
		if s.Label != "" && json.Valid(value) {
			choices = append(choices, discordgo.ApplicationCommandOptionChoice{Name: platform.Short(s.Label, 100), Value: json.RawMessage(value)})
		}
	}
	return errors.Join(err, c.callback(ctx, i, discordgo.InteractionApplicationCommandAutocompleteResult, map[string]any{"choices": choices}))
}

// callback sends the first response to an interaction. Discord accepts it only within 3 seconds.
func (c *commands) callback(ctx context.Context, i interaction, kind discordgo.InteractionResponseType, data any) error {
	body := struct {
		Type discordgo.InteractionResponseType `json:"type"`
		Data any                               `json:"data,omitempty"`
	}{kind, data}
	err := c.rest.do(ctx, call{method: http.MethodPost, path: "/interactions/" + i.ID + "/" + i.Token + "/callback", body: body, tokenInPath: true})
	if refusalIn(err).code == codeAnswered { // an earlier try got through
		return nil
	}
	return err
}
