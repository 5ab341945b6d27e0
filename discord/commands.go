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
		names, help := localized("command: "+c.Name), localized(c.Help)
		known := &discordgo.ApplicationCommand{
			Type: discordgo.ChatApplicationCommand, Name: c.Name, Description: platform.Short(c.Help, 100), NameLocalizations: &names, DescriptionLocalizations: &help,
		}
		for _, a := range c.Args {
			option := &discordgo.ApplicationCommandOption{
				Type: discordgo.ApplicationCommandOptionString, Name: a.Name, Description: platform.Short(a.Help, 100),
				Required: a.Required, Autocomplete: a.Suggests, DescriptionLocalizations: localized(a.Help),
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

// locales are Discord's names of the languages that the bot speaks.
var locales = map[string]discordgo.Locale{
	"de": discordgo.German, "es": discordgo.SpanishES, "fr": discordgo.French, "pt": discordgo.PortugueseBR, "ja": discordgo.Japanese, "zh": discordgo.ChineseCN,
}

// localized is a text of the bot's own in Discord's locales; a command is called by "command: " and its name.
func localized(text string) map[discordgo.Locale]string {
	all := make(map[discordgo.Locale]string, len(locales))
	for language, locale := range locales {
		if there := channel.Translated(language, text); there != text {
			all[locale] = platform.Short(there, 100)
		}
	}
	if spanish := all[discordgo.SpanishES]; spanish != "" {
		all[discordgo.SpanishLATAM] = spanish
	}
	return all
}
