// The slash commands, as channel declares them, made known to Discord.

package discord

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/internal/platform"
)

// register makes the commands known to Discord, all of them, in place of what was known
// before: what is declared in channel is what people see.
func (d *Discord) register(ctx context.Context) {
	_, app := d.state.self()
	trouble := platform.Incident{Log: d.log, Failed: "command_registration_failed", Recovered: "command_registration_recovered"}
	platform.Retry(ctx, platform.Backoff{First: time.Second, Most: 10 * time.Minute}, func() (done bool) {
		err := d.rest.do(ctx, call{method: http.MethodPut, path: "/applications/" + app + "/commands", body: slashCommands()})
		switch {
		case err == nil:
			trouble.End()
			return true
		case errors.Is(err, channel.ErrGone): // it would be refused again
			d.registered.Store(false)
			d.log.Warn("command_registration_refused", "error", err)
			return true
		case ctx.Err() == nil:
			trouble.Begin(err)
		}
		return false
	})
}

func slashCommands() []*discordgo.ApplicationCommand {
	commands := []*discordgo.ApplicationCommand{}
	for _, c := range channel.Commands {
		known := &discordgo.ApplicationCommand{Type: discordgo.ChatApplicationCommand, Name: c.Name, Description: short(c.Help, 100)}
		for _, a := range c.Args {
			option := &discordgo.ApplicationCommandOption{
				Type: discordgo.ApplicationCommandOptionString, Name: a.Name, Description: short(a.Help, 100),
				Required: a.Required, Autocomplete: a.Suggests,
			}
			if a.Number {
				one := 1.0
				option.Type, option.MinValue = discordgo.ApplicationCommandOptionInteger, &one
			}
			known.Options = append(known.Options, option)
		}
		commands = append(commands, known)
	}
	return commands
}

// short cuts a text to at most so many characters.
func short(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
