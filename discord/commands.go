// Registration of the slash commands that package channel declares.

package discord

import (
	"context"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/internal/platform"
)

// register registers all commands with Discord. They replace those registered before, so that
// people see exactly the ones that are declared in package channel.
func (d *Discord) register(ctx context.Context) {
	_, app := d.state.self()
	err := d.rest.do(ctx, call{method: http.MethodPut, path: "/applications/" + app + "/commands", body: slashCommands()})
	if err != nil && ctx.Err() == nil {
		d.registered.Store(false) // the next session tries again
		d.log.Warn("command_registration_failed", "error", err)
	}
}

func slashCommands() []*discordgo.ApplicationCommand {
	commands := []*discordgo.ApplicationCommand{}
	for _, c := range channel.Commands {
		names, help := localized("command: "+c.Name), localized(c.Help)
		command := &discordgo.ApplicationCommand{
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
			command.Options = append(command.Options, option)
		}
		commands = append(commands, command)
	}
	return commands
}

// locales are Discord's codes for the languages that the bot speaks.
var locales = map[string]discordgo.Locale{
	"de": discordgo.German, "es": discordgo.SpanishES, "fr": discordgo.French, "pt": discordgo.PortugueseBR, "ja": discordgo.Japanese, "zh": discordgo.ChineseCN,
}

// localized returns the translations of one of the bot's texts by Discord's locale. The text for
// the name of a command is "command: " and that name.
func localized(text string) map[discordgo.Locale]string {
	all := make(map[discordgo.Locale]string, len(locales))
	for language, locale := range locales {
		if translation := channel.Translated(language, text); translation != text {
			all[locale] = platform.Short(translation, 100)
		}
	}
	if spanish := all[discordgo.SpanishES]; spanish != "" {
		all[discordgo.SpanishLATAM] = spanish
	}
	return all
}
