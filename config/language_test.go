package config

import (
	"testing"

	"cairn/internal/check"
)

func TestLanguageOfAConversation(t *testing.T) {
	s, err := Load(writeSettings(t, `
language = "auto"
[[agents]]
id = "first"
[[agents]]
id = "librarian"
language = "fr"
[[bindings]]
server = "11"
agent = "librarian"
[[bindings]]
channel = "22"
language = "pt"
[[bindings]]
channel = "22"
language = "zh"
`))
	check.NoError(t, err)
	for _, test := range []struct{ name, conversation, language string }{
		{"a binding overrides the agent", "discord:11/22", "pt"},
		{"a binding without a language leaves it to the agent", "discord:11/33", "fr"},
		{"an agent without a language has that of the settings", "slack:T1/C1", "auto"},
	} {
		if got := LanguageIn(&s, test.conversation); got != test.language {
			t.Errorf("%s: %s: got %q, want %q", test.name, test.conversation, got, test.language)
		}
	}
	if defaults := Default(); LanguageIn(&defaults, "terminal:x") != "en" {
		t.Errorf("got default %q", LanguageIn(&defaults, "terminal:x"))
	}
}

func TestWrongLanguages(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"language = \"german\"", `:1: language = "german": must be one of "auto", "en", "de", "es", "fr", "pt", "ja", "zh"`},
		{"language = \"\"", `:1: language = "": must be one of`},
		{"[[agents]]\nlanguage = \"DE\"", `language = "DE": must be one of`},
		{"[[bindings]]\nlanguage = \"it\"", `language = "it": must be one of`},
	} {
		check.ErrorContains(t, test.text, check.ErrorOf(Load(writeSettings(t, test.text))), test.want)
	}
}
