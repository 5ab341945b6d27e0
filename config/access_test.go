package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/connector/discord"
	"cairn/connector/platform"
	"cairn/connector/slack"
	"cairn/connector/terminal"
	"cairn/llm"
	"cairn/mcp/builtin"
	"cairn/testkit/check"
)

func TestConnectorSettings(t *testing.T) {
	s := check.Must(Load(writeSettings(t, `
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
`)))(t)
	rules := s.Rules()
	discord := rules.Access["discord"]
	slack := rules.Access["slack"] // an id counts for its own connector alone
	check.EqualAll(t, "owners", discord.Owners, []string{"81384788765712384"})
	check.EqualAll(t, "allow", slack.Allow, []string{"C0123ABCD", "U0123ABCD"})
	check.That(t, len(discord.Allow)+len(slack.Owners) == 0, "got %+v and %+v", discord, slack)
	check.That(t, rules.Restricted != nil && len(rules.Restricted) == 0, "an empty list restricts %#v", rules.Restricted)
	check.EqualAll(t, "changed", s.Changed(), []string{"discord.message_content", "discord.owners", "respond", "restricted", "slack.allow"})
	older := check.Must(Parse("f", []byte("restricted = [\"compact\", \"forget\", \"new\", \"pause\", \"resume\", \"undo\"]\n")))(t)
	check.EqualAll(t, "newer commands that are open to all", Unrestricted(&older), []string{"model", "pin", "settings", "unpin"})
	defaults := Default()
	check.Len(t, "commands by default", Unrestricted(&defaults), 0)
	for _, c := range command.All {
		check.Equal(t, fmt.Sprintf("%s differs from its declaration", c.Name), slices.Contains(defaults.Rules().Restricted, c.Name), c.Restricted)
	}
}

func TestBindings(t *testing.T) {
	s := check.Must(Load(writeSettings(t, `
language = "auto"
respond = "never"
[[agents]]
id = "first"
[[agents]]
id = "librarian"
language = "fr"
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
[[bindings]]
channel = "77"
language = "pt"
[[bindings]]
channel = "77"
language = "zh"
`)))(t)
	for conversation, want := range map[string]string{ // the agent, and what it answers
		"discord:11/22":                 "librarian all",     // each value is the first binding's that sets it
		"discord:11/22/44":              "librarian all",     // a thread is bound with its channel
		"discord:11/22/33":              "friend all",        // a thread is bound by its own id
		"discord:11/55":                 "librarian mention", // a channel is bound with its server
		"discord:12/55":                 "first never",       // what no binding holds for is as the settings say
		"discord:@me/66":                "friend mention",    // a direct message of Discord
		"slack:T1/D1":                   "friend mention",    // a direct message of Slack
		"slack:T1/D1/1700000000.000100": "friend mention",    // a thread in a direct message of Slack
		"slack:T1/C1":                   "librarian all",     // what is no direct message
		"terminal:garden":               "librarian never",   // a channel of the terminal, by its name
		"terminal:general":              "first never",       // another one
		"terminal:garden/shed":          "first never",       // a name with a stroke is one name
	} {
		check.Equal(t, conversation, s.AgentFor(conversation)+" "+string(s.respondIn(conversation)), want)
	}
	for conversation, language := range map[string]string{ // a binding overrides the agent, which overrides the settings
		"discord:11/77": "pt", "discord:11/55": "fr", "discord:12/55": "auto",
	} {
		check.Equal(t, conversation, LanguageIn(&s, conversation), language)
	}
	check.Equal(t, "default language", LanguageIn(new(Default()), "terminal:x"), "en")
	for _, agents := range []string{"", "[[agents]]\ncontext_window = 9000\n"} { // the built-in one, and one without id
		bound := check.Must(Load(writeSettings(t, agents+"[[bindings]]\nagent = \"cairn\"")))(t)
		check.Equal(t, "agent of the channel", bound.AgentFor("slack:T1/C1"), "cairn")
	}
}

func TestChoices(t *testing.T) {
	choices := func(table any, field string) []string {
		f, _ := reflect.TypeOf(table).FieldByName(field)
		return strings.Fields(strings.TrimPrefix(f.Tag.Get("one"), "- "))
	}
	responds := []string{string(access.RespondMention), string(access.RespondAll), string(access.RespondNever)}
	wires := []string{wireAuto, llm.WireChat, llm.WireResponses, llm.WireMessages}
	check.EqualAll(t, "respond", choices(Settings{}, "Respond"), responds)
	check.EqualAll(t, "respond of a binding", choices(Binding{}, "Respond"), responds)
	for _, table := range []any{LLM{}, Provider{}, Agent{}} {
		check.EqualAll(t, "wire", choices(table, "Wire"), wires)
	}
	for _, table := range []any{Settings{}, Agent{}, Binding{}} {
		check.EqualAll(t, "language", choices(table, "Language"), channel.Languages)
	}
	check.EqualAll(t, "share_memories", choices(Settings{}, "ShareMemories"), []string{ShareChannel, ShareServer})
	check.EqualAll(t, "working", choices(Slack{}, "Working"), slack.Workings)
	check.EqualAll(t, "reply_in", choices(Slack{}, "ReplyIn"), slack.ReplyPlaces)
	check.EqualAll(t, "threads", choices(Discord{}, "Threads"), discord.ThreadChoices)
	var names []string
	for _, r := range platform.Reactions {
		names = append(names, r.Command)
	}
	check.EqualAll(t, "reactions", reactions, names)
	check.EqualAll(t, "direct", choices(Slack{}, "Direct"), slack.Directs)
	check.EqualAll(t, "connector", choices(Binding{}, "Connector"), []string{"discord", "slack", terminalName, WebName})
	check.EqualAll(t, "approve", choices(ToolServer{}, "Approve"), []string{channel.ApproveNever, channel.ApproveFirst, channel.ApproveAlways})
	check.EqualAll(t, "builtin", choices(ToolServer{}, "Builtin"), builtin.Names)
	check.That(t, terminalName == terminal.Name, "got terminal name %q", terminal.Name)
}

func TestPermissionsOfFiles(t *testing.T) {
	for mode, warns := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o660: false, 0o604: true, 0o602: true, 0o644: true} {
		file := writeSettings(t, "[llm]\nmodel = \"m\"\napi_key = \"file:key\"\n")
		key := filepath.Join(filepath.Dir(file), "key")
		check.NoError(t, os.WriteFile(key, []byte("k"), 0o600))
		check.NoError(t, os.Chmod(key, mode))
		var want []Problem
		if warns {
			want = []Problem{{File: file, Line: 3, Table: "[llm]", Text: "api_key: every user of this machine may read or write the file: chmod o-rw " + key}}
		}
		check.Equal(t, fmt.Sprintf("warnings of a key with %v", mode), fmt.Sprint(check.Must(Load(file))(t).Warnings), fmt.Sprint(want))
	}
	for mode, warns := range map[os.FileMode]bool{0o600: false, 0o644: false, 0o664: false, 0o646: true, 0o666: true} {
		file := writeSettings(t, "")
		check.NoError(t, os.Chmod(file, mode))
		check.Equal(t, fmt.Sprintf("warnings of a settings file with %v", mode), len(check.Must(Load(file))(t).Warnings) > 0, warns)
	}
}

func TestWarnings(t *testing.T) {
	t.Setenv(webTokenVariable, "")
	for text, want := range map[string]string{
		"[[bindings]]\ndoor = \"slack\"\nrespond = \"all\"\n":            "door is now called connector",
		"[web]\nlisten = \"0.0.0.0:8090\"":                               "listen = \"0.0.0.0:8090\": needs a token, because others can reach it",
		"[hooks]\non_reply = \"./no-such-program --now\"":                "on_reply: there is no program \"./no-such-program\" that can be run",
		"[[agents]]\nid = \"Critic\"":                                    "id = \"Critic\": people must write the capitals too, as @Critic",
		"[web]\nlisten = \"127.0.0.1:8090\"\n[hooks]\non_reply = \"sh\"": "",
	} {
		s := check.Must(Load(writeSettings(t, text)))(t)
		var got string
		for _, w := range s.Warnings {
			check.Equal(t, text+": line", w.Line, 2)
			got += w.Text
		}
		check.HasPrefix(t, text, got, want)
		check.Equal(t, text+": whether it warns", got != "", want != "")
		check.Equal(t, text+": an old name is accepted", s.respondIn("slack:T1/C1") == access.RespondAll, strings.Contains(text, "door"))
	}
}
