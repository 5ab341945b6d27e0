package postgres

import (
	"fmt"
	"testing"

	"cairn/testkit/check"
)

func TestParse(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	for address, want := range map[string]struct {
		encrypted string // the name that the server must prove; "-": any; "": connections are not encrypted
		shown     string
		password  string
		warning   bool
	}{
		"postgres://ann@db.example/bot":                              {"db.example", "postgres://ann@db.example:5432/bot", "", false},
		"postgresql://ann:rose@db.example:6000/bot?":                 {"db.example", "postgres://ann@db.example:6000/bot", "rose", false},
		"postgres://ann@10.0.0.1/bot?connect_timeout=3":              {"10.0.0.1", "postgres://ann@10.0.0.1:5432/bot", "", false},
		"postgres://ann@localhost,db.example/bot":                    {"localhost", "postgres://ann@localhost:5432,db.example:5432/bot", "", false},
		"postgres://ann@a.example,b.example:6000/bot?sslmode=prefer": {"-", "postgres://ann@a.example:5432,b.example:6000/bot", "", true},
		"postgres://ann@/bot?host=/run/a,/run/b":                     {"", "postgres://ann@/bot?host=/run/a,/run/b", "", false},
		"postgres://ann:r%40se@localhost/bot":                        {"", "postgres://ann@localhost:5432/bot", "r@se", false},
		"postgres://ann@127.0.0.1/bot?password=rose":                 {"", "postgres://ann@127.0.0.1:5432/bot", "rose", false},
		"postgres://ann@[::1]/bot":                                   {"", "postgres://ann@[::1]:5432/bot", "", false},
		"postgres://ann@/bot?host=/run/postgresql":                   {"", "postgres://ann@/bot?host=/run/postgresql", "", false},
		"postgres://ann@db.example/bot?sslmode=disable":              {"", "postgres://ann@db.example:5432/bot", "", false},
		"postgres://ann@db.example/bot?sslmode=require":              {"-", "postgres://ann@db.example:5432/bot", "", false},
		"postgres://ann@db.example/bot?sslmode=prefer":               {"-", "postgres://ann@db.example:5432/bot", "", true},
		"postgres://ann@db.example/bot?sslmode=allow":                {"", "postgres://ann@db.example:5432/bot", "", true},
		"postgres://ann@localhost/bot?sslmode=prefer":                {"-", "postgres://ann@localhost:5432/bot", "", false},
		"postgres://ann@db.example/bot?sslmode=verify-full&x_y=rose": {"db.example", "postgres://ann@db.example:5432/bot", "", false},
	} {
		a, err := Parse(address)
		check.NoError(t, err)
		encrypted := ""
		if c := a.config.TLSConfig; c != nil {
			encrypted = "-"
			if !c.InsecureSkipVerify {
				encrypted = c.ServerName
			}
		}
		check.Equal(t, address+": encryption", encrypted, want.encrypted)
		check.Equal(t, address+": shown as", a.String(), want.shown)
		check.Equal(t, address+": password", a.Password(), want.password)
		check.Equal(t, address+": warning", a.Warning() != "", want.warning)
		for _, other := range a.config.Fallbacks {
			check.That(t, want.warning || a.mode == "prefer" || other.TLSConfig != nil || encrypted == "", "%s: another attempt is not encrypted", address)
		}
	}
	t.Setenv("PGSSLMODE", "require")
	a, err := Parse("postgres://ann@db.example/bot")
	check.NoError(t, err)
	check.Equal(t, "the mode of the environment", a.mode, "require")
	for _, wrong := range []string{"", "ann@host/bot", "host=db.example user=ann", "https://db.example", "postgres://ann@host:port/bot", "postgres://ann@host/bot?sslmode=sure"} {
		_, err := Parse(wrong)
		check.That(t, err != nil, "%q can be read", wrong)
	}
	for _, password := range []string{"ro@hush", "12/hush", "12?hush", "12#hush", "ro:hush/", "%zz-hush", "[hush]", "ro hush"} {
		a, err := Parse("postgres://ann:" + password + "@host/bot")
		check.Lacks(t, "with the password "+password, fmt.Sprint(a, err), "hush")
		check.That(t, err != nil || a.Password() == password, "the password %s was read as %s", password, a.Password())
	}
}
