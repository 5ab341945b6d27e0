// Interactions: a person uses a command, types in one, or clicks a button.
package discordtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
)

// Interaction is one interaction, and the bot's response.
type Interaction struct {
	ID      string
	Token   string
	Type    discordgo.InteractionType
	Channel string
	At      time.Time

	Answered  time.Time                         // time of the first response; zero: none yet
	Callback  discordgo.InteractionResponseType // of the first response
	Ephemeral bool
	Loading   bool                                        // deferred and not edited yet: people see that the bot is thinking
	Answer    *Message                                    // current state of the original response; nil: none, or Loading
	Choices   []*discordgo.ApplicationCommandOptionChoice // of an autocomplete
	Followups []*Message

	source  *Message // the message with the button
	loading *Message // placeholder of the response while Loading
}

// Option is the value of a command's parameter: a string or an int, which determines its type.
type Option = discordgo.ApplicationCommandInteractionDataOption

// Slash makes a person run a command, which must be registered.
func (s *Server) Slash(channel, user, command string, options ...Option) Interaction {
	return s.interact(channel, user, discordgo.InteractionApplicationCommand, func(w *world, _ *Interaction) map[string]any {
		return w.use(command, options)
	})
}

// Autocomplete makes a person type in a command's option, the one with Focused.
func (s *Server) Autocomplete(channel, user, command string, options ...Option) Interaction {
	return s.interact(channel, user, discordgo.InteractionApplicationCommandAutocomplete, func(w *world, _ *Interaction) map[string]any {
		return w.use(command, options)
	})
}

// Click makes a person click a button of a message, which may be ephemeral.
func (s *Server) Click(channel, user, message, customID string) Interaction {
	return s.interact(channel, user, discordgo.InteractionMessageComponent, func(w *world, i *Interaction) map[string]any {
		i.source = w.answered(message)
		if i.source == nil {
			_, i.source = w.message(channel, message)
		}
		if !strings.Contains(string(encode(i.source.Components)), string(encode(customID))) {
			panic(fmt.Sprintf("discordtest: message %s has no button %q", message, customID))
		}
		return map[string]any{"custom_id": customID, "component_type": discordgo.ButtonComponent}
	})
}

// answered returns a response to an interaction, which may be ephemeral.
func (w *world) answered(id string) *Message {
	for _, i := range w.interactions {
		if i.Answer != nil && i.Answer.ID == id {
			return i.Answer
		}
	}
	return nil
}

// use returns the data of a command's use (Discord, Receiving and Responding: Application Command
// Data Structure).
func (w *world) use(name string, options []Option) map[string]any {
	for _, c := range w.commands {
		if c.Name != name {
			continue
		}
		given := append([]Option{}, options...)
		for i := range given {
			known := func(o *discordgo.ApplicationCommandOption) bool { return o.Name == given[i].Name }
			if !slices.ContainsFunc(c.Options, known) {
				panic(fmt.Sprintf("discordtest: /%s has no option %q", name, given[i].Name))
			}
			given[i].Type = discordgo.ApplicationCommandOptionString
			if _, number := given[i].Value.(int); number {
				given[i].Type = discordgo.ApplicationCommandOptionInteger
			}
		}
		return map[string]any{"id": c.ID, "name": name, "type": 1, "options": given}
	}
	panic(fmt.Sprintf("discordtest: /%s is not registered", name))
}

// interact dispatches INTERACTION_CREATE, which requires no intent (Discord, Receiving and
// Responding: Interaction Structure).
func (s *Server) interact(channel, user string, kind discordgo.InteractionType, data func(*world, *Interaction) map[string]any) (i Interaction) {
	s.do(func(w *world) {
		c, u := w.channel(channel), w.user(user)
		n := &Interaction{ID: w.newID(), Token: "interaction-" + w.newID(), Type: kind, Channel: channel, At: time.Now()}
		body := map[string]any{
			"id": n.ID, "application_id": w.app, "type": kind, "token": n.Token, "version": 1,
			"channel_id": c.ID, "channel": c, "data": data(w, n), "locale": "en-US",
			"app_permissions": strconv.FormatInt(w.permissionsIn(c), 10), "entitlements": []any{}, "authorizing_integration_owners": map[string]string{},
		}
		if n.source != nil {
			body["message"] = n.source
		}
		if g := w.guilds[c.GuildID]; g != nil {
			body["guild_id"], body["guild_locale"], body["context"] = g.ID, "en-US", 0
			body["member"] = invoker(g, u)
		} else {
			body["user"], body["context"] = u, 1
		}
		w.interactions[n.ID] = n
		w.dispatch(event{name: "INTERACTION_CREATE", data: body})
		i = *n
	})
	return i
}

// invoker returns the member of an interaction, with the permissions of its roles.
func invoker(g *discordgo.Guild, u *discordgo.User) discordgo.Member {
	m := discordgo.Member{User: u, Roles: []string{}}
	if known := member(g, u.ID); known != nil {
		m = *known
	}
	set(&m.Permissions, rolePermissions(g, &m))
	return m
}
