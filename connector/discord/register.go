// The registration of commands, and of the entries in the menu of a message.

package discord

import (
	"context"
	"net/http"
	"reflect"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/connector/platform"
)

// registerOnce registers the commands in the background, unless that was done or is being done.
func (c *commands) registerOnce() {
	if c.registered.CompareAndSwap(false, true) {
		c.base.Work.Start(c.register)
	}
}

// register replaces the commands known to Discord with those that package channel declares, and again when the settings change them.
func (c *commands) register(ctx context.Context) {
	var known []*discordgo.ApplicationCommand
	for ctx.Err() == nil {
		now := slashCommands(c.base.Hub)
		if !reflect.DeepEqual(now, known) {
			app := c.state.self().app
			err := c.rest.do(ctx, call{method: http.MethodPut, path: "/applications/" + app + "/commands", body: now})
			if err != nil && ctx.Err() == nil {
				c.registered.Store(false) // the next session tries again
				c.base.Log.Warn("command_registration_failed", "error", err)
				return
			}
			known = now
		}
		_ = platform.Sleep(ctx, c.poster.pauses.settings) // its error ends the loop
	}
}

// forManagers returns the permissions that people need to see a command in a server; nil: none. Administrators of the server may decide
// otherwise, in its settings (Discord, Application Commands: Permissions).
func forManagers(h *channel.Hub, name string) *int64 {
	if !channel.OnlyPlatformManagers(h, Name, name) {
		return nil
	}
	needed := int64(discordgo.PermissionManageMessages)
	return &needed
}

// usedIn is where commands can be used: in servers, and in direct messages with the bot (Discord, Application Commands: Interaction
// Contexts). In other people's direct messages the bot reads nothing.
func usedIn() *[]discordgo.InteractionContextType {
	return &[]discordgo.InteractionContextType{discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM}
}

// installedBy is for whom: servers with the bot. A person who installs an app alone could use commands where the bot is no member.
func installedBy() *[]discordgo.ApplicationIntegrationType {
	return &[]discordgo.ApplicationIntegrationType{discordgo.ApplicationIntegrationGuildInstall}
}

func slashCommands(h *channel.Hub) []*discordgo.ApplicationCommand {
	commands := []*discordgo.ApplicationCommand{}
	for _, c := range command.All {
		names := localized("command: " + c.Name)
		help := localized(c.Help)
		command := &discordgo.ApplicationCommand{
			Type: discordgo.ChatApplicationCommand, Name: c.Name, Description: platform.Short(c.Help, 100), NameLocalizations: &names, DescriptionLocalizations: &help,
			DefaultMemberPermissions: forManagers(h, c.Name), Contexts: usedIn(), IntegrationTypes: installedBy(),
		}
		for _, a := range c.Args {
			option := &discordgo.ApplicationCommandOption{
				Type: discordgo.ApplicationCommandOptionString, Name: a.Name, Description: platform.Short(a.Help, 100),
				Required: a.Required, Autocomplete: a.Suggests, DescriptionLocalizations: localized(a.Help),
			}
			if a.Number {
				one := 1.0
				option.Type = discordgo.ApplicationCommandOptionInteger
				option.MinValue = &one
			}
			for _, value := range a.Choices {
				option.Choices = append(option.Choices, &discordgo.ApplicationCommandOptionChoice{Name: value, Value: value})
			}
			command.Options = append(command.Options, option)
		}
		commands = append(commands, command)
	}
	return append(commands, messageCommands(h)...)
}

// messageCommands are the entries in the menu of a message. Discord allows 15 of an app, each without a description (Application Commands:
// Message Commands).
func messageCommands(h *channel.Hub) (all []*discordgo.ApplicationCommand) {
	for _, a := range command.Menu {
		names := localized(a.Label)
		all = append(all, &discordgo.ApplicationCommand{
			Type: discordgo.MessageApplicationCommand, Name: a.Label, NameLocalizations: &names, DefaultMemberPermissions: forManagers(h, a.Command),
			Contexts: usedIn(), IntegrationTypes: installedBy(),
		})
	}
	return all
}

// locales are Discord's codes for the languages that the bot speaks.
var locales = map[discordgo.Locale]string{
	discordgo.German: "de", discordgo.SpanishES: "es", discordgo.SpanishLATAM: "es", discordgo.French: "fr",
	discordgo.PortugueseBR: "pt", discordgo.Japanese: "ja", discordgo.ChineseCN: "zh",
}

// localized translates one of the bot's texts into Discord's locales; "command: NAME" is the name of a command.
func localized(text string) map[discordgo.Locale]string {
	all := make(map[discordgo.Locale]string, len(locales))
	for locale, language := range locales {
		if translation := sentences.In(language).Translate(text); translation != text {
			all[locale] = platform.Short(translation, 100)
		}
	}
	return all
}
