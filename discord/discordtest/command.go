// Slash commands: validation of registrations.
package discordtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Command is a registered command (Discord, Application Commands: Application
// Command Structure). Type 0 and 1 are slash commands.
type Command struct {
	ID          string          `json:"id"`
	AppID       string          `json:"application_id"`
	Version     string          `json:"version"`
	Type        int             `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Options     []CommandOption `json:"options,omitempty"`

	NameLocalizations        map[string]string `json:"name_localizations,omitempty"`
	DescriptionLocalizations map[string]string `json:"description_localizations,omitempty"`
}

// CommandOption is a parameter of a command.
type CommandOption struct {
	Type         int      `json:"type"`
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Required     bool     `json:"required,omitempty"`
	Autocomplete bool     `json:"autocomplete,omitempty"`
	Choices      []Choice `json:"choices,omitempty"`

	NameLocalizations        map[string]string `json:"name_localizations,omitempty"`
	DescriptionLocalizations map[string]string `json:"description_localizations,omitempty"`
}

// Choice is a suggested or allowed value.
type Choice struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

const (
	optionString  = 3
	optionInteger = 4
)

// putCommands replaces all commands (Discord, Application Commands: Bulk Overwrite Global
// Application Commands).
func (w *world) putCommands(q query) any {
	refuseIf(q.PathValue("app") != w.app, &apiError{status: http.StatusForbidden, code: 20012, message: "You are not authorized to perform this action on this application"})
	all := []Command{}
	q.decode(&all)
	// Discord, Application Commands: Registering a Command.
	refuseIf(len(all) > 100, &apiError{status: http.StatusBadRequest, code: 30032, message: "Maximum number of application commands reached (100)"})
	seen := map[string]bool{}
	for i := range all {
		c := &all[i]
		set(&c.Type, 1)
		checkNamed(c.Name, c.Description)
		checkLocalized(c.NameLocalizations, c.DescriptionLocalizations)
		for locale, name := range c.NameLocalizations {
			refuseIf(seen[locale+"/"+name], invalid("name_localizations", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique"))
			seen[locale+"/"+name] = true
		}
		checkOptions(c.Options)
		refuseIf(seen[c.Name], invalid("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique"))
		seen[c.Name] = true
		c.ID, c.Version, c.AppID = w.newID(), w.newID(), w.app
	}
	w.commands = all
	return all
}

// locales: Discord, Reference: Locales.
var locales = []string{
	"id", "da", "de", "en-GB", "en-US", "es-ES", "es-419", "fr", "hr", "it", "lt", "hu", "nl", "no", "pl", "pt-BR", "ro", "fi", "sv-SE", "vi", "tr", "cs", "el", "bg", "ru",
	"uk", "hi", "th", "zh-CN", "ja", "zh-TW", "ko",
}

// checkLocalized checks names and descriptions in other languages, to which the same rules apply
// (Discord, Application Commands: Localization).
func checkLocalized(names, descriptions map[string]string) {
	for locale, name := range names {
		refuseIf(!slices.Contains(locales, locale), invalid("name_localizations", "BASE_TYPE_CHOICES", "Value must be one of the locales"))
		checkNamed(name, "-")
	}
	for locale, description := range descriptions {
		refuseIf(!slices.Contains(locales, locale), invalid("description_localizations", "BASE_TYPE_CHOICES", "Value must be one of the locales"))
		checkNamed("name", description)
	}
}

// nameForm: Discord, Application Commands: Application Command Naming. It is compiled on first use:
// it is so large that a process which registers no command would start noticeably later.
var nameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)
})

func checkNamed(name, description string) {
	refuseIf(!nameForm().MatchString(name) || strings.ToLower(name) != name, invalid("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid"))
	n := len([]rune(description))
	refuseIf(n < 1 || n > 100, invalid("description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length."))
}

// checkOptions: Discord, Application Commands: Application Command Option Structure. The double
// supports only options of strings and integers.
func checkOptions(options []CommandOption) {
	wrong := func(format string, a ...any) error {
		return invalid("options", "APPLICATION_COMMAND_OPTIONS_INVALID", fmt.Sprintf(format, a...))
	}
	refuseIf(len(options) > 25, wrong("Must be 25 or fewer in length."))
	seen, optional := map[string]bool{}, false
	for _, o := range options {
		checkNamed(o.Name, o.Description)
		checkLocalized(o.NameLocalizations, o.DescriptionLocalizations)
		refuseIf(o.Type != optionString && o.Type != optionInteger, wrong("Unknown type of option %q.", o.Name))
		refuseIf(seen[o.Name], wrong("Option name %q is used twice.", o.Name))
		refuseIf(o.Required && optional, wrong("Required options must be placed before non-required options"))
		refuseIf(o.Autocomplete && len(o.Choices) > 0, wrong("Option %q cannot autocomplete.", o.Name))
		seen[o.Name] = true
		optional = optional || !o.Required
		checkChoices(o.Choices)
	}
}

// checkChoices: up to 25, with names of 1 to 100 characters and strings of up to 100 (Discord,
// Application Commands: Application Command Option Choice Structure).
func checkChoices(choices []Choice) {
	refuseIf(len(choices) > 25, invalid("choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length."))
	for _, c := range choices {
		n := len([]rune(c.Name))
		refuseIf(n < 1 || n > 100, invalid("choices", "BASE_TYPE_BAD_LENGTH", "name: Must be between 1 and 100 in length."))
		var text string
		refuseIf(json.Unmarshal(c.Value, &text) == nil && len([]rune(text)) > 100, invalid("choices", "BASE_TYPE_MAX_LENGTH", "value: Must be 100 or fewer in length."))
	}
}
