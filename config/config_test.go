package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
)

func writeSettings(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	check.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestShippedSettings(t *testing.T) {
	const file = "../config.toml"
	s := check.Must(Load(file))(t)
	want := Default()
	want.File = file
	want.DataDir = "../data" // of the file's folder

	s.text, s.set = nil, nil
	t.Run("the file in the root is the one that is built in", func(t *testing.T) {
		check.Equal(t, "run `go generate ./config", string(check.Must(os.ReadFile(file))(t)), shipped)
	})
	t.Run("they are the defaults", func(t *testing.T) {
		check.That(t, reflect.DeepEqual(s, want), "config.toml has\n%+v\nwant\n%+v", s, want)
	})
}

func TestReference(t *testing.T) {
	known := map[string]Setting{}
	for _, setting := range Reference() {
		if setting.Description == "" && !strings.HasPrefix(setting.Key, "slack.") { // explained under [discord]
			t.Errorf("config.toml does not explain %s", setting.Key)
		}
		if _, twice := known[setting.Key]; twice {
			t.Errorf("config.toml shows %s twice", setting.Key)
		}
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
			if _, shown := known[key]; !shown {
				t.Errorf("config.toml does not show %s", key)
			}
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
			table := parent(setting.Key)
			text := fmt.Sprintf("%s = %s1\n", base(setting.Key), found[2])
			if table == "agents" {
				text = "[[agents]]\nid = \"a\"\n" + text
			} else if table == "tools" {
				text = "[[tools]]\nid = \"a\"\ncommand = \"a\"\n" + text
			} else if table != "" {
				text = "[" + table + "]\n" + text
			}
			_, err := Parse("f", []byte(text))
			if err == nil || !strings.Contains(err.Error(), " to "+found[2]) || found[1] != "" && !strings.Contains(err.Error(), "from "+found[1]+" to") {
				t.Errorf("%s: described as %q, but %s gives %v", setting.Key, setting.Description, text, err)
			}
			checked++
		}
		check.That(t, checked >= 20, "got only %d ranges", checked)
	})
	t.Run("what needs a restart says so", func(t *testing.T) {
		if s := known["discord.token"]; !s.Restart || strings.Contains(s.Description, "restart") {
			t.Errorf("got %+v", s)
		}
		check.That(t, !known["respond"].Restart && !known["agents.model"].Restart, "settings that need none")
	})
}

// keysOf lists the paths of all settings in a table.
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

func TestEveryPolicyFieldHasAKey(t *testing.T) {
	policy := reflect.TypeFor[compactor.Policy]()
	check.Equal(t, "settable fields of the policy", len(keysOf("", policy)), policy.NumField())
}

func TestInheritance(t *testing.T) {
	s, err := Load(writeSettings(t, `
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
`))
	check.NoError(t, err)
	small, large := s.Agents[0].Compaction, s.Agents[1].Compaction
	t.Run("an agent's own value wins, zero included", func(t *testing.T) {
		if small.BackgroundThreshold != 0.70 || small.KeepLastN != 0 || !large.ExtractMemories {
			t.Errorf("got %v, %d and %t", small.BackgroundThreshold, small.KeepLastN, large.ExtractMemories)
		}
	})
	t.Run("what an agent leaves out comes from the file's defaults", func(t *testing.T) {
		if small.ExtractMemories || large.BackgroundThreshold != 0.75 || large.KeepLastN != 9 {
			t.Errorf("got %t, %v and %d", small.ExtractMemories, large.BackgroundThreshold, large.KeepLastN)
		}
	})
	t.Run("what the file leaves out is built in", func(t *testing.T) {
		check.Equal(t, "aggressive_threshold of a small window", small.AggressiveThreshold, compactor.DefaultPolicy().AggressiveThreshold)
		check.Equal(t, "max_output_tokens of the first agent", s.Agents[0].MaxOutputTokens, 4096)
	})
	t.Run("one agent's values do not reach another", func(t *testing.T) {
		if s.Agents[1].ContextWindow != 0 || s.Agents[0].MaxOutputTokens == 100 {
			t.Errorf("got window %d and %d output tokens, want 0 and not 100", s.Agents[1].ContextWindow, s.Agents[0].MaxOutputTokens)
		}
	})
	t.Run("the first agent answers", func(t *testing.T) {
		check.Equal(t, "result", s.AgentFor("discord:1/2"), "small")
	})
}

func TestSettingsFiles(t *testing.T) {
	t.Run("a file that is named must be there", func(t *testing.T) {
		_, err := Load(filepath.Join(t.TempDir(), "none.toml"))
		check.Error(t, err, fs.ErrNotExist)
	})
	t.Run("without a file the defaults hold", func(t *testing.T) {
		t.Chdir(t.TempDir())
		s, err := Load("")
		check.That(t, err == nil && reflect.DeepEqual(s, Default()), "got %+v, %v", s, err)
	})
	t.Run("config.toml is read unasked", func(t *testing.T) {
		t.Chdir(filepath.Dir(writeSettings(t, "workers = 7")))
		check.Equal(t, "workers", check.Must(Load(""))(t).Workers, 7)
	})
	t.Run("paths in a file are relative to it", func(t *testing.T) {
		file := writeSettings(t, "[llm]\napi_key = \"file:key\"\n[defaults.compaction]\nprompt_file = \"prompt.md\"")
		dir := filepath.Dir(file)
		for name, text := range map[string]string{"key": "sk-1\n", "prompt.md": "Be brief."} {
			check.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		s := check.Must(Load(file))(t)
		if key, plain, err := s.modelKey(s.LLM.APIKey); key != "sk-1" || plain || err != nil {
			t.Errorf("got key %q, %v", key, err)
		}
		got, _ := ReadPrompt(s.Path(s.Defaults.Compaction.PromptFile))
		check.Equal(t, "prompt", got, "Be brief.")
	})
}
