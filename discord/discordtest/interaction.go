// Interactions: a person uses a command, types in one, or clicks a button.
package discordtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Types of interactions (Discord, Receiving and Responding: Interaction Type).
const (
	InteractionCommand      = 2
	InteractionComponent    = 3
	InteractionAutocomplete = 4
)

// Interaction is one interaction, and the bot's response.
type Interaction struct {
	ID      string
	Token   string
	Type    int
	Channel string
	At      time.Time

	Answered  time.Time // time of the first response; zero: none yet
	Callback  int       // type of the first response
	Ephemeral bool
	Loading   bool      // deferred and not edited yet: people see that the bot is thinking
	Answer    *Message  // current state of the original response; nil: none, or Loading
	Choices   []Choice  // of an autocomplete
	Followups []Message // set only in copies

	followups []*Message
	source    *Message // the message with the button
	loading   *Message // placeholder of the response while Loading
}

// Option is the value of a command's parameter: a string or an int.
type Option struct {
	Name    string `json:"name"`
	Type    int    `json:"type"` // determined by Value
	Value   any    `json:"value,omitempty"`
	Focused bool   `json:"focused,omitempty"`
}

// Slash makes a person run a command, which must be registered.
func (s *Server) Slash(channel, user, command string, options ...Option) Interaction {
	return s.interact(channel, user, InteractionCommand, func(w *world, _ *Interaction) map[string]any {
		return w.use(command, options)
	})
}

// Autocomplete makes a person type in a command's option, the one with Focused.
func (s *Server) Autocomplete(channel, user, command string, options ...Option) Interaction {
	return s.interact(channel, user, InteractionAutocomplete, func(w *world, _ *Interaction) map[string]any {
		return w.use(command, options)
	})
}

// Click makes a person click a button of a message, which may be ephemeral.
func (s *Server) Click(channel, user, message, customID string) Interaction {
	return s.interact(channel, user, InteractionComponent, func(w *world, i *Interaction) map[string]any {
		i.source = w.answered(message)
		if i.source == nil {
			_, i.source = w.message(channel, message)
		}
		if !strings.Contains(string(encode(i.source.Components)), string(encode(customID))) {
			panic(fmt.Sprintf("discordtest: message %s has no button %q", message, customID))
		}
		return map[string]any{"custom_id": customID, "component_type": button}
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
		known := map[string]bool{}
		for _, o := range c.Options {
			known[o.Name] = true
		}
		given := append([]Option{}, options...)
		for i := range given {
			if !known[given[i].Name] {
				panic(fmt.Sprintf("discordtest: /%s has no option %q", name, given[i].Name))
			}
			given[i].Type = optionString
			if _, number := given[i].Value.(int); number {
				given[i].Type = optionInteger
			}
		}
		return map[string]any{"id": c.ID, "name": name, "type": 1, "options": given}
	}
	panic(fmt.Sprintf("discordtest: /%s is not registered", name))
}

// interact dispatches INTERACTION_CREATE, which requires no intent (Discord, Receiving and
// Responding: Interaction Structure).
func (s *Server) interact(channel, user string, kind int, data func(*world, *Interaction) map[string]any) (i Interaction) {
	s.do(func(w *world) {
		c, u := w.channel(channel), w.user(user)
		n := &Interaction{ID: w.newID(), Token: "interaction-" + w.newID(), Type: kind, Channel: channel, At: time.Now()}
		body := map[string]any{
			"id": n.ID, "application_id": w.app, "type": kind, "token": n.Token, "version": 1,
			"channel_id": c.ID, "channel": *c, "data": data(w, n), "locale": "en-US",
			"app_permissions": strconv.FormatInt(w.permissionsIn(c), 10), "entitlements": []any{}, "authorizing_integration_owners": map[string]string{},
		}
		if n.source != nil {
			body["message"] = json.RawMessage(encode(n.source))
		}
		if g := w.guilds[c.GuildID]; g != nil {
			body["guild_id"], body["guild_locale"], body["context"] = g.ID, "en-US", 0
			body["member"] = g.invoker(u)
		} else {
			body["user"], body["context"] = *u, 1
		}
		w.interactions[n.ID] = n
		w.dispatch(event{name: "INTERACTION_CREATE", data: body})
		i = *n
	})
	return i
}

// invoker returns the member of an interaction, with the permissions of its roles.
func (g *Guild) invoker(u *User) Member {
	m := Member{User: u, Roles: []string{}}
	if known := g.Members[u.ID]; known != nil {
		m = *known
	}
	set(&m.Permissions, g.rolePermissions(&m))
	return m
}

// Permit sets a member's nickname, role ids and permissions (a decimal bit set; "": those of the
// roles). The bot gets GUILD_MEMBER_UPDATE if it is the member itself, else only with the intent
// GUILD_MEMBERS (judgement, from the list of intents).
func (s *Server) Permit(guild, user, nick, permissions string, roles ...string) {
	s.do(func(w *world) {
		m := must(w.guild(guild).Members, user, "member")
		m.Nick, m.Permissions, m.Roles = nick, permissions, append([]string{}, roles...)
		e := event{name: "GUILD_MEMBER_UPDATE", intent: IntentGuildMembers, data: map[string]any{
			"guild_id": guild, "user": *m.User, "nick": nick, "roles": m.Roles, "joined_at": m.JoinedAt,
		}}
		if user == w.bot.ID {
			e.intent = 0
		}
		w.dispatch(e)
	})
}
