package config

import (
	"reflect"
	"slices"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
)

// An address need not be valid, and an "@" may stand in its path or query.
func TestShownAddress(t *testing.T) {
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
		check.Equal(t, address, ShownAddress(address), want)
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
		changed := s.Changed()
		check.EqualAll(t, "changed", changed, []string{"defaults.compaction." + key})
	}
}

// Every field of the policy of a new agent is a setting that no one wrote.
func TestChangedKeysOfAnotherAgent(t *testing.T) {
	one := check.Must(Parse("f", []byte("[[agents]]\nid = \"one\"\n")))(t)
	two := check.Must(Parse("f", []byte("[[agents]]\nid = \"one\"\nmodel = \"m\"\n[[agents]]\nid = \"two\"\n")))(t)
	check.EqualAll(t, "a new agent", ChangedKeys(&one, &two), []string{"agents", "agents.one.model"})
	check.EqualAll(t, "an agent that is gone", ChangedKeys(&two, &one), []string{"agents", "agents.one.model"})
}
