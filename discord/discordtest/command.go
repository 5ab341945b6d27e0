// Slash commands: validation of registrations.
package discordtest

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"

	"github.com/bwmarrin/discordgo"
)

// putCommands replaces all commands (Discord, Application Commands: Bulk Overwrite Global
// Application Commands).
func (w *world) putCommands(q query) any {
	refuseIf(q.PathValue("app") != w.app, &apiError{status: http.StatusForbidden, code: 20012, message: "You are not authorized to perform this action on this application"})
	all := []*discordgo.ApplicationCommand{}
	q.decode(&all)
	// Discord, Application Commands: Registering a Command.
	refuseIf(len(all) > 100, &apiError{status: http.StatusBadRequest, code: 30032, message: "Maximum number of application commands reached (100)"})
	used := map[string]bool{}
	for _, c := range all {
		set(&c.Type, discordgo.ChatApplicationCommand)
		checkNamed(used, c.Name, c.Description, c.NameLocalizations, c.DescriptionLocalizations)
		checkOptions(c.Options)
		c.ID, c.Version, c.ApplicationID = w.newID(), w.newID(), w.app
	}
	w.commands = all
	return all
}

// nameForm: Discord, Application Commands: Application Command Naming.
var nameForm = regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)

// checkNamed checks the name and the description of a command or an option, in all languages. used
// has the names of its neighbours (Discord, Application Commands: Localization).
func checkNamed(used map[string]bool, name, description string, names, descriptions *map[discordgo.Locale]string) {
	for locale, name := range localized(name, names) {
		refuseIf(!nameForm.MatchString(name) || strings.ToLower(name) != name, invalid("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid"))
		key := string(locale) + "/" + name
		refuseIf(used[key], invalid("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique"))
		used[key] = true
	}
	for _, text := range localized(description, descriptions) {
		n := len([]rune(text))
		refuseIf(n < 1 || n > 100, invalid("description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length."))
	}
}

// localized returns a text by its languages; discordgo.Unknown is the default one.
func localized(text string, others *map[discordgo.Locale]string) map[discordgo.Locale]string {
	all := map[discordgo.Locale]string{}
	if others != nil {
		maps.Copy(all, *others)
	}
	for locale := range all { // Discord, Reference: Locales
		refuseIf(locale == discordgo.Unknown || discordgo.Locales[locale] == "", invalid("localizations", "BASE_TYPE_CHOICES", "Value must be one of the locales"))
	}
	all[discordgo.Unknown] = text
	return all
}

// checkOptions: Discord, Application Commands: Application Command Option Structure. The double
// supports only options of strings and integers.
func checkOptions(options []*discordgo.ApplicationCommandOption) {
	wrong := func(format string, a ...any) error {
		return invalid("options", "APPLICATION_COMMAND_OPTIONS_INVALID", fmt.Sprintf(format, a...))
	}
	refuseIf(len(options) > 25, wrong("Must be 25 or fewer in length."))
	used, optional := map[string]bool{}, false
	for _, o := range options {
		checkNamed(used, o.Name, o.Description, &o.NameLocalizations, &o.DescriptionLocalizations)
		refuseIf(o.Type != discordgo.ApplicationCommandOptionString && o.Type != discordgo.ApplicationCommandOptionInteger, wrong("Unknown type of option %q.", o.Name))
		refuseIf(o.Required && optional, wrong("Required options must be placed before non-required options"))
		refuseIf(o.Autocomplete && len(o.Choices) > 0, wrong("Option %q cannot autocomplete.", o.Name))
		optional = optional || !o.Required
		checkChoices(o.Choices)
	}
}

// checkChoices: up to 25, with names of 1 to 100 characters and strings of up to 100 (Discord,
// Application Commands: Application Command Option Choice Structure).
func checkChoices(choices []*discordgo.ApplicationCommandOptionChoice) {
	refuseIf(len(choices) > 25, invalid("choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length."))
	for _, c := range choices {
		n := len([]rune(c.Name))
		refuseIf(n < 1 || n > 100, invalid("choices", "BASE_TYPE_BAD_LENGTH", "name: Must be between 1 and 100 in length."))
		text, _ := c.Value.(string)
		refuseIf(len([]rune(text)) > 100, invalid("choices", "BASE_TYPE_MAX_LENGTH", "value: Must be 100 or fewer in length."))
	}
}
