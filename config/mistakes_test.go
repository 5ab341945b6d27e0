package config

import (
	"errors"
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestSettingsMistakes(t *testing.T) {
	agent := "[[agents]]\nid = \"a\"\n"
	for _, test := range []struct {
		name, text string
		want       []string // the errors' lines, without the file's name
	}{
		{"no TOML", "a = = 1", []string{`:1: expected value but found '=' instead`}},
		{"a query", "[discord]\napi_base = \"http://localhost/?v=1\"\n[llm]\nbase_url = \"http://localhost?key=secret-123\"", []string{
			`:2: [discord]: api_base = "http://localhost/": must not have "?"`, `:4: [llm]: base_url = "http://localhost": must not have "?"`,
		}},
		{"a key twice", "workers = 1\nworkers = 2", []string{`:2: Key 'workers' has already been defined.`}},
		{"a stray key", "wokers = 1", []string{`:1: wokers: there is no such setting, did you mean workers?`}},
		{
			"a stray key in the second agent", agent + "[[agents]]\nid = \"b\"\n[agents.compaction]\nbackground_treshold = 0.7",
			[]string{`:6: [agents.b.compaction]: background_treshold: there is no such setting, did you mean background_threshold?`},
		},
		{
			"percent instead of a share", "[defaults.compaction]\nbackground_threshold = 80",
			[]string{`:2: [defaults.compaction]: background_threshold = 80: must be from 0.10 to 0.99 (a share of 1: write 0.80 for 80 %)`},
		},
		{
			"the internal value for what is not set", "[defaults.compaction]\nprepare_threshold = -1",
			[]string{`:2: [defaults.compaction]: prepare_threshold = -1: must be 0 (off) or below background_threshold`},
		},
		{
			"not a number", "[defaults.compaction]\nstack_budget = nan",
			[]string{`:2: [defaults.compaction]: stack_budget = NaN: must be from 0.02 to 0.40`},
		},
		{
			"thresholds out of order", "[defaults.compaction]\nbackground_threshold = 0.9",
			[]string{`:2: [defaults.compaction]: background_threshold = 0.9: must be below aggressive_threshold (0.85), which must be below emergency_threshold (0.95)`},
		},
		{
			"an agent's threshold below an inherited one", agent + "[agents.compaction]\naggressive_threshold = 0.5",
			[]string{`:3: [agents.a.compaction]: background_threshold = 0.8: must be below aggressive_threshold (0.5), which must be below emergency_threshold (0.95)`},
		},
		{
			"what an agent inherits is told once", "[defaults.compaction]\nkeep_first = 21\n" + agent,
			[]string{`:2: [defaults.compaction]: keep_first = 21: must be from 0 to 20`},
		},
		{"a text for a number", `workers = "4"`, []string{`:1: workers: must be a whole number`}},
		{"a value for a table", `llm = true`, []string{`:1: llm: must be a table`}},
		{"a host that never matches", "[web]\nhosts = [\"*.x\"]", []string{`:2: [web]: hosts: "*.x" must be a name without scheme, port or wildcard, e.g. "cairn.example.com"`}},
		{"a number for a duration", `catch_up = 60`, []string{`:1: catch_up: must be a duration like "90s" or "5m"`}},
		{"no duration", `catch_up = "soon"`, []string{`:1: catch_up: invalid duration "soon": use e.g. "90s", "5m" or "1h30m"`}},
		{"no time zone", `time_zone = "Berlin"`, []string{`:1: time_zone = "Berlin": must be a place such as "Europe/Berlin", "UTC", or "Local" for the machine's own zone`}},
		{"tables for a table", "x = 1\n[[llm]]\nmodel = \"m\"", []string{`:1: x: there is no such setting`, `:2: llm: must be a table`}},
		{"a table of an agent there is none of", "\n[agents.compaction]\nkeep_first = 1", []string{`:2: agents: must be tables, each under [[agents]]`}},
		{"an agent without id", "[[agents]]\nmodel = \"m\"", []string{`:1: [agents.1]: id: is missing; add id = "cairn"`}},
		{"two agents of one id", agent + agent, []string{`:4: [agents.a]: id = "a": another agent has this name`}},
		{"a key from no variable", "[llm]\napi_key = \"env:CAIRN_NO_SUCH_KEY\"", []string{`:2: [llm]: api_key: the environment variable CAIRN_NO_SUCH_KEY is not set`}},
		{"a key in place of a variable", "[llm]\napi_key = \"env:hush-1\"", []string{`:2: [llm]: api_key: must be "env:NAME" with the name of an environment variable`}},
		{
			"a text over many lines hides no line", agent + "instructions = \"\"\"\nworkers = 1\n[llm]\n\"\"\"\nmodle = \"m\"",
			[]string{`:7: [agents.a]: modle: there is no such setting, did you mean model?`},
		},
		{
			"many mistakes, in the order of their lines", "data_dir = \"\"\n[llm]\nmodel = 1\n[defaults.compaction]\nnotify = \"loud\"\nenabled = 1",
			[]string{
				`:1: data_dir = "": must name a folder`,
				`:3: [llm]: model: must be a text in quotes`,
				`:5: [defaults.compaction]: notify = loud: must be "off", "reaction" or "message"`,
				`:6: [defaults.compaction]: enabled: must be true or false`,
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) { refused(t, test.text, test.want...) })
	}
}

func TestMisplacedSettings(t *testing.T) {
	for text, want := range map[string]string{
		"background_threshold = 0.7":    `:1: background_threshold: does not belong here, but under [defaults.compaction]`,
		"[llm]\ncontext_window = 16000": `:2: [llm]: context_window: does not belong here, but under [[agents]]`,
		"[llm]\nworkers = 2":            `:2: [llm]: workers: does not belong here, but at the top, above the first table`,
		"[compaction]\nkeep_first = 1":  `:1: compaction: does not belong here, but as [defaults.compaction]`,
		"[llm.discord]\ntoken = \"a\"":  `:1: [llm]: discord: does not belong here, but as [discord]`,
		"[llm]\noutput = 1":             `:2: [llm]: output: does not belong here, but under [prices."MODEL"]`,
	} {
		t.Run(text, func(t *testing.T) { refused(t, text, want) })
	}
}

// refused checks for these errors of a settings file, in this order; each is the beginning of a
// line, without the file's name. No text that contains "hush" may be shown.
func refused(t *testing.T, text string, want ...string) {
	t.Helper()
	file := writeSettings(t, text)
	_, err := Load(file)
	check.Require(t, err != nil, "the settings were accepted")
	var wrong *Error
	check.That(t, errors.As(err, &wrong), "got a %T", err)
	got := strings.Split(err.Error(), "\n")
	check.Len(t, "result", got, len(want))
	for i, line := range got {
		if line = strings.TrimPrefix(line, file); !strings.HasPrefix(line, want[i]) {
			t.Errorf("got  %s\nwant %s", line, want[i])
		}
	}
	check.Lacks(t, "the error shows a secret", err.Error(), "hush")
}
