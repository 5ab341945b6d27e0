// Markup and ids are converted to plain text.

package discord

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cairn/channel"
)

// markup matches the control sequences that Discord shows as something else: mentions, custom
// emoji, timestamps and commands (Discord, Reference: Message Formatting).
var markup = regexp.MustCompile(`<(@!?|@&|#)(\d+)>|<a?(:\w+:)\d+>|<t:(-?\d+)(?::[a-zA-Z])?>|<(/[^:<>]+):\d+>`)

// textOf returns a message as plain text: the title of a forum's post, its content with names instead of
// ids, then in brackets its stickers, poll, embeds and the messages it forwards. Only a program's embeds
// count.
func (d *Discord) textOf(m message, guild string, me user, program bool) string {
	said := d.replaceIDs(d.stripMentions(m.text(), guild, me), m, guild, me)
	parts := []string{said}
	if post, _ := d.state.place(m.ID); m.ID == m.ChannelID && post.Name != "" && !channel.IsCommand(said) { // the first message of a post has the post's id
		parts = []string{"[post: " + post.Name + "]", said}
	}
	for _, s := range m.Snapshots { // they do not say whether a program wrote them
		parts = append(parts, "[forwarded] "+d.textOf(s.Message, guild, me, true))
	}
	for _, s := range m.Stickers {
		parts = append(parts, "[sticker: "+s.Name+"]")
	}
	if p := m.Poll; p != nil {
		var answers []string
		for _, a := range p.Answers {
			answers = append(answers, a.Media.Text)
		}
		parts = append(parts, fmt.Sprintf("[poll: %s — %s]", p.Question.Text, strings.Join(answers, " / ")))
	}
	for _, e := range m.Embeds {
		if program && (e.Type == "rich" || e.Type == "") { // those of people are link previews
			parts = append(parts, e.text())
		}
	}
	parts = deleteEmpty(parts)
	return strings.Join(parts, "\n")
}

func deleteEmpty(texts []string) (kept []string) {
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			kept = append(kept, t)
		}
	}
	return kept
}

func (e embed) text() string {
	parts := []string{e.Title, e.Description}
	for _, f := range e.Fields {
		parts = append(parts, f.Name+": "+f.Value)
	}
	if parts = deleteEmpty(parts); len(parts) == 0 {
		return ""
	}
	return "[embed: " + strings.Join(parts, "\n") + "]"
}

// leadingMention matches a mention of a user or a role at the start of a text.
var leadingMention = regexp.MustCompile(`^<@(!?|&)(\d+)>[ ,:\n]*`)

// stripMentions removes mentions of the bot from the start of a text, unless there is nothing else. A
// mention of one of its roles goes only before a command: it may be about more than the bot.
func (d *Discord) stripMentions(text, guild string, me user) string {
	text = strings.TrimSpace(text)
	rest, role := text, false
	for {
		m := leadingMention.FindStringSubmatch(rest)
		if m == nil || m[0] == rest || m[2] != me.ID && (m[1] != "&" || !d.state.guild(guild).hasRole(m[2:])) {
			return text
		}
		role = role || m[1] == "&"
		rest = rest[len(m[0]):]
		if !role || channel.IsCommand(rest) {
			text = rest
		}
	}
}

func mentions(text, id string) bool {
	return id != "" && (strings.Contains(text, "<@"+id+">") || strings.Contains(text, "<@!"+id+">"))
}

// replaceIDs replaces the markup in a text with what people see, such as names for ids.
func (d *Discord) replaceIDs(text string, m message, guild string, me user) string {
	return markup.ReplaceAllStringFunc(text, func(found string) string {
		part := markup.FindStringSubmatch(found)
		switch kind, id := part[1], part[2]; {
		case kind == "@" || kind == "@!":
			return "@" + d.userName(id, m, guild, me)
		case kind == "@&":
			return "@" + cmp.Or(d.state.guild(guild).Roles[id].Name, "unknown role")
		case kind == "#":
			p, _ := d.state.place(id)
			return "#" + cmp.Or(p.Name, "unknown channel")
		case part[3] != "":
			return part[3]
		case part[4] != "":
			return formatTime(part[4])
		default:
			return part[5]
		}
	})
}

func (d *Discord) userName(id string, m message, guild string, me user) string {
	for _, u := range m.Mentions {
		if u.ID == id {
			return nameIn(guild, u.user, u.Member)
		}
	}
	if id == me.ID {
		return me.name(nil)
	}
	return "unknown"
}

// formatTime formats a Unix timestamp as a local date and time.
func formatTime(unix string) string {
	n, _ := strconv.ParseInt(unix, 10, 64) // markup matches digits only
	return time.Unix(n, 0).Local().Format("2 January 2006 15:04 MST")
}
