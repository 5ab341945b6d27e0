package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/task"
	"cairn/compactor"
	"cairn/internal/hooks"
	"cairn/testkit/check"
	"cairn/testkit/wordstest"
)

func writeSettings(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	check.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestShippedSettings(t *testing.T) {
	const file = "../config.toml"
	check.That(t, string(check.Must(os.ReadFile(file))(t)) == shipped, "config.toml differs from config/config.toml, run: go generate ./config")
	check.Equal(t, "data folder", check.Must(Load(file))(t).DataDir, "../data") // of the file's folder
	s := Default()
	agent := s.Agents[0]
	check.Equal(t, "policy", fmt.Sprint(s.Defaults.Compaction, agent.Compaction), fmt.Sprint(compactor.DefaultPolicy(), compactor.DefaultPolicy()))
	for name, is := range map[string]bool{ // of packages that also work without settings
		"catch_up": time.Duration(s.CatchUp) == channel.DefaultCatchUp, "workers": s.Workers == channel.DefaultWorkers,
		"language": s.Language == channel.DefaultLanguage, "hooks.timeout": time.Duration(s.Hooks.Timeout) == hooks.DefaultTimeout,
		"tasks_per_message": agent.TasksPerMessage == task.DefaultPerMessage,
		"task_calls":        agent.TaskCalls == task.DefaultCalls, "task_time": time.Duration(agent.TaskTime) == task.DefaultTime,
	} {
		check.That(t, is, "%s has another default", name)
	}
	check.EqualAll(t, "restricted", s.Restricted, defaultRestricted())
}

func TestReference(t *testing.T) {
	known := map[string]Setting{}
	for _, setting := range Reference() {
		explained := setting.Description != "" || strings.HasPrefix(setting.Key, "slack.") // as under [discord]
		check.That(t, explained && known[setting.Key].Key == "", "config.toml shows %s twice or does not explain it", setting.Key)
		known[setting.Key] = setting
	}
	t.Run("config.toml shows every setting and no other", func(t *testing.T) {
		keys := slices.Concat(
			keysOf("", reflect.TypeFor[Settings]()), keysOf("agents", reflect.TypeFor[Agent]()), keysOf("prices", reflect.TypeFor[Price]()),
			keysOf("bindings", reflect.TypeFor[Binding]()), keysOf("providers", reflect.TypeFor[Provider]()),
			keysOf("tools", reflect.TypeFor[ToolServer]()),
		)
		keys = slices.DeleteFunc(keys, func(key string) bool { return key == "prices" || strings.HasPrefix(key, "agents.compaction.") })
		for _, key := range keys {
			check.That(t, known[key].Key != "", "config.toml does not show %s", key)
		}
		check.Equal(t, "config.toml shows", len(known), len(keys))
	})
	t.Run("a range in a description is the one that is checked", func(t *testing.T) {
		bounds := regexp.MustCompile(`(?:^|[;,] |else )(?:at most 1/20 of the window; |0: none; |0 is no limit, else |)(?:([0-9]+) )?to ([0-9]+)$`)
		checked := 0
		for _, setting := range Reference() {
			found := bounds.FindStringSubmatch(setting.Description)
			if found == nil || strings.HasPrefix(setting.Key, "prices.") {
				continue
			}
			needed := map[string]string{"[[agents]]": "id = \"a\"\n", "[[tools]]": "id = \"a\"\ncommand = \"a\"\n"}[setting.table]
			text := fmt.Sprintf("%s\n%s%s = %s1\n", setting.table, needed, base(setting.Key), found[2])
			err := check.ErrorOf(Parse("f", []byte(text)))
			check.ErrorContains(t, setting.Key+": "+setting.Description, err, strings.TrimPrefix("from "+found[1]+" to ", "from  ")+found[2])
			checked++
		}
		check.That(t, checked >= 20, "got only %d ranges", checked)
	})
	policy := reflect.TypeFor[compactor.Policy]()
	check.Equal(t, "settable fields of the policy", len(keysOf("", policy)), policy.NumField())
	token := known["discord.token"]
	check.That(t, token.Restart && !strings.Contains(token.Description, "restart"), "got %+v", token)
	check.That(t, !known["respond"].Restart && !known["agents.model"].Restart, "settings that need no restart do")
}

func keysOf(path string, table reflect.Type) (keys []string) {
	for _, field := range reflect.VisibleFields(table) {
		key := strings.TrimPrefix(path+"."+field.Tag.Get("toml"), ".")
		switch {
		case field.Tag.Get("toml") == "":
		case field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() == reflect.Struct: // shown apart
		case field.Type.Kind() == reflect.Struct:
			keys = append(keys, keysOf(key, field.Type)...)
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

func TestInheritance(t *testing.T) {
	s := check.Must(Load(writeSettings(t, `
[defaults.compaction]
background_threshold = 0.75
keep_last_n = 9
extract_memories = false

[[agents]]
id = "small"
context_window = 32000
[agents.compaction]
background_threshold = 0.70
keep_last_n = 0

[[agents]]
id = "large"
max_output_tokens = 100
[agents.compaction]
extract_memories = true
`)))(t)
	small := s.Agents[0].Compaction
	large := s.Agents[1].Compaction
	check.Equal(t, "an agent's own values, zero included", fmt.Sprint(small.BackgroundThreshold, small.KeepLastN, large.ExtractMemories), "0.7 0 true")
	check.Equal(t, "the file's defaults", fmt.Sprint(small.ExtractMemories, large.BackgroundThreshold, large.KeepLastN), "false 0.75 9")
	check.Equal(t, "what is built in", small.AggressiveThreshold, compactor.DefaultPolicy().AggressiveThreshold)
	check.Equal(t, "windows and output, of one agent alone", fmt.Sprint(s.Agents[0].ContextWindow, s.Agents[0].MaxOutputTokens, s.Agents[1].ContextWindow, s.Agents[1].MaxOutputTokens), "32000 4096 0 100")
	check.Equal(t, "the agent that answers", s.AgentFor("discord:1/2"), "small")
}

func TestSettingsFiles(t *testing.T) {
	check.Error(t, check.ErrorOf(Load(filepath.Join(t.TempDir(), "none.toml"))), fs.ErrNotExist) // it was named
	t.Chdir(t.TempDir())
	s := check.Must(Load(""))(t)
	check.That(t, reflect.DeepEqual(s, Default()), "got %+v without a file", s)
	file := writeSettings(t, "workers = 7\n[llm]\napi_key = \"file:key\"\n[defaults.compaction]\nprompt_file = \"prompt.md\"\n[[providers]]\nid = \"p\"\nbase_url = \"http://p.test/v1\"\napi_key = \"env:PATH\"\n[discord]\ntoken = \"file:token\"\n")
	dir := filepath.Dir(file)
	for name, text := range map[string]string{"key": "sk-1\n", "token": " hush\n", "prompt.md": "Be brief."} {
		check.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	s = check.Must(Load(file))(t) // paths are relative to it
	check.Len(t, "warnings of keys that are not in the file", s.Warnings, 0)
	key, plain, err := s.Resolve(s.LLM.APIKey)
	check.That(t, key == "sk-1" && !plain && err == nil, "got key %q, %v", key, err)
	t.Setenv(discordTokenVariable, "of the environment")
	check.Equal(t, "token", check.Must(s.DiscordToken())(t), "hush")
	check.That(t, slices.Contains(s.Secrets(), "hush") && slices.Contains(s.Secrets(), "sk-1"), "a secret in a file is not masked")
	check.Equal(t, "prompt", check.Must(ReadPrompt(s.Path(s.Defaults.Compaction.PromptFile)))(t), "Be brief.")
	t.Chdir(dir)
	check.Equal(t, "workers, unasked", check.Must(Load(""))(t).Workers, 7)
}

// An address need not be valid, and an "@" may stand in its path or query.
func TestMaskAddress(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.org/v1":                         "https://example.org/v1",
		"https://ada:plain@example.org/v1":               "https://example.org/v1",
		"ada:plain@example.org/v1":                       "[masked]",
		"https://ada:pl/ain@example.org/v1":              "[masked]",
		"https://ada:pl?ain@example.org/v1":              "[masked]",
		"https://example.org/v1?as=ada@example.com&k=pl": "https://example.org/v1",
		"https://example.org/v1#ada@example.com&k=pl":    "https://example.org/v1",
		"https://ada:p@example.org/v1?as=b@c.org&k=pl":   "https://example.org/v1",
	} {
		check.Equal(t, address, MaskAddress(address), want)
	}
}

// A password stands before the "@" of an address, or a token does, without a name.
func TestSecretsOfAddresses(t *testing.T) {
	t.Setenv(OpenAI.URL, "https://from-variable@example.org/v1")
	s := check.Must(Load(writeSettings(t, `
[llm]
base_url = "https://ada:of-model@example.org/v1"
[discord]
api_base = "https://of-discord@example.org/a"
[[agents]]
id = "a"
base_url = "https://of-agent@example.org/v1"
`)))(t)
	for _, secret := range []string{"from-variable", "of-model", "of-discord", "of-agent"} {
		check.That(t, slices.Contains(s.Secrets(), secret), "%s is not a secret", secret)
	}
}

func TestChangedShowsEveryFieldOfThePolicy(t *testing.T) {
	for i, key := range compactor.Keys() {
		s := Default()
		field := reflect.ValueOf(&s.Defaults.Compaction).Elem().Field(i)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(!field.Bool())
		case reflect.String:
			field.SetString("other")
		case reflect.Float64:
			field.SetFloat(0.123)
		default:
			field.SetInt(field.Int() + 1)
		}
		check.EqualAll(t, "changed", s.Changed(), []string{"defaults.compaction." + key})
	}
	// Every field of the policy of a new agent is a setting that no one wrote.
	one := check.Must(Parse("f", []byte("[[agents]]\nid = \"one\"\n")))(t)
	two := check.Must(Parse("f", []byte("[[agents]]\nid = \"one\"\nmodel = \"m\"\n[[agents]]\nid = \"two\"\n")))(t)
	check.EqualAll(t, "a new agent", ChangedKeys(&one, &two), []string{"agents", "agents.one.model"})
	check.EqualAll(t, "an agent that is gone", ChangedKeys(&two, &one), []string{"agents", "agents.one.model"})
}

// TestMistakes loads the settings files of testdata/mistakes. A remark that begins with "!" is the
// beginning of the error of its line, without the file's name and the number; "!!" is between two
// errors. Other lines have none.
func TestMistakes(t *testing.T) {
	environment(t, nil)
	files := check.Must(filepath.Glob("testdata/mistakes/*.toml"))(t)
	check.Len(t, "files", files, 19)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var want []string
			for i, line := range strings.Split(string(check.Must(os.ReadFile(file))(t)), "\n") {
				if _, remark, found := strings.Cut(line, "#! "); found {
					for one := range strings.SplitSeq(remark, " !! ") {
						want = append(want, fmt.Sprintf(":%d: %s", i+1, one))
					}
				}
			}
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

// FuzzSettings parses any settings: they are rejected, each error with a message and an existing
// line, or they are as valid as the defaults.
func FuzzSettings(f *testing.F) {
	whole := check.Must(os.ReadFile("../config.toml"))(f)
	f.Add(string(whole))
	f.Add(strings.NewReplacer("# ", "", "#", "").Replace(string(whole)))
	for _, text := range []string{
		"a = 1", "[defaults.compaction]\nbackground_threshold = 80", "[[agents]]\nid = \"x\"\n[[agents]]\nid = \"x\"", "[[agents]]\n[agents.compaction]\nkeep_last_n = -1",
		"x = [[[[[[[[", "\xff", "defaults = 1", "agents = 5", "[llm]\napi_key = \"file:/dev/null\"", "a.b.c.d = {e = {f = [1, {g = 2}]}}", "[discord]\nowners = [1]", "\"\" = 1",
	} {
		f.Add(text)
	}
	for _, text := range wordstest.Texts() {
		f.Add("[[agents]]\nid = \"" + text + "\"\ninstructions = '''" + text + "'''")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "file:") || strings.Contains(text, "_file") { // named files are read
			return
		}
		s, err := Parse("config.toml", []byte(text))
		if err == nil {
			for _, a := range s.Agents {
				check.Len(t, text+" is accepted; faults", a.Compaction.Validate(), 0)
			}
			_ = s.Changed()
			return
		}
		wrong, _ := errors.AsType[*Error](err)
		check.Require(t, wrong != nil && len(wrong.Problems) > 0, "%q: %v", text, err)
		for _, fault := range wrong.Problems {
			check.Require(t, fault.Text != "" && fault.Line >= 0 && fault.Line <= strings.Count(text, "\n")+1, "%q: %+v", text, fault)
		}
	})
}
