package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack"
	"cairn/terminal"
)

func TestConnectorSettingsMistakes(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string // in the form that refused expects
	}{
		{"too many calls", `calls_per_hour = 100001`, []string{`:1: calls_per_hour = 100001: must be from 0 to 100000`}},
		{"memories shared otherwise", `share_memories = "everywhere"`, []string{`:1: share_memories = "everywhere": must be one of "channel", "server"`}},
		{"Discord's id in Slack", "[slack]\nbots = [\"81384788765712384\"]", []string{`:2: [slack]: bots: "81384788765712384" must be a Slack id`}},
		{"Slack's id in Discord", "[discord]\nmanagers = [\"U0123ABCD\"]", []string{`:2: [discord]: managers: "U0123ABCD" must be a Discord id`}},
		{"a way to work that Slack does not have", "[slack]\nworking = \"typing\"", []string{`:2: [slack]: working = "typing": must be one of "status", "reaction", "placeholder", "off"`}},
		{"a place to reply that there is none of", "[slack]\nreply_in = \"threads\"", []string{`:2: [slack]: reply_in = "threads": must be one of "auto", "thread", "channel", did you mean thread?`}},
		{"a binding to an unknown connector", "[[bindings]]\nagent = \"cairn\"\nconnector = \"Discord\"", []string{`:3: [bindings.1]: connector = "Discord": must be one of "discord", "slack", "terminal", "web", did you mean discord?`}},
		{"a binding that responds in no way", "[[bindings]]\nrespond = \"no\"", []string{`:2: [bindings.1]: respond = "no": must be one of "mention", "all", "never"`}},
		{"a way to respond there is none of", `respond = "sometimes"`, []string{`:1: respond = "sometimes": must be one of "mention", "all", "never"`}},
		{
			"a command there is none of", `restricted = ["compact", "forgett"]`,
			[]string{`:1: restricted: there is no command "forgett", did you mean forget?; there are allow, ask, compact, `},
		},
		{"a text for a list", "[discord]\nowners = \"1\"", []string{`:2: [discord]: owners: must be a list of texts, e.g. ["a", "b"]`}},
		{
			"an id without quotes", "[discord]\nowners = [81384788765712384]",
			[]string{`:2: [discord]: owners: must be a list, each a text in quotes: write "81384788765712384"`},
		},
		{"a name for an id of Discord", "[discord]\nallow = [\"1\",\n  \"ada\"]", []string{`:2: [discord]: allow: "ada" must be a Discord id, digits such as "81384788862181376"`}},
		{"a name for an id of Slack", "[slack]\ndeny = [\"#general\"]", []string{`:2: [slack]: deny: "#general" must be a Slack id such as "U0123ABCD"`}},
		{"a token in the file", "[discord]\ntoken = \"hush\"", []string{`:2: [discord]: token: must be "file:PATH", a file that holds nothing else; or leave it out and set DISCORD_TOKEN`}},
		{"a token in place of its file", "[slack]\nbot_token = \"file:xoxb-hush\"", []string{`:2: [slack]: bot_token: must be a file that can be read, relative to this one: no such file or directory`}},
		{"another connector's key", "[slack]\nmessage_content = false", []string{`:2: [slack]: message_content: does not belong here, but under [discord]`}},
		{"one binding without brackets enough", "[bindings]\nrespond = \"all\"", []string{`:1: bindings: must be tables, each under [[bindings]]`}},
		{"a binding that sets nothing", "[[bindings]]\nconnector = \"slack\"", []string{`:1: [bindings.1]: sets nothing: set agent, respond, tools or language`}},
		{
			"a binding to an agent there is none of", "[[bindings]]\nrespond = \"all\"\n[[agents]]\nid = \"librarian\"\n[[bindings]]\nagent = \"libarian\"",
			[]string{`:6: [bindings.2]: agent: there is no agent "libarian", did you mean librarian?; there are librarian`},
		},
		{
			"a binding of a channel's name", "[[bindings]]\nrespond = \"all\"\nconnector = \"slack\"\nchannel = \"general\"",
			[]string{`:4: [bindings.1]: channel: "general" must be a Slack id`},
		},
		{
			"a binding of a name without a connector", "[[bindings]]\nrespond = \"all\"\nserver = \"home\"",
			[]string{`:3: [bindings.1]: server: "home" must be an id of Discord or Slack; for a channel of the terminal, also set connector = "terminal"`},
		},
		{"a server of the terminal", "[[bindings]]\nrespond = \"all\"\nconnector = \"terminal\"\nserver = \"home\"", []string{`:4: [bindings.1]: server: the terminal has none`}},
		{
			"a list over many lines hides no line, and all is told at once",
			"[discord]\nowners = [ # us\n  \"1\", # [\n  \"ada\",\n  2,\n]\nmessage_content = 1\n[slack]\nowners = [\"u1\"]",
			[]string{
				`:2: [discord]: owners: must be a list, each a text in quotes: write "2"`,
				`:2: [discord]: owners: "ada" must be a Discord id`,
				`:7: [discord]: message_content: must be true or false`,
				`:9: [slack]: owners: "u1" must be a Slack id`,
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) { refused(t, test.text, test.want...) })
	}
}

func TestTokensInFiles(t *testing.T) {
	file := writeSettings(t, "[discord]\ntoken = \"file:token\"")
	check.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "token"), []byte(" hush\n"), 0o600))
	t.Setenv(discordTokenVariable, "of the environment")
	s := check.Must(Load(file))(t)
	t.Run("a file that is named goes before the environment", func(t *testing.T) {
		check.Equal(t, "token", check.Must(s.secret(s.Discord.Token, discordTokenVariable))(t), "hush")
	})
}

func TestConnectorSettings(t *testing.T) {
	s, err := Load(writeSettings(t, `
respond = "all"
restricted = []
[discord]
message_content = false
owners = ["81384788765712384"]
[slack]
allow = [
  "C0123ABCD",
  "U0123ABCD",
]
`))
	check.NoError(t, err)
	rules := s.Rules()
	t.Run("an id counts for its own connector alone", func(t *testing.T) {
		discord, slack := rules.Access["discord"], rules.Access["slack"]
		check.EqualAll(t, "owners", discord.Owners, []string{"81384788765712384"})
		check.EqualAll(t, "allow", slack.Allow, []string{"C0123ABCD", "U0123ABCD"})
		check.That(t, len(discord.Allow)+len(slack.Owners) == 0, "got %+v and %+v", discord, slack)
	})
	t.Run("an empty list restricts no command", func(t *testing.T) {
		check.That(t, rules.Restricted != nil && len(rules.Restricted) == 0, "got %#v", rules.Restricted)
	})
	t.Run("without a list, those restricted by declaration are", func(t *testing.T) {
		defaults := Default()
		for _, c := range channel.Commands {
			check.Equal(t, fmt.Sprintf("%s differs from its declaration", c.Name), slices.Contains(defaults.Rules().Restricted, c.Name), c.Restricted)
		}
	})
	t.Run("what differs is named", func(t *testing.T) {
		check.EqualAll(t, "changed", s.Changed(), []string{"discord.message_content", "discord.owners", "respond", "restricted", "slack.allow"})
	})
}

func TestBindings(t *testing.T) {
	s, err := Load(writeSettings(t, `
respond = "never"
[[agents]]
id = "first"
[[agents]]
id = "librarian"
[[agents]]
id = "friend"

[[bindings]] # one channel and its threads listen to all; who answers there is left open
door = "discord"
channel = "22"
respond = "all"
[[bindings]] # one thread
channel = "33"
agent = "friend"
[[bindings]]
server = "11"
agent = "librarian"
respond = "mention"
[[bindings]]
direct = true
agent = "friend"
respond = "mention"
[[bindings]] # too late for what is above
door = "slack"
agent = "librarian"
[[bindings]]
door = "slack"
direct = false
respond = "all"
[[bindings]]
door = "terminal"
channel = "garden"
agent = "librarian"
`))
	check.NoError(t, err)
	for _, test := range []struct {
		name, conversation, agent string
		respond                   channel.Respond
	}{
		{"each value is the first binding's that sets it", "discord:11/22", "librarian", channel.RespondAll},
		{"a thread is bound with its channel", "discord:11/22/44", "librarian", channel.RespondAll},
		{"a thread is bound by its own id", "discord:11/22/33", "friend", channel.RespondAll},
		{"a channel is bound with its server", "discord:11/55", "librarian", channel.RespondMention},
		{"what no binding holds for is as the settings say", "discord:12/55", "first", channel.RespondNever},
		{"a direct message of Discord", "discord:@me/66", "friend", channel.RespondMention},
		{"a direct message of Slack", "slack:T1/D1", "friend", channel.RespondMention},
		{"a thread in a direct message of Slack", "slack:T1/D1/1700000000.000100", "friend", channel.RespondMention},
		{"what is no direct message", "slack:T1/C1", "librarian", channel.RespondAll},
		{"a channel of the terminal, by its name", "terminal:garden", "librarian", channel.RespondNever},
		{"another one", "terminal:general", "first", channel.RespondNever},
		{"a name with a stroke is one name", "terminal:garden/shed", "first", channel.RespondNever},
	} {
		t.Run(test.name, func(t *testing.T) {
			agent, respond := s.AgentFor(test.conversation), s.respondIn(test.conversation)
			check.Equal(t, test.conversation, agent, test.agent)
			check.Equal(t, test.conversation+": answers", respond, test.respond)
		})
	}
	t.Run("without agents, the built-in one can be bound", func(t *testing.T) {
		s := check.Must(Load(writeSettings(t, "[[bindings]]\nagent = \"cairn\"")))(t)
		check.Equal(t, "agent of the channel", s.AgentFor("slack:T1/C1"), "cairn")
	})
}

func TestSlackChoices(t *testing.T) {
	check.EqualAll(t, "choices of the connector", SlackWorking, slack.Workings)
	check.EqualAll(t, "SlackReplyIn", SlackReplyIn, slack.ReplyPlaces)
	check.That(t, terminalName == terminal.Name, "got terminal name %q", terminal.Name)
}

func TestOldNamesOfKeys(t *testing.T) {
	t.Run("an old name is accepted, with a warning that names the new one", func(t *testing.T) {
		s := check.Must(Load(writeSettings(t, "[[bindings]]\ndoor = \"slack\"\nrespond = \"all\"\n")))(t)
		check.Len(t, "warnings", s.Warnings, 1)
		check.Equal(t, "line of the warning", s.Warnings[0].Line, 2)
		check.Equal(t, "text of the warning", s.Warnings[0].Text, "door is now called connector")
		if s.respondIn("slack:T1/C1") != channel.RespondAll || s.respondIn("discord:1/2") == channel.RespondAll {
			t.Error("the binding applies to another place")
		}
	})
	t.Run("a mistake in its value is found in its line", func(t *testing.T) {
		check.ErrorContains(t, "error", check.ErrorOf(Load(writeSettings(t, "[[bindings]]\nrespond = \"all\"\ndoor = \"slak\"\n"))), `:3: [bindings.1]: connector = "slak"`)
	})
	t.Run("both names at once are a mistake", func(t *testing.T) {
		check.ErrorContains(t, "error", check.ErrorOf(Load(writeSettings(t, "[[bindings]]\nrespond = \"all\"\ndoor = \"slack\"\nconnector = \"slack\"\n"))), "door: it is the old name of connector")
	})
}
