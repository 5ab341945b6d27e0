// What people can do without writing a command, and where they find it.

package command

import (
	"slices"
	"strings"
)

// Action is something that people can do without writing a command. It runs one, or on the dashboard what that command calls.
type Action struct {
	Command string // its name, and a word that says what it does: "memories pin"
	On      []Surface

	Label string // of its entry in the menu of a message, in English: at most 24 characters
	Help  string // the same: at most 100 characters
}

// Surface is a place where people find actions.
type Surface string

// The surfaces. Discord and Slack have the same ones, apart from the Home tab; a terminal has none.
const (
	InMenu      Surface = "in the menu of a message"
	ByReaction  Surface = "by a reaction"
	ByButton    Surface = "by a button under a message of the bot"
	InList      Surface = "in the menu under a list"
	AtHome      Surface = "in Slack's Home tab"
	OnDashboard Surface = "on the dashboard"
)

// Actions are all of them. Tests look for each on its surfaces, and there for others.
var Actions = []Action{
	{"remember", []Surface{InMenu, ByReaction}, "Remember this", "save this message as a memory"},
	{"pin", []Surface{InMenu, ByReaction, ByButton}, "Pin this", "keep this message in the prompt when older ones are summarized"},
	{"recap", []Surface{InMenu}, "Recap from here", "summarize what was said from this message on, for you"},
	{"forget", []Surface{InMenu, ByButton, AtHome, OnDashboard}, "Forget this", "delete this message from what I keep; it stays visible here"},
	{Command: "forget me", On: []Surface{AtHome}},
	{Command: "optout", On: []Surface{AtHome}},
	{Command: "unpin", On: []Surface{ByButton}},
	{Command: "memories show", On: []Surface{InList}},
	{Command: "memories pin", On: []Surface{ByButton, AtHome, OnDashboard}},
	{Command: "memories unpin", On: []Surface{ByButton, AtHome, OnDashboard}},
	{Command: "memories restore", On: []Surface{ByButton, AtHome, OnDashboard}},
	{Command: "summaries", On: []Surface{InList}},
	{Command: "summaries edit", On: []Surface{OnDashboard}},
	{Command: "expand", On: []Surface{ByButton, InList}},
	{Command: "sources", On: []Surface{ByButton}},
	{Command: "compact", On: []Surface{OnDashboard}},
	{Command: "undo", On: []Surface{ByButton, OnDashboard}},
	{Command: "new", On: []Surface{OnDashboard}},
	{Command: "stop", On: []Surface{ByButton, ByReaction, OnDashboard}},
	{Command: "pause", On: []Surface{OnDashboard}},
	{Command: "resume", On: []Surface{OnDashboard}},
	{Command: "settings", On: []Surface{AtHome, OnDashboard}},
	{Command: "allow", On: []Surface{ByButton, OnDashboard}},
	{Command: "deny", On: []Surface{ByButton, OnDashboard}},
}

// Menu are the entries in the menu of a message.
var Menu = slices.DeleteFunc(slices.Clone(Actions), func(a Action) bool { return !slices.Contains(a.On, InMenu) })

// Line returns the command of an entry about a message, by the platform's id. own is what it says if it is by the person who asks, and
// empty if it is by somebody else: it serves if the bot has not read the message, and others may not want to be in a memory.
func (a Action) Line(id, own string) string {
	line := "/" + a.Command + " " + messagePrefix + id
	if a.Command == "remember" {
		line += " " + strings.Join(strings.Fields(own), " ")
	}
	return strings.TrimSpace(line)
}
