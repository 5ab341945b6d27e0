// Reactions: emoji that people and the bot add to messages.
package discordtest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// maxReactions is how many different emoji a message can have (Discord, Opcodes and Status Codes:
// JSON Error Codes, 30010).
const maxReactions = 20

// Reaction is an emoji on a message (Discord, Message: Reaction Object).
type Reaction struct {
	Emoji struct {
		ID   *string `json:"id"` // null: a standard emoji
		Name string  `json:"name"`
	} `json:"emoji"`
	Count int  `json:"count"`
	Me    bool `json:"me"` // includes the bot's
}

// emojiForm matches a standard emoji or a guild's, as name:id (Discord, Message: Create Reaction).
// That standard ones contain no letters is judgement.
var emojiForm = regexp.MustCompile(`^(?:\w{2,32}:\d{15,21}|[^\x00-\x7f][^\x00-\x7e]{0,15})$`)

// addReaction: Discord, Message: Create Reaction. The emoji must be URL encoded, "or the request
// will fail with 10014: Unknown Emoji". It requires READ_MESSAGE_HISTORY, and ADD_REACTIONS unless
// the message already has that emoji.
func (w *world) addReaction(q query) any {
	c := w.channelOf(q)
	m := w.messageOf(q)
	emoji := q.PathValue("emoji")
	raw := strings.ContainsFunc(q.RequestURI, func(r rune) bool { return r > 126 })
	refuseIf(raw || !emojiForm.MatchString(emoji), unknown(10014, "Emoji"))
	i := slices.IndexFunc(m.Reactions, func(r Reaction) bool { return r.Emoji.Name == emoji })
	needed := int64(PermissionReadMessageHistory)
	if i < 0 {
		needed |= PermissionAddReactions
	}
	refuseIf(!w.may(c, needed), errPermission)
	c.writable(true)
	if i < 0 {
		full := len(m.Reactions) == maxReactions
		refuseIf(full, &apiError{status: http.StatusBadRequest, code: 30010, message: "Maximum number of reactions reached (20)"})
		i = len(m.Reactions)
		m.Reactions = append(m.Reactions, Reaction{})
		m.Reactions[i].Emoji.Name = emoji
	}
	if r := &m.Reactions[i]; !r.Me {
		r.Me = true
		r.Count++
	}
	return nil
}
