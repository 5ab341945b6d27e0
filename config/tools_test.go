package config

import (
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestToolServers(t *testing.T) {
	t.Setenv("CALC_KEY", "hush-hush")
	s, err := Parse("f", []byte(`
[[tools]]
id = "calc"
command = "npx -y  @scope/server"
allow = ["add"]
env = { KEY = "env:CALC_KEY", MODE = "plain" }
[[tools]]
id = "far"
url = "https://example.com/mcp"
headers = { Authorization = "env:CALC_KEY" }
timeout = "5s"
allow = ["x"]
[[agents]]
id = "a"
tools = ["calc"]
[[bindings]]
connector = "terminal"
channel = "lab"
tools = ["far", "calc"]
`))
	check.NoError(t, err)
	servers := check.Must(s.ToolServers())(t)
	check.EqualAll(t, "the command", servers[0].Command, []string{"npx", "-y", "@scope/server"})
	check.Equal(t, "KEY", servers[0].Env["KEY"], "hush-hush")
	check.Equal(t, "MODE", servers[0].Env["MODE"], "plain")
	check.Equal(t, "Authorization", servers[1].Headers["Authorization"], "hush-hush")
	check.Equal(t, "the timeout", servers[1].Timeout.String(), "5s")
	check.Equal(t, "the most tokens of a result", servers[0].MaxResultTokens, 4000)
	check.EqualAll(t, "tools of other places", s.ToolsFor("a", "terminal:general"), []string{"calc"})
	check.EqualAll(t, "tools with the binding", s.ToolsFor("a", "terminal:lab"), []string{"calc", "far"})
	check.That(t, slices.Contains(s.Secrets(), "hush-hush"), "a secret is not marked as one")
}

func TestToolServerMistakes(t *testing.T) {
	server := "[[tools]]\nid = \"calc\"\ncommand = \"calc\"\nallow = [\"add\"]\n"
	for name, c := range map[string]struct{ text, want string }{
		"no id":            {"[[tools]]\ncommand = \"calc\"", `id = "": must be lower-case letters, digits and dashes`},
		"a built-in name":  {strings.Replace(server, "\"calc\"", "\"memory\"", 1), `not "memory"`},
		"the same id":      {server + server, "another server has this name"},
		"an unknown one":   {"[[tools]]\nid = \"calc\"\nbuiltin = \"shell\"", `must be one of "fetch", "files"`},
		"files of nothing": {"[[tools]]\nid = \"calc\"\nbuiltin = \"files\"", `needs a folder to read`},
		"no such folder":   {"[[tools]]\nid = \"calc\"\nbuiltin = \"files\"\nfolder = \"nowhere\"", `there is no such folder`},
		"a useless folder": {server + "folder = \"/\"", `only builtin = "files" has one`},
		"nowhere":          {"[[tools]]\nid = \"calc\"", "set one of command, url and builtin"},
		"no list":          {"[[tools]]\nid = \"calc\"\ncommand = 1", "command"},
		"a missing secret": {server + "env = { A = \"env:CAIRN_NO_SUCH\" }", "env: A: the environment variable CAIRN_NO_SUCH is not set"},
		"unknown to agent": {server + "[[agents]]\nid = \"a\"\ntools = [\"clac\"]", `tools: there is no server "clac", did you mean calc?; there are calc`},
	} {
		t.Run(name, func(t *testing.T) {
			check.ErrorContains(t, "error", check.ErrorOf(Parse("f", []byte(c.text))), c.want)
		})
	}
}

func TestTaskAgents(t *testing.T) {
	s, err := Parse("f", []byte(`
[[agents]]
id = "cairn"
spawn = ["researcher"]
[[agents]]
id = "researcher"
task_calls = 40
task_time = "10m"
`))
	if err != nil || s.Agents[0].Spawn[0] != "researcher" || s.Agents[1].TaskCalls != 40 || s.Agents[0].TaskCalls != 100 {
		t.Fatalf("%+v, %v", s.Agents, err)
	}
	_, err = Parse("f", []byte("[[agents]]\nid = \"cairn\"\nspawn = [\"resercher\"]\ntask_calls = 0\n[[agents]]\nid = \"researcher\"\ntask_time = \"25h\"\n"))
	for _, want := range []string{`spawn: there is no agent "resercher", did you mean researcher?`, "task_calls", "task_time"} {
		check.ErrorContains(t, "message", err, want)
	}
}
