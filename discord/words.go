// Markup and ids, converted to plain text.

package discord

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What people see where Discord sends markup (Discord, Reference: Message Formatting).
var markup = regexp.MustCompile(`<(@!?|@&|#)(\d+)>|<a?(:\w+:)\d+>|<t:(-?\d+)(?::[a-zA-Z])?>|<(/[^:<>]+):\d+>`)

// textOf is a message as plain text: its content with names for ids, and in brackets what else it
// shows.
func (d *Discord) textOf(m message, guild string, me user, program bool) string {
	said := []string{d.named(strip(m.text(), me.ID), m, guild, me)}
	for _, s := range m.Snapshots {
		said = append(said, "[forwarded] "+d.named(s.Message.text(), s.Message, guild, me))
	}
	for _, s := range m.Stickers {
		said = append(said, "[sticker: "+s.Name+"]")
	}
	if p := m.Poll; p != nil {
		var answers []string
		for _, a := range p.Answers {
			answers = append(answers, a.Media.Text)
		}
		said = append(said, fmt.Sprintf("[poll: %s — %s]", p.Question.Text, strings.Join(answers, " / ")))
	}
	for _, e := range m.Embeds {
		if program && (e.Type == "rich" || e.Type == "") { // people's are previews of links
			said = append(said, e.words())
		}
	}
	said = deleteEmpty(said)
	return strings.Join(said, "\n")
}

func deleteEmpty(texts []string) (kept []string) {
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			kept = append(kept, t)
		}
	}
	return kept
}

func (e embed) words() string {
	said := []string{e.Title, e.Description}
	for _, f := range e.Fields {
		said = append(said, f.Name+": "+f.Value)
	}
	if said = deleteEmpty(said); len(said) == 0 {
		return ""
	}
	return "[embed: " + strings.Join(said, "\n") + "]"
}

// strip cuts the mention of the bot off the beginning of a text.
func strip(text, me string) string {
	text = strings.TrimSpace(text)
	for _, mention := range []string{"<@" + me + ">", "<@!" + me + ">"} {
		if rest, found := strings.CutPrefix(text, mention); found && me != "" {
			return strings.TrimLeft(rest, " ,:\n")
		}
	}
	return text
}

func mentions(text, id string) bool {
	return id != "" && (strings.Contains(text, "<@"+id+">") || strings.Contains(text, "<@!"+id+">"))
}

// named replaces ids in a text by names.
func (d *Discord) named(text string, m message, guild string, me user) string {
	return markup.ReplaceAllStringFunc(text, func(found string) string {
		part := markup.FindStringSubmatch(found)
		switch kind, id := part[1], part[2]; {
		case kind == "@" || kind == "@!":
			return "@" + d.userName(id, m, guild, me)
		case kind == "@&":
			return "@" + cmp.Or(d.state.roleName(guild, id), "unknown role")
		case kind == "#":
			p, _ := d.state.place(id)
			return "#" + cmp.Or(p.Name, "unknown channel")
		case part[3] != "":
			return part[3]
		case part[4] != "":
			return moment(part[4])
		default:
			return part[5]
		}
	})
}

func (d *Discord) userName(id string, m message, guild string, me user) string {
	for _, u := range m.Mentions {
		if u.ID == id {
			return d.nameIn(guild, u.user, u.Member)
		}
	}
	if id == me.ID {
		return me.name(nil)
	}
	nick, _ := d.nicks.Find(guild + "/" + id)
	return cmp.Or(nick, "unknown")
}

// moment formats a timestamp as an absolute time.
func moment(unix string) string {
	n, err := strconv.ParseInt(unix, 10, 64)
	if err != nil {
		return unix
	}
	return time.Unix(n, 0).Local().Format("2 January 2006 15:04 MST")
}
