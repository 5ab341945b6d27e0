package config

import (
	"os"
	"testing"

	"cairn/testkit/check"
)

func TestEdit(t *testing.T) {
	const main = "[llm]\nwire = \"messages\"\nmodel = \"main\"\n"
	for name, test := range map[string]struct {
		before, after string
		values        []Value
		changed       []string
	}{
		"a new file": {
			"", "[llm]\nbase_url = \"http://a.test/v1\"\n\n[discord]\nmessage_content = false\n",
			[]Value{{"llm.base_url", "http://a.test/v1"}, {"llm.model", "main"}, {"discord.message_content", false}, {"discord.api_base", ""}},
			nil,
		},
		"values in their lines, with the comments": {
			"# mine\n[llm] # the model\n  model   = 'old' # of \"Ada\"\n\n# the rest\n[slack]\nreply_in = \"thread\"\n",
			"# mine\n[llm] # the model\n  model   = \"new # \\\"1\\\"\" # of \"Ada\"\n\n# the rest\n[slack]\nreply_in = \"thread\"\n",
			[]Value{{"llm.model", `new # "1"`}},
			[]string{"llm.model"},
		},
		"a key under the header of its table, before its comments": {
			"[llm]\n# my own\nmodel = \"old\"\n", "[llm]\nbase_url = \"http://a.test/v1\"\n# my own\nmodel = \"old\"\n",
			[]Value{{"llm.base_url", "http://a.test/v1"}},
			nil,
		},
		"a value that the settings file would set again": {
			"", "[llm]\nwire = \"auto\"\n", []Value{{"llm.wire", "auto"}}, nil,
		},
		"a key at the top, under the head": {
			"# head\n\n[llm]\nmodel = \"old\"\n", "# head\ndata_dir = \"/d\"\n\n[llm]\nmodel = \"old\"\n",
			[]Value{{"data_dir", "/d"}},
			nil,
		},
		"a key with a dot": {
			"llm.model = \"old\"\r\nworkers = 2\r\n", "llm.model = \"new\"\r\nworkers = 2\r\n", []Value{{"llm.model", "new"}}, []string{"llm.model"},
		},
		"a true that becomes false": {
			"[discord]\nmessage_content=true#yes", "[discord]\nmessage_content=true#yes", []Value{{"discord.message_content", true}}, nil,
		},
		"a value that is emptied": {
			"[llm]\napi_key = \"env:PATH\"\n", "[llm]\napi_key = \"\"\n", []Value{{"llm.api_key", ""}}, []string{"llm.api_key"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			edited := check.Must(Edit(bothFiles(t, main, test.before), test.values...))(t)
			check.Equal(t, "text", edited.Text, test.after)
			check.EqualAll(t, "changed", edited.Changed, test.changed)
		})
	}
	for name, before := range map[string]string{
		"an inline table":            "llm = { model = \"old\" }\n",
		"a text over several lines":  "[llm]\nmodel = \"\"\"\nold\"\"\"\n",
		"a header inside of a text":  "health = \"\"\"\n[llm]\n\"\"\"\n",
		"a key of one like a header": "[llm]\n\"model\" = '''old'''\n",
	} {
		t.Run("is refused for "+name, func(t *testing.T) {
			check.ErrorContains(t, "edit", check.ErrorOf(Edit(bothFiles(t, main, before), Value{"llm.model", "new"})), `in a form that setup cannot edit: set llm.model = "new" there by hand`)
		})
	}
	t.Run("is refused for files that are not valid", func(t *testing.T) {
		file := bothFiles(t, "[llm\n", "[slack\n")
		beginsWith(t, file, check.ErrorOf(Edit(file)), "M:2: this is not valid\nL:2: this is not valid")
	})
	t.Run("repairs a value that has a mistake", func(t *testing.T) {
		file := bothFiles(t, "", "[llm]\nbase_url = 5\napi_key = \"file:gone\" # a file\n")
		edited := check.Must(Edit(file, Value{"llm.base_url", "http://a.test/v1"}, Value{"llm.api_key", ""}))(t)
		check.NoError(t, os.WriteFile(LocalFile(file), []byte(edited.Text), 0o600))
		check.NoError(t, check.ErrorOf(Load(file)))
		check.Contains(t, "text", edited.Text, "api_key = \"\" # a file")
	})
}
