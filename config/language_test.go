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
