package config

import (
	"os"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// The example's agent sets none, so that those of [llm] in a file beside it count.
func TestExampleHidesNoModels(t *testing.T) {
	environment(t, nil)
	example := string(check.Must(os.ReadFile("config.toml"))(t))
	const own = "[llm]\nbase_url = \"http://s.test/v1\"\nmodel = \"m\"\nfallback = [\"small\"]\nmodels = [\"other\"]\n"
	s := check.Must(Load(bothFiles(t, example, own)))(t)
	check.EqualAll(t, "fallback", s.Agents[0].Fallback, []string{"small"})
	check.EqualAll(t, "models", s.Agents[0].Models, []string{"other"})
	check.Len(t, "warnings", s.Warnings, 0)
	s = check.Must(Load(bothFiles(t, "[[agents]]\nid = \"a\"\nfallback = []\nmodels = []\n", own)))(t)
	check.Len(t, "warnings of lists that hide others", s.Warnings, 2)
}

func TestFallbackIsInherited(t *testing.T) {
	environment(t, nil)
	s := check.Must(Load(writeSettings(t, `[llm]
base_url = "http://s.test/v1"
fallback = ["small", "p/large"]
models = ["p/other", "small"]
[[providers]]
id = "p"
base_url = "http://p.test/v1"
[[agents]]
id = "a"
[[agents]]
id = "b"
fallback = ["p/other"]
models = ["tiny"]
[[agents]]
id = "c"
fallback = []
`)))(t)
	check.EqualAll(t, "of the agent that sets none", s.Agents[0].Fallback, []string{"small", "p/large"})
	check.EqualAll(t, "of the agent that sets its own", s.Agents[1].Fallback, []string{"p/other"})
	check.Len(t, "of the agent that wants none", s.Agents[2].Fallback, 0)
	check.EqualAll(t, "choices of the agent that sets none", s.Agents[0].Models, []string{"p/other", "small"})
	check.EqualAll(t, "choices of the agent that sets its own", s.Agents[1].Models, []string{"tiny"})
	used := check.Must(s.Servers())(t)
	check.EqualAll(t, "who uses a choice", used[0].Used["tiny"], []string{"choice of b"})
	s = check.Must(Load(writeSettings(t, "[llm]\nbase_url = \"http://s.test/v1\"\nfallback = [\"small\"]\n")))(t)
	check.EqualAll(t, "of the built-in agent", s.Agents[0].Fallback, []string{"small"})
	for text, want := range map[string]string{
		"fallback = [\"a\", \"b\", \"c\", \"d\"]":        "fallback = 4: must name at most 3 models",
		"fallback = [\"\"]":                              "fallback = \"\": must name models",
		"fallback = \"a\"":                               "fallback: must be a list of texts",
		"fallback = [\"q/m\"]":                           "there is no provider \"q\"",
		"models = [\"q/m\"]":                             "there is no provider \"q\"",
		"models = [\"\"]":                                "models = \"\": must name models",
		"models = [" + strings.Repeat(`"a", `, 21) + "]": "models = 21: must name at most 20 models",
	} {
		for _, table := range []string{"[llm]\n", "[[agents]]\nid = \"a\"\n"} {
			_, err := Load(writeSettings(t, "[[providers]]\nid = \"p\"\nbase_url = \"http://p.test/v1\"\n"+table+text+"\n"))
			check.ErrorContains(t, table+text, err, want)
		}
	}
}
