// Reactions: those of the bot, and of people.

package discordtest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"
)

// maxReactions is how many different emoji a message can have (Discord, Opcodes and Status Codes: JSON Error Codes, 30010).
const maxReactions = 20

// emojiForm matches name:id or, which is judgement, what has no letters (Discord, Message: Create Reaction).
var emojiForm = regexp.MustCompile(`^(?:\w{2,32}:\d{15,21}|[^\x00-\x7f][^\x00-\x7e]{0,15})$`)

// addReaction: Discord, Message: Create Reaction. The emoji must be URL encoded, "or the request will fail with 10014: Unknown
// Emoji". It requires READ_MESSAGE_HISTORY, and ADD_REACTIONS unless the message already has that emoji.
func (w *world) addReaction(q query) any {
	c := w.channelOf(q)
	m := w.messageOf(q)
	emoji := q.PathValue("emoji")
	raw := strings.ContainsFunc(q.RequestURI, func(r rune) bool { return r > 126 })
	refuseIf(raw || !emojiForm.MatchString(emoji), unknown(10014, "Emoji"))
	i := slices.IndexFunc(m.Reactions, func(r *discordgo.MessageReactions) bool { return r.Emoji.Name == emoji })
	needed := int64(discordgo.PermissionReadMessageHistory)
	if i < 0 {
		needed |= discordgo.PermissionAddReactions
	}
	refuseIf(!w.may(c, needed), errPermission)
	w.writable(c, true)
	full := i < 0 && len(m.Reactions) == maxReactions
	refuseIf(full, &apiError{status: http.StatusBadRequest, code: 30010, message: "Maximum number of reactions reached (20)"})
	if i < 0 || !m.Reactions[i].Me {
		m.count(emoji, true)
		w.reacted(c, m, w.bot, emoji)
	}
	return nil
}

// count counts another reaction with an emoji, in a copy: tests may read what they have got of the message.
func (m *Message) count(emoji string, own bool) {
	r := discordgo.MessageReactions{Emoji: &discordgo.Emoji{Name: emoji}}
	m.Reactions = slices.Clone(m.Reactions)
	i := slices.IndexFunc(m.Reactions, func(r *discordgo.MessageReactions) bool { return r.Emoji.Name == emoji })
	if i < 0 {
		i = len(m.Reactions)
		m.Reactions = append(m.Reactions, nil)
	} else {
		r = *m.Reactions[i]
	}
	r.Count++
	r.Me = r.Me || own
	m.Reactions[i] = &r
}

// React has a person, or another bot, put a reaction on a message.
func (s *Server) React(channel, message, user, emoji string) {
	s.do(func(w *world) {
		m := w.message(channel, message)
		m.count(emoji, false)
		w.reacted(w.channel(channel), m, w.user(user), emoji)
	})
}

// reacted: Discord, Gateway Events: Message Reaction Add. Without the intent of its kind of channel a bot gets none (Gateway: List of
// Intents).
func (w *world) reacted(c *discordgo.Channel, m *Message, u *discordgo.User, emoji string) {
	data := map[string]any{
		"user_id": u.ID, "channel_id": c.ID, "message_id": m.ID, "message_author_id": m.Author.ID, "emoji": map[string]any{"id": nil, "name": emoji},
		"burst": false, "type": 0,
	}
	intent := discordgo.IntentDirectMessageReactions
	if g := w.guilds[c.GuildID]; g != nil {
		intent = discordgo.IntentGuildMessageReactions
		data["guild_id"] = g.ID
		data["member"] = discordgo.Member{User: u, Roles: []string{}}
		if n := member(g, u.ID); n != nil {
			data["member"] = discordgo.Member{User: u, Nick: n.Nick, Roles: n.Roles, JoinedAt: n.JoinedAt}
		}
	}
	w.announce(c, event{name: "MESSAGE_REACTION_ADD", intent: intent, data: data})
}
