package secrets

import (
	"encoding/base64"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"cairn/internal/check"
	"cairn/words/wordstest"
)

// The secrets of these tests are not real: they are assembled here, so that no scanner reports
// them.
const (
	keyOpens  = "-----BEGIN "
	keyCloses = "-----END "
	keyLine   = "-----"
)

var (
	alnum     = strings.Repeat("aB3dE5gH", 20)
	ofBot     = base64.RawURLEncoding.EncodeToString([]byte("1184388764712384512")) + ".Ga" + "Bc1D." + alnum[:38]
	webToken  = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"1234567890"}`)) + "." + alnum[:43]
	pemBody   = alnum[:64] + "\n" + alnum[:64] + "\n" + alnum[:20] + "=="
	pemOpens  = keyOpens + "RSA PRIVATE KEY-----\n"
	pemCloses = "\n" + keyCloses + "RSA PRIVATE KEY-----"
)

func TestMaskInPart(t *testing.T) {
	for name, c := range map[string][2]string{
		"a password in a URL":         {"see postgres://ada:s3cr3t!@db.example.org:5432/x", "see postgres://ada:[masked: password]@db.example.org:5432/x"},
		"a password with an @":        {"amqp://u:p@ss@mq/v", "amqp://u:[masked: password]@mq/v"},
		"a password without a user":   {"redis://:hunter2@cache:6379/0", "redis://:[masked: password]@cache:6379/0"},
		"two URLs":                    {"a://b:c@d e://f:g@h", "a://b:[masked: password]@d e://f:[masked: password]@h"},
		"a token as a password":       {"https://x:" + "ghp_" + alnum[:36] + "@github.com/a/b.git", "https://x:[masked: password]@github.com/a/b.git"},
		"a token as a user":           {"https://" + "ghp_" + alnum[:36] + "@github.com/a/b.git", "https://[masked: github pat]@github.com/a/b.git"},
		"a webhook of Slack":          {"https://hooks.slack.com/services/" + "T0001/B0001/" + alnum[:24], "https://hooks.slack.com/services/[masked: Slack webhook]"},
		"a webhook of Discord":        {"https://discord.com/api/webhooks/81384788765712384/" + alnum[:68], "https://discord.com/api/webhooks/81384788765712384/[masked: Discord webhook]"},
		"AWS's secret key":            {"aws_secret_access_key = " + alnum[:40] + "\nregion = x", "aws_secret_access_key = [masked: AWS key]\nregion = x"},
		"AWS's secret key in JSON":    {`"SecretAccessKey": "` + alnum[:40] + `"`, `"SecretAccessKey": "[masked: AWS key]"`},
		"two keys, one broken off":    {pemOpens + pemBody + pemCloses + " and " + pemOpens + pemBody + " that is all", "[masked: private key] and [masked: private key] that is all"},
		"a certificate before a key":  {keyOpens + "CERTIFICATE-----\nMIIB\n" + keyCloses + "CERTIFICATE-----\n" + pemOpens + pemBody + pemCloses, keyOpens + "CERTIFICATE-----\nMIIB\n" + keyCloses + "CERTIFICATE-----\n[masked: private key]"},
		"many of different kinds":     {"sk-" + alnum[:48] + "," + "xoxb-" + alnum[:20] + ";" + webToken, "[masked: OpenAI key],[masked: Slack token];[masked: web token]"},
		"words about a key around it": {"rotate " + "AKIA" + "Q3T7WZ5NXK2LJ4RB before 2026-03-01", "rotate [masked: aws access token] before 2026-03-01"},
	} {
		check.Equal(t, name, Mask(c[0]), c[1])
	}
}

func TestMaskLeavesAlone(t *testing.T) {
	for _, text := range []string{
		"", " ", "hello",
		"commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904", "8ad8251", // git
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"123e4567-e89b-12d3-a456-426614174000",                              // UUID
		"81384788765712384", "<@81384788765712384>", "#1234567890123456789", // snowflakes
		"€ 1,299.00", "$49.99", "CHF 12'500.-", "1_000_000", // prices
		"https://example.org:8080/a@b", "https://example.org/x?mail=ada@example.org", "http://localhost:11434/v1",
		"https://ada@example.org/x", "ssh://git@github.com:22/a/b.git", "git@github.com:a/b.git", "mailto:ada@example.org",
		"https://example.org:8080?next=a@b", "at 10:30 see https://a.b: c@d",
		"task-management-of-2024-and-more-things", "sk-some-very-long-class-name-of-2024", "desk-aB3dE5gHaB3dE5gHaB3dE5gH",
		"the XOX game", "xoxo-love", "AKIA is a prefix", "BAKIA" + "Q3T7WZ5NXK2LJ4RB", "ghp_ is a prefix",
		"github.com/cairn/cairn/blob/main/README.md", "Module.nested.sub_package_of_a_long_name_that_goes_on", "www.some-very-long-host-name-indeed.museum.with_a_long_ending_after_it",
		"MyVeryLongClassNameInJava.method.anotherVeryLongMethodNameHere", "Nebukadnezar_the_second_of.Babel0.aVeryLongNameThatGoesOnAndOn",
		"eyJ is how JSON begins in base64", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN a story", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "CVE-2026-12345", "PROJ-1234", "v1.26.0-rc.1",
		"my password is in the safe", "secret_access_key is a setting",
	} {
		check.Equal(t, "text", Mask(text), text)
	}
}

func TestMaskTakesTimeInProportion(t *testing.T) {
	check.SkipUnderRace(t)
	for name, piece := range map[string]string{
		"keys that begin":     pemOpens,
		"keys and ends":       keyCloses + pemOpens,
		"URLs that begin":     "a://b:c",
		"one long URL":        "a://b:" + strings.Repeat("c", 100),
		"schemes":             strings.Repeat("a", 50) + ":",
		"web tokens begin":    "eyJaaaaaaaaaa.",
		"openings":            "sk-xoxb-ghp_eyJAKIA",
		"long runs":           "M" + alnum[:25] + ".",
		"blanks after a name": "aws_secret_access_key   ",
	} {
		mask := func(size int) time.Duration {
			text := strings.Repeat(piece, size/len(piece))
			start := busy(t)
			Mask(text)
			return busy(t) - start
		}
		short, long := mask(10_000), mask(40_000)
		// four times as much; its square would be sixteen times
		check.That(t, long <= 10*short+50*time.Millisecond, "%s: 10 kB take %v, 40 kB %v", name, short, long)
	}
}

// busy returns this process's CPU time, whatever else runs on the machine.
func busy(t *testing.T) time.Duration {
	var r syscall.Rusage
	check.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano())
}

func TestMaskIsSteady(t *testing.T) {
	pieces := []string{
		"sk-", "sk-ant-", "xoxb-", "xapp-1-", "ghp_", "github_pat_", "AKIA", "eyJ", ".", "-", "_", "://", "a://b:", "@", ":", " ", "\n", "\\n", `"`, "/",
		alnum[:8], alnum[:40], alnum[:100], ofBot, webToken, keyOpens, "RSA PRIVATE KEY-----", keyCloses, keyLine, pemBody, "[masked: password]", "é", "\xff", "鍵",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		holdMask(t, text)
	})
}

func FuzzMask(f *testing.F) {
	for _, text := range []string{"", "sk-" + alnum[:48], ofBot, webToken, pemOpens + pemBody + pemCloses, pemOpens, "a://b:c@d", "\xff://:\xff@"} {
		f.Add(text)
	}
	for _, text := range wordstest.Texts() {
		f.Add(text + alnum)
	}
	f.Fuzz(func(t *testing.T, text string) { holdMask(t, text) })
}

// holdMask checks Mask's promises for any text.
func holdMask(t check.Tester, text string) {
	once := Mask(text)
	check.Equal(t, "what is masked twice", Mask(once), once)
	check.Require(t, !utf8.ValidString(text) || utf8.ValidString(once), "%q: got invalid text %q", text, once)
	check.Require(t, strings.Contains(once, "[masked: ") || once == text, "%q: got %q", text, once)
	check.Lacks(t, "what is masked", once, " "+webToken, " "+ofBot, pemOpens+pemBody)
}
