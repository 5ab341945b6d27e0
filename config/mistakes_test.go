package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"
)

// mistakes are settings files. A remark that begins with "!" is the beginning of the error of its
// line, without the file's name and the number; "!!" is between two errors. Other lines have none.
var mistakes = map[string]string{
	"no TOML":     "a = = 1 #! this is not valid TOML (expected value but found '=' instead",
	"a key twice": "workers = 1\nworkers = 2 #! this is not valid TOML (Key 'workers' has already been defined)",
	"top level": `
workers = "4" #! workers: must be a whole number
wokers = 1 #! wokers: there is no such setting, did you mean workers?
data_dir = "" #! data_dir = "": must name a folder
catch_up = 60 #! catch_up: must be a duration like "90s" or "5m"
time_zone = "Berlin" #! time_zone = "Berlin": must be a place such as "Europe/Berlin", "UTC", or "Local" for the machine's own zone
calls_per_hour = 100001 #! calls_per_hour = 100001: must be from 0 to 100000
share_memories = "everywhere" #! share_memories = "everywhere": must be one of "channel", "server"
language = "it" #! language = "it": the prompts and the bot's own sentences exist in "auto", "en", "de", "es", "fr", "pt", "ja", "zh"; answers are in the language of
respond = "sometimes" #! respond = "sometimes": must be one of "mention", "all", "never"
restricted = ["compact", "forgett"] #! restricted: there is no command "forgett", did you mean forget?; there are allow, ask, compact, 
background_threshold = 0.7 #! background_threshold: does not belong here, but under [defaults.compaction]
llm = true #! llm: must be a table
backup = 1979-05-27 #! backup: must be a table
budget_per_day = -1 #! budget_per_day = -1: must be from 0 to 1000000000
budget_per_month = nan #! budget_per_month = NaN: must be from 0 to 1000000000
[compaction] #! compaction: does not belong here, but as [defaults.compaction]
keep_first = 1
[web]
hosts = ["*.x"] #! [web]: hosts: "*.x" must be a name without scheme, port or wildcard, e.g. "cairn.example.com"
[bindings] #! bindings: must be tables, each under [[bindings]]
respond = "all"
[prices."gpt-4.1"]
input = 1
output = 100001 #! [prices."gpt-4.1"]: output = 100001: must be from 0 to 100000
[prices.m] #! [prices."m"]: output: is missing; a price has input and output
input = 1
[prices]
n = { input = 1, output = -1 } #! [prices."n"]: output = -1: must be from 0
`,
	"models": `
catch_up = "soon" #! catch_up: invalid duration "soon": use e.g. "90s", "5m" or "1h30m"
[llm]
context_window = 16000 #! [llm]: context_window: does not belong here, but under [[agents]]
workers = 2 #! [llm]: workers: does not belong here, but at the top, above the first table
output = 1 #! [llm]: output: does not belong here, but under [prices."MODEL"]
model = 1 #! [llm]: model: must be a text in quotes
base_url = "http://localhost?key=secret-123" #! [llm]: base_url = "http://localhost": must not have "?"
api_key = "env:CAIRN_NO_SUCH_KEY" #! [llm]: api_key: the environment variable CAIRN_NO_SUCH_KEY is not set
wire = "respones" #! [llm]: wire = "respones": must be one of "auto", "chat", "responses", "messages", did you mean responses?
[llm.discord] #! [llm]: discord: does not belong here, but as [discord]
token = "a"
[[providers]] #! [providers.1]: id: is missing; it must be of letters, digits, "-", "_" and "."; models are named with it, as in model = "id/model"
base_url = "http://p.test/v1"
[[providers]]
id = "a/b" #! [providers.2]: id = "a/b": must be of letters, digits, "-", "_" and "."
base_url = "http://p.test/v1"
api_key = "env:hush-1" #! [providers.2]: api_key: must be "env:NAME" with the name of an environment variable
[[providers]] #! [providers.3]: base_url: is missing; as "https://api.openai.com/v1", "https://api.anthropic.com" or "http://localhost:11434/v1"
id = "a"
[[providers]]
id = "a" #! [providers.4]: id = "a": another one has this id
base_url = "http://p.test/v1"
`,
	"an unknown provider": `
[[providers]]
id = "openrouter"
base_url = "http://p.test/v1"
[llm]
model = "openruoter/m" #! [llm]: model = "openruoter/m": there is no provider "openruoter", did you mean openrouter?; there are openrouter; for a model with this name, write "openrouter/openruoter/m", or set base_url under [llm]
[[agents]]
id = "a"
model = "acme/m" #! [agents.a]: model = "acme/m": there is no provider "acme"; there are openrouter; 
reasoning = "hihg" #! [agents.a]: reasoning = hihg: must be empty, or one of "none", "minimal", "low", "medium", "high", "xhigh", "max" (did you mean high?)
[[agents]]
id = "b"
model = "openrouter/" #! [agents.b]: model = "openrouter/": names a provider without a model
[[agents]]
id = "c"
model = "openrouter/m"
base_url = "http://s.test/v1" #! [agents.c]: base_url: model = "openrouter/m" belongs to provider "openrouter", which has its own address
`,
	"agents": `
[defaults.compaction]
keep_first = 21 #! [defaults.compaction]: keep_first = 21: must be from 0 to 20
background_threshold = 80 #! [defaults.compaction]: background_threshold = 80: must be from 0.10 to 0.99 (a share of 1: write 0.80 for 80 %)
stack_budget = nan #! [defaults.compaction]: stack_budget = NaN: must be from 0.02 to 0.40
notify = "loud" #! [defaults.compaction]: notify = loud: must be "off", "reaction" or "message"
enabled = 1 #! [defaults.compaction]: enabled: must be true or false
prompt_file = "none.md" #! [defaults.compaction]: prompt_file = "none.md": must be a file that can be read (
[[agents]] #! [agents.1]: id: is missing; it must be of letters, digits, "-", "_" and ".", because people write @id to ask an agent, e.g. "cairn"
model = "m"
[[agents]]
id = "a"
instructions = """
workers = 1
[llm]
"""
modle = "m" #! [agents.a]: modle: there is no such setting, did you mean model?
[agents.compaction]
background_treshold = 0.7 #! [agents.a.compaction]: background_treshold: there is no such setting, did you mean background_threshold?
[[agents]]
id = "a" #! [agents.a]: id = "a": another one has this id
task_calls = 0 #! [agents.a]: task_calls = 0: must be from 1 to 10000
task_time = "25h" #! [agents.a]: task_time = 25h: must be from 1s to 24h
spawn = ["b"] #! [agents.a]: spawn: there is no agent "b"; there are , a
`,
	"thresholds out of order": `
[defaults.compaction]
background_threshold = 0.9 #! [defaults.compaction]: background_threshold = 0.9: must be below aggressive_threshold (0.85), which must be below emergency_threshold (0.95)
prepare_threshold = -1 #! [defaults.compaction]: prepare_threshold = -1: must be 0 (off) or below background_threshold
`,
	"an agent's threshold below an inherited one": `
[[agents]]
id = "a"
[agents.compaction] #! [agents.a.compaction]: background_threshold = 0.8: must be below aggressive_threshold (0.5), which must be below emergency_threshold (0.95)
aggressive_threshold = 0.5
`,
	"names and windows": `
[[agent]] #! agent: there is no such setting, did you mean agents?
id = "a"
[[agents]]
id = "my bot" #! [agents.my bot]: id = "my bot": must be of letters, digits, "-", "_" and ".", because people write @id to ask an agent
context_window = 1000 #! [agents.my bot]: context_window = 1000: must be larger than the 10
[[agents]]
id = "@bot" #! [agents.@bot]: id = "@bot": must be of letters
context_window = 999 #! [agents.@bot]: context_window = 999: must be from 1000 to 100000000
`,
	"tables for a table":                   "x = 1 #! x: there is no such setting\n[[llm]] #! llm: must be a table\nmodel = \"m\"",
	"texts for tables":                     "agents = [\"a\"] #! agents: must be tables, each under [[agents]]",
	"a table of an agent there is none of": "\n[agents.compaction] #! agents: must be tables, each under [[agents]]\nkeep_first = 1",
	"connectors": `
[discord]
api_base = "http://localhost/?v=1" #! [discord]: api_base = "http://localhost/": must not have "?"
owners = [ # us #! [discord]: owners: must be a list, each a text in quotes: write "2" !! [discord]: owners: "ada" must be a Discord id, digits such as "81384788862181376"
  "1", # [
  "ada",
  2,
]
managers = ["U0123ABCD"] #! [discord]: managers: "U0123ABCD" must be a Discord id
bots = "1" #! [discord]: bots: must be a list of texts, e.g. ["a", "b"]
token = "hush" #! [discord]: token: must be "file:PATH", a file that holds nothing else; or leave it out and set DISCORD_TOKEN
message_content = 1 #! [discord]: message_content: must be true or false
[slack]
bots = ["81384788765712384"] #! [slack]: bots: "81384788765712384" must be a Slack id
deny = ["#general"] #! [slack]: deny: "#general" must be a Slack id such as "U0123ABCD"
working = "typing" #! [slack]: working = "typing": must be one of "status", "reaction", "placeholder", "off"
reply_in = "threads" #! [slack]: reply_in = "threads": must be one of "auto", "thread", "channel", did you mean thread?
bot_token = "file:xoxb-hush" #! [slack]: bot_token: must be a file that can be read, relative to this one: no such file or directory
message_content = false #! [slack]: message_content: does not belong here, but under [discord]
`,
	"bindings": `
[[bindings]]
agent = "cairn" #! [bindings.1]: agent: there is no agent "cairn"
connector = "Discord" #! [bindings.1]: connector = "Discord": must be one of "discord", "slack", "terminal", "web", did you mean discord?
[[bindings]]
respond = "no" #! [bindings.2]: respond = "no": must be one of "mention", "all", "never"
[[bindings]] #! [bindings.3]: sets nothing: set agent, respond, tools or language
connector = "slack"
[[agents]]
id = "librarian"
[[bindings]]
agent = "libarian" #! [bindings.4]: agent: there is no agent "libarian", did you mean librarian?; there are librarian
connector = "slack"
channel = "general" #! [bindings.4]: channel: "general" must be a Slack id
[[bindings]]
respond = "all"
server = "home" #! [bindings.5]: server: "home" must be an id of Discord or Slack; for a channel of the terminal, also set connector = "terminal"
[[bindings]]
respond = "all"
connector = "terminal"
server = "home" #! [bindings.6]: server: the terminal has none
[[bindings]]
respond = "all"
door = "slak" #! [bindings.7]: connector = "slak": must be one of "discord", "slack", "terminal", "web", did you mean slack?
[[bindings]]
respond = "all"
door = "slack" #! [bindings.8]: door: it is the old name of connector, which is also set: remove it
connector = "slack"
`,
	"tools": `
[[tools]] #! [tools.1]: id: is missing; it must be of lower-case letters, digits and dashes
command = "calc"
[[tools]]
id = "memory" #! [tools.2]: id = "memory": must be of lower-case letters, digits and dashes
command = "calc"
[[tools]]
id = "calc"
command = "calc"
folder = "/" #! [tools.3]: folder: only builtin = "files" has one
env = { A = "env:CAIRN_NO_SUCH" } #! [tools.3]: env: A: the environment variable CAIRN_NO_SUCH is not set
[[tools]]
id = "calc" #! [tools.4]: id = "calc": another one has this id
command = 1 #! [tools.4]: command: must be a list of texts, e.g. ["a", "b"] !! [tools.4]: set one of command, url and builtin
[[tools]]
id = "shell"
builtin = "shell" #! [tools.5]: builtin = "shell": must be one of "fetch", "files"
[[tools]]
id = "files"
builtin = "files" #! [tools.6]: builtin = "files" needs a folder to read
[[tools]]
id = "places"
builtin = "files"
folder = "nowhere" #! [tools.7]: folder = "nowhere": there is no such folder
[[tools]] #! [tools.8]: set one of command, url and builtin
id = "none"
[[agents]]
id = "a"
tools = ["clac"] #! [agents.a]: tools: there is no server "clac", did you mean calc?; there are , calc, files, memory, none, places, shell
`,
}

func TestMistakes(t *testing.T) {
	environment(t, nil)
	for name, text := range mistakes {
		t.Run(name, func(t *testing.T) {
			var want []string
			for i, line := range strings.Split(text, "\n") {
				if _, remark, found := strings.Cut(line, "#! "); found {
					for one := range strings.SplitSeq(remark, " !! ") {
						want = append(want, fmt.Sprintf(":%d: %s", i+1, one))
					}
				}
			}
			file := writeSettings(t, text)
			wrong, _ := errors.AsType[*Error](check.ErrorOf(Load(file)))
			check.Require(t, wrong != nil, "the settings were accepted")
			got := strings.Split(wrong.Error(), "\n")
			check.Len(t, "mistakes", got, len(want))
			for i, line := range got {
				check.HasPrefix(t, "a mistake", strings.TrimPrefix(line, file), want[i])
			}
			check.Lacks(t, "the error shows a secret", wrong.Error(), "hush", "secret-123")
		})
	}
}

// The TOML library needs gigabytes and hours for a file that nests without limit.
func TestDeepNestingIsRefused(t *testing.T) {
	deep := strings.Repeat("a.", 20) + "a"
	for _, test := range []struct {
		name, text string
		line       int
	}{
		{"what a setting needs", "[agents.compaction]\nprepare_threshold = 0.7\na = { b = [1, [2]] }", 0},
		{"dots in texts and remarks", strings.NewReplacer("D", strings.Repeat(".", 99)).Replace("# D\na = \"D\\\"D\"\nb = 'D'\nc = \"\"\"D\nD\"\"\"\nd = '''D'''\n#D"), 0},
		{"quotes in texts", "a = \"'\"\nb = '\"'\n" + deep + " = 1", 3},
		{"a key with spaces and quotes", "x = 1\n" + strings.Repeat("'a' . ", 20) + "a = 1", 2},
		{"a table", "x = \"\"\"\n\"\"\"\n[" + deep + "]", 3},
		{"a key inside a table", "x = { " + deep + " = 1 }", 1},
		{"braces", "x = " + strings.Repeat("{a=", 20), 1},
		{"a text without end", "x = \"...\ny = '", 0},
		{"many keys", strings.Repeat("a.", 100_000) + "a = 1", 1},
		{"many brackets", "a = " + strings.Repeat("[", 100_000), 1},
	} {
		wrong, _ := errors.AsType[*Error](check.ErrorOf(Parse("config.toml", []byte(test.text))))
		line := 0
		if strings.Contains(wrong.Error(), "this is nested deeper than 16 levels") {
			line = wrong.Problems[0].Line
		}
		check.Equal(t, test.name+": line", line, test.line)
	}
}
