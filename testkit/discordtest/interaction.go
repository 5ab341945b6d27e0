// Interactions: a person uses a command, types in one, or clicks a button; and the validation of slash commands.

package discordtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/testkit/loopback"
)

// Interaction is one interaction, and the bot's response.
type Interaction struct {
	ID      string
	Token   string
	Type    discordgo.InteractionType
	Channel string
	At      time.Time

	Answered  time.Time                                   // time of the first response; zero: none yet
	Answer    *Message                                    // current state of the original response; nil: none, or deferred and not edited yet
	Choices   []*discordgo.ApplicationCommandOptionChoice // of an autocomplete
	Followups []*Message

	source *Message // the message with the button
}

// Option is the value of a command's parameter: a string or an int, which determines its type.
type Option = discordgo.ApplicationCommandInteractionDataOption

// Slash makes a person run a command, which must be registered.
func (s *Server) Slash(channel, user, command string, options ...Option) Interaction {
	kind := discordgo.InteractionApplicationCommand
	return s.interact(channel, user, kind, func(w *world, _ *Interaction) any {
		w.checkSees(channel, user, command)
		return w.use(command, options)
	})
}

// checkSees panics if a command is hidden from a person (Discord, Application Commands: Permissions): who lacks one of its default
// permissions does not see it in a server, unless the server's administrators have decided otherwise.
func (w *world) checkSees(channel, user, command string) {
	g := w.guilds[w.channel(channel).GuildID]
	where := discordgo.InteractionContextGuild
	if g == nil {
		where = discordgo.InteractionContextBotDM
	}
	for _, c := range w.commands { // Discord, Application Commands: Interaction Contexts
		if c.Name == command && c.Contexts != nil && !slices.Contains(*c.Contexts, where) {
			panic(fmt.Sprintf("discordtest: %s is not there in %s", command, channel))
		}
	}
	if g == nil || w.options.Integrations {
		return
	}
	for _, c := range w.commands {
		needed := c.DefaultMemberPermissions
		if c.Name == command && needed != nil && invoker(g, w.user(user)).Permissions&*needed != *needed {
			panic(fmt.Sprintf("discordtest: %s does not see %s", user, command))
		}
	}
}

// Menu makes a person choose an entry in the menu of a message (Discord, Receiving and Responding: Resolved Data Structure). The message
// comes with its content, whatever the bot may read otherwise.
func (s *Server) Menu(channel, user, message, entry string) Interaction {
	return s.interact(channel, user, discordgo.InteractionApplicationCommand, func(w *world, _ *Interaction) any {
		w.checkSees(channel, user, entry)
		target := w.message(channel, message)
		n := slices.IndexFunc(w.commands, func(c *discordgo.ApplicationCommand) bool {
			return c.Type == discordgo.MessageApplicationCommand && c.Name == entry
		})
		if n < 0 {
			panic(fmt.Sprintf("discordtest: no entry %q is registered", entry))
		}
		return map[string]any{
			"id": w.commands[n].ID, "name": entry, "type": discordgo.MessageApplicationCommand, "target_id": message,
			"resolved": map[string]any{"messages": map[string]any{message: target}},
		}
	})
}

// Autocomplete makes a person type in a command's option, the one with Focused.
func (s *Server) Autocomplete(channel, user, command string, options ...Option) Interaction {
	kind := discordgo.InteractionApplicationCommandAutocomplete
	return s.interact(channel, user, kind, func(w *world, _ *Interaction) any { return w.use(command, options) })
}

// Click makes a person click a button of a message, which may be ephemeral.
func (s *Server) Click(channel, user, message, customID string) Interaction {
	return s.interact(channel, user, discordgo.InteractionMessageComponent, func(w *world, i *Interaction) any {
		i.source = w.message(channel, message)
		if !strings.Contains(string(loopback.Encode(i.source.Components)), string(loopback.Encode(customID))) {
			panic(fmt.Sprintf("discordtest: message %s has no button %q", message, customID))
		}
		return map[string]any{"custom_id": customID, "component_type": discordgo.ButtonComponent}
	})
}

// Choose makes a person choose an option of a menu under a message (Discord, Components: String Select).
func (s *Server) Choose(channel, user, message, customID, value string) Interaction {
	return s.interact(channel, user, discordgo.InteractionMessageComponent, func(w *world, i *Interaction) any {
		i.source = w.message(channel, message)
		var rows []struct{ Components []component }
		_ = json.Unmarshal(loopback.Encode(i.source.Components), &rows) // validated when they were posted
		for _, row := range rows {
			for _, menu := range row.Components {
				if menu.CustomID == customID && slices.ContainsFunc(menu.Options, func(o selectOption) bool { return o.Value == value }) {
					return map[string]any{"custom_id": customID, "component_type": menu.Type, "values": []string{value}}
				}
			}
		}
		panic(fmt.Sprintf("discordtest: message %s has no menu %q with %q", message, customID, value))
	})
}

// SubmitForm makes a person submit a form that the bot has opened (Discord, Receiving and Responding: Interaction Data).
func (s *Server) SubmitForm(channel, user, customID string) Interaction {
	return s.interact(channel, user, discordgo.InteractionModalSubmit, func(*world, *Interaction) any {
		return map[string]any{"custom_id": customID, "components": []any{}}
	})
}

// use returns the data of a command's use (Discord, Receiving and Responding: Application Command Data Structure).
func (w *world) use(name string, options []Option) any {
	n := slices.IndexFunc(w.commands, func(c *discordgo.ApplicationCommand) bool { return c.Name == name })
	if n < 0 {
		panic(fmt.Sprintf("discordtest: /%s is not registered", name))
	}
	given := slices.Clone(options)
	for i := range given {
		known := func(o *discordgo.ApplicationCommandOption) bool { return o.Name == given[i].Name }
		if !slices.ContainsFunc(w.commands[n].Options, known) {
			panic(fmt.Sprintf("discordtest: /%s has no option %q", name, given[i].Name))
		}
		given[i].Type = discordgo.ApplicationCommandOptionString
		if _, number := given[i].Value.(int); number {
			given[i].Type = discordgo.ApplicationCommandOptionInteger
		}
	}
	return map[string]any{"id": w.commands[n].ID, "name": name, "type": 1, "options": given}
}

// interact dispatches INTERACTION_CREATE, which requires no intent (Discord, Receiving and Responding: Interaction Structure).
func (s *Server) interact(channel, user string, kind discordgo.InteractionType, data func(*world, *Interaction) any) (i Interaction) {
	s.do(func(w *world) {
		c := w.channel(channel)
		u := w.user(user)
		n := &Interaction{ID: w.newID(), Token: "interaction-" + w.newID(), Type: kind, Channel: channel, At: time.Now()}
		body := map[string]any{
			"id": n.ID, "application_id": w.bot.ID, "type": kind, "token": n.Token, "version": 1,
			"channel_id": c.ID, "channel": c, "data": data(w, n), "locale": "en-US",
			"app_permissions": strconv.FormatInt(w.permissionsIn(c), 10), "entitlements": []any{}, "authorizing_integration_owners": map[string]string{},
		}
		if n.source != nil {
			body["message"] = n.source
		}
		if g := w.guilds[c.GuildID]; g != nil {
			body["guild_id"] = g.ID
			body["guild_locale"] = "en-US"
			body["context"] = 0
			body["member"] = invoker(g, u)
		} else {
			body["user"] = u
			body["context"] = 1
		}
		w.interactions[n.ID] = n
		w.dispatch(event{name: "INTERACTION_CREATE", guild: c.GuildID, data: body})
		i = *n
	})
	return i
}

func invoker(g *discordgo.Guild, u *discordgo.User) discordgo.Member {
	m := discordgo.Member{User: u, Roles: []string{}}
	if known := member(g, u.ID); known != nil {
		m = *known
	}
	m.Permissions = cmp.Or(m.Permissions, rolePermissions(g, &m))
	if g.OwnerID == u.ID { // Discord, Permissions: Permission Hierarchy
		m.Permissions = discordgo.PermissionAll
	}
	return m
}

// putCommands replaces all commands (Discord, Application Commands: Bulk Overwrite Global Application Commands).
func (w *world) putCommands(q query) any {
	refuseIf(q.PathValue("app") != w.bot.ID, &apiError{status: http.StatusForbidden, code: 20012, message: "You are not authorized to perform this action on this application"})
	all := []*discordgo.ApplicationCommand{}
	q.decode(&all)
	// Discord, Application Commands: Registering a Command.
	most := map[discordgo.ApplicationCommandType]int{discordgo.ChatApplicationCommand: 100, discordgo.MessageApplicationCommand: 15}
	used := map[string]bool{}
	for _, c := range all {
		c.Type = cmp.Or(c.Type, discordgo.ChatApplicationCommand)
		most[c.Type]--
		refuseIf(most[c.Type] < 0, &apiError{status: http.StatusBadRequest, code: 30032, message: "Maximum number of application commands reached"})
		if c.Type == discordgo.MessageApplicationCommand {
			checkMenuEntry(used, c)
		} else {
			checkNamed(used, c.Name, c.Description, c.NameLocalizations, c.DescriptionLocalizations)
			checkOptions(c.Options)
		}
		checkContexts(c)
		c.ID = w.newID()
		c.Version = w.newID()
		c.ApplicationID = w.bot.ID
	}
	w.commands = all
	return all
}

// checkMenuEntry: Discord, Application Commands: Application Command Naming; Message Commands.
func checkMenuEntry(used map[string]bool, c *discordgo.ApplicationCommand) {
	refuseIf(c.Description != "" || c.DescriptionLocalizations != nil, invalid("description", "APPLICATION_COMMAND_DESCRIPTION_NOT_ALLOWED", "Context menu commands cannot have description"))
	refuseIf(len(c.Options) > 0, invalid("options", "APPLICATION_COMMAND_OPTIONS_NOT_ALLOWED", "Context menu commands cannot have options"))
	for locale, name := range localized(c.Name, c.NameLocalizations) {
		n := len([]rune(name))
		refuseIf(n < 1 || n > 32, invalid("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 32 in length."))
		key := "menu " + string(locale) + "/" + name
		refuseIf(used[key], invalid("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique"))
		used[key] = true
	}
}

// nameForm: Discord, Application Commands: Application Command Naming. It is so large that it is compiled on first use.
var nameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)
})

// checkNamed checks names, which are unique in used, and descriptions (Discord, Application Commands: Localization).
func checkNamed(used map[string]bool, name, description string, names, descriptions *map[discordgo.Locale]string) {
	for locale, name := range localized(name, names) {
		refuseIf(!nameForm().MatchString(name) || strings.ToLower(name) != name, invalid("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid"))
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

// checkOptions: Discord, Application Commands: Application Command Option Structure. Only strings and integers are supported.
func checkOptions(options []*discordgo.ApplicationCommandOption) {
	wrong := func(format string, a ...any) *apiError {
		return invalid("options", "APPLICATION_COMMAND_OPTIONS_INVALID", fmt.Sprintf(format, a...))
	}
	refuseIf(len(options) > 25, wrong("Must be 25 or fewer in length."))
	used := map[string]bool{}
	optional := false
	for _, o := range options {
		checkNamed(used, o.Name, o.Description, &o.NameLocalizations, &o.DescriptionLocalizations)
		refuseIf(o.Type != discordgo.ApplicationCommandOptionString && o.Type != discordgo.ApplicationCommandOptionInteger, wrong("Unknown type of option %q.", o.Name))
		refuseIf(o.Required && optional, wrong("Required options must be placed before non-required options"))
		refuseIf(o.Autocomplete && len(o.Choices) > 0, wrong("Option %q cannot autocomplete.", o.Name))
		optional = optional || !o.Required
		checkChoices(o.Choices)
	}
}

// checkChoices: Discord, Application Commands: Application Command Option Choice Structure.
func checkChoices(choices []*discordgo.ApplicationCommandOptionChoice) {
	refuseIf(len(choices) > 25, invalid("choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length."))
	for _, c := range choices {
		n := len([]rune(c.Name))
		refuseIf(n < 1 || n > 100, invalid("choices", "BASE_TYPE_BAD_LENGTH", "name: Must be between 1 and 100 in length."))
		text, _ := c.Value.(string)
		refuseIf(len([]rune(text)) > 100, invalid("choices", "BASE_TYPE_MAX_LENGTH", "value: Must be 100 or fewer in length."))
	}
}
