package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cairn/testkit/check"
)

func TestStoreAddress(t *testing.T) {
	t.Setenv("CAIRN_STORE", "postgres://ann:of-variable@db.example/bot")
	t.Setenv("PGPASSWORD", "of-postgres")
	t.Setenv("PGSSLMODE", "")
	for text, want := range map[string]struct{ address, secret, warning string }{
		`store = ""`: {"", "of-postgres", ""},
		`store = "postgres://ann@db.example/bot"`:                {"postgres://ann@db.example/bot", "of-postgres", ""},
		`store = "env:CAIRN_STORE"`:                              {"postgres://ann:of-variable@db.example/bot", "of-variable", ""},
		`store = "file:address"`:                                 {"postgres://ann@db.example/bot?password=of-file", "of-file", ""},
		`store = "postgres://ann:in-plain@db.example/bot"`:       {"postgres://ann:in-plain@db.example/bot", "in-plain", "store: the password is in this file in plain text"},
		`store = "postgres://ann@db.example/bot?sslmode=prefer"`: {"postgres://ann@db.example/bot?sslmode=prefer", "of-postgres", "store: sslmode=prefer falls back"},
	} {
		file := writeSettings(t, text)
		check.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "address"), []byte("postgres://ann@db.example/bot?password=of-file\n"), 0o600))
		s := check.Must(Load(file))(t)
		check.Equal(t, text, check.Must(StoreAddress(&s))(t), want.address)
		check.That(t, slices.Contains(s.Secrets(), want.secret), "%s: %s is not a secret", text, want.secret)
		check.That(t, !slices.Contains(s.Secrets(), "ann"), "%s: the user is a secret", text)
		var warnings string
		for _, w := range s.Warnings {
			warnings += w.Text
		}
		check.HasPrefix(t, text, warnings, want.warning)
		check.Equal(t, text+": whether it warns", warnings != "", want.warning != "")
	}
}
