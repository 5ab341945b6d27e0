// Interactions: slash commands, buttons and suggestions. Discord waits 3 seconds for each.

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
	tokenLife   = 14 * time.Minute // of an interaction; Discord's is 15
	suggestWait = 2 * time.Second  // of the 3 in which suggestions are taken
)

// interaction is the use of a slash command or a button, or a request for suggestions. discordgo's
// type rejects all of it if one field has an unknown form.
type interaction struct {
	ID        string       `json:"id"`
	AppID     string       `json:"application_id"`
	Type      int          `json:"type"`
	Token     string       `json:"token"`
	GuildID   string       `json:"guild_id"`
	ChannelID string       `json:"channel_id"`
	Channel   *channelData `json:"channel"`
	Member    *member      `json:"member"` // in a server
	User      *user        `json:"user"`   // elsewhere
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

// text is the value as somebody typed it.
func (o option) text() string {
	var s string
	if json.Unmarshal(o.Value, &s) == nil {
		return s
	}
	return string(o.Value)
}

// interacted handles an interaction, in a goroutine of its own: Discord waits only 3 seconds.
func (d *Discord) interacted(i interaction) {
	if i.ID == "" || i.Token == "" || d.seen.Seen(i.ID) {
		return
	}
	d.work.Start(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, tokenLife)
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
		return d.press(ctx, i)
	}
	return nil
}

// conversationOf returns the conversation of an interaction, which usually describes its channel.
func (d *Discord) conversationOf(ctx context.Context, i interaction) string {
	if _, known := d.state.place(i.ChannelID); !known && i.Channel != nil && i.Channel.ID == i.ChannelID {
		c := *i.Channel
		c.GuildID = i.GuildID
		return d.state.add(c).conversation(c.ID)
	}
	return d.locate(ctx, i.ChannelID, i.GuildID).conversation(i.ChannelID)
}

// person is who did it.
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

// line is the command as people would type it.
func (i interaction) line() string {
	words := []string{"/" + i.Data.Name}
	command, _ := platform.Command(i.Data.Name)
	for _, a := range command.Args {
		for _, o := range i.Data.Options {
			if o.Name == a.Name {
				words = append(words, strings.TrimSpace(o.text()))
			}
		}
	}
	return strings.Join(words, " ")
}

// suggest completes an argument of a command. Without a response Discord shows an error.
func (d *Discord) suggest(ctx context.Context, i interaction) error {
	typed, number := "", false
	command, _ := platform.Command(i.Data.Name)
	for _, o := range i.Data.Options {
		for _, a := range command.Args {
			if o.Focused && a.Name == o.Name {
				typed, number = o.text(), a.Number
			}
		}
	}
	limited, cancel := context.WithTimeout(ctx, suggestWait)
	defer cancel()
	found, err := d.hub.Suggest(limited, d.conversationOf(limited, i), i.person(), i.Data.Name, typed)
	if errors.Is(err, channel.ErrRefused) {
		err = nil
	}
	choices := []discordgo.ApplicationCommandOptionChoice{}
	for _, c := range found[:min(len(found), 25)] {
		value, _ := json.Marshal(platform.Short(c.Value, 100)) // a string always can be
		if number {
			value = json.RawMessage(c.Value)
		}
		if c.Label != "" && json.Valid(value) {
			choices = append(choices, discordgo.ApplicationCommandOptionChoice{Name: platform.Short(c.Label, 100), Value: json.RawMessage(value)})
		}
	}
	return errors.Join(err, d.callback(ctx, i, discordgo.InteractionApplicationCommandAutocompleteResult, map[string]any{"choices": choices}))
}

// callback sends the first response to an interaction, within 3 seconds.
func (d *Discord) callback(ctx context.Context, i interaction, kind discordgo.InteractionResponseType, data any) error {
	body := map[string]any{"type": kind}
	if data != nil {
		body["data"] = data
	}
	err := d.rest.do(ctx, call{method: http.MethodPost, path: "/interactions/" + i.ID + "/" + i.Token + "/callback", body: body, ownToken: true})
	if refusedWith(err, codeAnswered) { // by the first of two tries
		return nil
	}
	return err
}
