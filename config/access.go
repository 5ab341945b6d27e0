// [discord], [slack] and [[bindings]]: tokens, access rules, and which agent answers in which conversation.

package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
)

// Discord is [discord].
type Discord struct {
	Token          string   `toml:"token"`                                   // "file:PATH" only; empty: DISCORD_TOKEN
	APIBase        string   `toml:"api_base" server:"http://localhost:8080"` // empty: Discord itself
	MessageContent bool     `toml:"message_content"`
	Threads        string   `toml:"threads" one:"never mention"`
	Reactions      []string `toml:"reactions"`
	Shards         int      `toml:"shards" range:"0 to 1000"` // 0: what Discord recommends; 1000: the sessions that may start in a day
	access.Access
}

// Slack is [slack].
type Slack struct {
	BotToken  string   `toml:"bot_token"`                                    // "file:PATH" only; empty: SLACK_BOT_TOKEN
	AppToken  string   `toml:"app_token"`                                    // "file:PATH" only; empty: SLACK_APP_TOKEN
	APIBase   string   `toml:"api_base" server:"http://localhost:8080/api/"` // empty: Slack itself
	Working   string   `toml:"working" one:"status reaction placeholder off"`
	ReplyIn   string   `toml:"reply_in" one:"auto thread channel"`
	Reactions []string `toml:"reactions"`
	Direct    string   `toml:"direct" one:"one threads"`
	access.Access
}

const terminalName = "terminal"

// reactions are the names of platform.Reactions.
var reactions = []string{"stop", "pin", "remember"}

// Rules returns the hub's rules: access, limits and budgets.
func (s *Settings) Rules() access.Rules {
	return access.Rules{
		Respond: s.respondIn,
		Access: map[string]access.Access{
			"discord": s.Discord.Access,
			"slack":   s.Slack.Access,
			WebName:   {Owners: []string{WebOwner}},
		},
		TurnsPerMinute: s.TurnsPerMinute,
		NoTurnLimit:    "terminal", // who can start the program needs none, and piped lines arrive fast
		CallsPerHour:   s.CallsPerHour,
		Money:          s.Money(),
		Restricted:     append([]string{}, s.Restricted...), // an empty list restricts nothing, nil would
	}
}

// defaultRestricted returns the commands that only managers may run by default.
func defaultRestricted() []string {
	return commandNames(func(c command.Command) bool { return c.Restricted })
}

// Unrestricted returns the commands that are restricted by default but not in the settings: either
// on purpose, or because they are newer than the list.
func Unrestricted(s *Settings) []string {
	return slices.DeleteFunc(defaultRestricted(), func(name string) bool { return slices.Contains(s.Restricted, name) })
}

func (c *checker) checkConnectors() {
	c.checkSecret("discord.token", c.s.Discord.Token, discordTokenVariable)
	c.checkSecret("slack.bot_token", c.s.Slack.BotToken, slackBotVariable)
	c.checkSecret("slack.app_token", c.s.Slack.AppToken, slackAppVariable)
	c.checkNames("discord.reactions", "reaction", c.s.Discord.Reactions, reactions)
	c.checkNames("slack.reactions", "reaction", c.s.Slack.Reactions, reactions)
	c.checkAccess("discord", c.s.Discord.Access)
	c.checkAccess("slack", c.s.Slack.Access)
}

func (c *checker) checkAccess(connector string, a access.Access) {
	for key, list := range map[string][]string{
		"allow": a.Allow, "deny": a.Deny, "bots": a.Bots, "owners": a.Owners, "managers": a.Managers, "unsearched": a.Unsearched,
	} {
		for _, id := range list {
			c.checkID(connector+"."+key, connector, id)
		}
	}
}

// idForm is the form of a platform's ids. Discord's are snowflakes; Slack's start with a letter
// that denotes the kind of object.
type idForm struct {
	*regexp.Regexp
	words string
}

var idForms = map[string]idForm{
	"discord": {regexp.MustCompile(`^[0-9]+$`), `a Discord id, digits such as "81384788862181376" (switch on Developer Mode, then Copy ID)`},
	"slack":   {regexp.MustCompile(`^[A-Z][A-Z0-9]+$`), `a Slack id such as "U0123ABCD" (see the details of a profile or channel)`},
}

// Binding is one of [[bindings]]: the conversations it applies to, and what it sets for them. A
// setting that it leaves out comes from the next binding that applies.
type Binding struct {
	Connector string         `toml:"connector" one:"- discord slack terminal web"` // empty: any
	Server    string         `toml:"server"`                                       // empty: any
	Channel   string         `toml:"channel"`                                      // a channel with its threads, or one thread; empty: any
	Direct    *bool          `toml:"direct"`                                       // nil: direct messages and channels
	Agent     string         `toml:"agent"`
	Respond   access.Respond `toml:"respond" one:"- mention all never"`
	Tools     []string       `toml:"tools"` // ids of [[tools]], in addition to the agent's
	Language  string         `toml:"language" one:"- auto en de es fr pt ja zh"`
}

// matches reports whether the binding applies to the conversation.
func (b Binding) matches(conversation string) bool {
	p := chat.ParsePlace(conversation)
	if p.Connector == terminalName { // it has no servers, and a channel may have any name
		p = chat.Place{Connector: p.Connector, Channel: strings.TrimPrefix(conversation, terminalName+":")}
	}
	return (b.Connector == "" || b.Connector == p.Connector) &&
		(b.Server == "" || b.Server == p.Server) &&
		(b.Channel == "" || b.Channel == p.Channel || b.Channel == p.Thread) &&
		(b.Direct == nil || *b.Direct == p.Direct())
}

// bound returns what the first binding says that applies to the conversation and sets it; "" if none does.
func bound[T ~string](s *Settings, conversation string, of func(Binding) T) T {
	for _, b := range s.Bindings {
		if value := of(b); value != "" && b.matches(conversation) {
			return value
		}
	}
	return ""
}

// AgentFor returns the id of the agent that answers in a conversation.
func (s *Settings) AgentFor(conversation string) string {
	return cmp.Or(bound(s, conversation, func(b Binding) string { return b.Agent }), s.Agents[0].ID)
}

// respondIn returns which messages are answered in a conversation.
func (s *Settings) respondIn(conversation string) access.Respond {
	return cmp.Or(bound(s, conversation, func(b Binding) access.Respond { return b.Respond }), s.Respond)
}

// LanguageIn returns the language of the prompts in a conversation, one of channel.Languages: from
// the first binding that sets one, else from its agent, else from the settings.
func LanguageIn(s *Settings, conversation string) string {
	agent := s.Agents[s.agent(s.AgentFor(conversation))]
	return cmp.Or(bound(s, conversation, func(b Binding) string { return b.Language }), agent.Language, s.Language)
}

func (c *checker) checkBinding(path string, b Binding) {
	if b.Agent == "" && b.Respond == "" && len(b.Tools) == 0 && b.Language == "" {
		c.report.problem(path+".agent", "sets nothing: set agent, respond, tools or language")
	}
	var agents []string
	for _, a := range c.s.Agents {
		agents = append(agents, a.ID)
	}
	if b.Agent != "" {
		c.checkNames(path+".agent", "agent", []string{b.Agent}, agents)
	}
	for key, id := range map[string]string{"server": b.Server, "channel": b.Channel} {
		switch {
		case id == "":
		case b.Connector == terminalName && key == "server":
			c.report.problem(path+".server", "server: the terminal has none")
		case b.Connector != "":
			c.checkID(path+"."+key, b.Connector, id)
		case !idForms["discord"].MatchString(id) && !idForms["slack"].MatchString(id):
			c.report.problem(path+"."+key, fmt.Sprintf(`%s: %q must be an id of Discord or Slack; for the terminal, also set connector = "terminal"`, key, id))
		}
	}
}
