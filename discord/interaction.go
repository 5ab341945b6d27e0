// Interactions: slash commands, buttons and autocompletion. Discord waits 3 seconds for the first
// response to each.

package discord

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/internal/platform"
)

const (
	tokenTimeout   = 14 * time.Minute // how long an interaction is handled; its token is valid for 15 minutes
	suggestTimeout = 2 * time.Second  // of the 3 seconds in which Discord accepts suggestions
)

// interaction is the use of a slash command or a button, or a request for suggestions. discordgo's
// type cannot be decoded if a single field has an unknown form.
type interaction struct {
	ID        string  `json:"id"`
	AppID     string  `json:"application_id"`
	Type      int     `json:"type"`
	Token     string  `json:"token"`
	GuildID   string  `json:"guild_id"`
	ChannelID string  `json:"channel_id"`
	Member    *member `json:"member"` // in a server
	User      *user   `json:"user"`   // elsewhere
	Data      struct {
		Name     string   `json:"name"`
		Options  []option `json:"options"`
		CustomID string   `json:"custom_id"` // of a button
	} `json:"data"`
}

type option struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value"`
	Focused bool            `json:"focused"`
}

// value returns the value as it was typed.
func (o option) value() string {
	var s string
	if json.Unmarshal(o.Value, &s) == nil {
		return s
	}
	return string(o.Value)
}

// onInteraction handles an interaction in its own goroutine, not in the channel's queue: Discord
// waits only 3 seconds.
func (d *Discord) onInteraction(i interaction) {
	if i.ID == "" || i.Token == "" || d.seen.Seen(i.ID) {
		return
	}
	d.work.Start(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
		defer cancel()
		if err := d.handle(ctx, i); err != nil && ctx.Err() == nil {
			d.log.Warn("interaction_answer_failed", "command", i.Data.Name, "error", err)
		}
	})
}

func (d *Discord) handle(ctx context.Context, i interaction) error {
	switch discordgo.InteractionType(i.Type) {
	case discordgo.InteractionApplicationCommand:
		return d.runSlash(ctx, i)
	case discordgo.InteractionApplicationCommandAutocomplete:
		return d.suggest(ctx, i)
	case discordgo.InteractionMessageComponent:
		return d.runButton(ctx, i)
	}
	return nil
}

// conversationOf returns the name of the conversation that an interaction belongs to.
func (d *Discord) conversationOf(ctx context.Context, i interaction) string {
	return d.locate(ctx, i.ChannelID, i.GuildID).conversation()
}

// person returns the person who caused the interaction.
func (i interaction) person() channel.Person {
	switch {
	case i.Member != nil && i.Member.User != nil:
		return channel.Person{
			ID: i.Member.User.ID, Name: i.Member.User.name(i.Member), Roles: i.Member.Roles, Manager: manages(i.Member.Permissions),
		}
	case i.User != nil:
		return channel.Person{ID: i.User.ID, Name: i.User.name(nil), Manager: i.GuildID == ""}
	}
	return channel.Person{}
}

// line returns the command as a person would type it.
func (i interaction) line() string {
	words := []string{"/" + i.Data.Name}
	command, _ := channel.FindCommand(i.Data.Name)
	for _, a := range command.Args {
		for _, o := range i.Data.Options {
			if o.Name == a.Name {
				words = append(words, strings.TrimSpace(o.value()))
			}
		}
	}
	return strings.Join(words, " ")
}

// suggest completes an argument of a command. It responds even if it finds nothing: otherwise
// Discord shows an error.
func (d *Discord) suggest(ctx context.Context, i interaction) error {
	typed, number := "", false
	command, _ := channel.FindCommand(i.Data.Name)
	for _, o := range i.Data.Options {
		for _, a := range command.Args {
			if o.Focused && a.Name == o.Name {
				typed, number = o.value(), a.Number
			}
		}
	}
	limited, cancel := context.WithTimeout(ctx, suggestTimeout)
	defer cancel()
	found, err := d.hub.Suggest(limited, d.conversationOf(limited, i), i.person(), i.Data.Name, typed)
	if errors.Is(err, channel.ErrRefused) {
		err = nil
	}
	choices := []discordgo.ApplicationCommandOptionChoice{}
	for _, c := range found[:min(len(found), 25)] {
		value, _ := json.Marshal(platform.Short(c.Value, 100)) // a string can always be encoded
		if number {
			value = json.RawMessage(c.Value)
		}
		if c.Label != "" && json.Valid(value) {
			choices = append(choices, discordgo.ApplicationCommandOptionChoice{Name: platform.Short(c.Label, 100), Value: json.RawMessage(value)})
		}
	}
	return errors.Join(err, d.callback(ctx, i, discordgo.InteractionApplicationCommandAutocompleteResult, map[string]any{"choices": choices}))
}

// callback sends the first response to an interaction. Discord accepts it only within 3 seconds.
func (d *Discord) callback(ctx context.Context, i interaction, kind discordgo.InteractionResponseType, data any) error {
	body := map[string]any{"type": kind}
	if data != nil {
		body["data"] = data
	}
	err := d.rest.do(ctx, call{method: http.MethodPost, path: "/interactions/" + i.ID + "/" + i.Token + "/callback", body: body, ownToken: true})
	if refusedWith(err, codeAnswered) { // an earlier try got through
		return nil
	}
	return err
}
