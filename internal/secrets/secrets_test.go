package secrets

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"cairn/internal/check"
	"cairn/words/wordstest"
)

// The secrets of these tests are not real: they are assembled here, so that no scanner reports them.
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

// random generates tokens as random as real ones, the same in each run.
type random struct{ *rand.Rand }

const (
	digits  = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	letters = lower + upper
	base62  = letters + digits
	hex     = digits + "abcdef"
	base32  = upper + "234567"
)

func (r random) of(alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

// kinds are keys in their services' formats, one of each kind, after required context and a "~".
func kinds(r random) map[string]string {
	return map[string]string{
		"OpenAI, old":            "sk-" + r.of(base62, 20) + "T3BlbkFJ" + r.of(base62, 20),
		"OpenAI, of a project":   "sk-proj-" + r.of(base62+"_-", 74) + "T3BlbkFJ" + r.of(base62, 74),
		"OpenAI, of a service":   "sk-svcacct-" + r.of(base62, 60),
		"OpenRouter":             "sk-or-v1-" + r.of(hex, 64),
		"DeepSeek":               "sk-" + r.of(hex, 32),
		"Anthropic":              "sk-ant-api03-" + r.of(base62, 93) + "AA",
		"Groq":                   "gsk_" + r.of(base62, 52),
		"Perplexity":             "pplx-" + r.of(base62, 48),
		"Replicate":              "r8_" + r.of(base62, 37),
		"xAI":                    "xai-" + r.of(base62, 80),
		"NVIDIA":                 "nvapi-" + r.of(base62+"_-", 63) + "a",
		"Hugging Face":           "hf_" + r.of(letters, 34),
		"Google key":             "AIza" + r.of(base62, 35),
		"Google client secret":   "GOCSPX-" + r.of(base62+"_-", 27) + "b",
		"Google access token":    "ya29.a0" + r.of(base62+"_-", 150) + "c",
		"Slack, bot":             "xoxb-" + r.of("123456789", 12) + "-" + r.of("123456789", 13) + "-" + r.of(base62, 24),
		"Slack, user":            "xoxp-" + r.of("123456789", 12) + "-" + r.of(digits, 12) + "-" + r.of(digits, 12) + "-" + r.of(hex, 32),
		"Slack, rotating":        "xoxe.xoxp-1-" + r.of(base62, 160),
		"Slack, app":             "xapp-1-A" + r.of(digits, 9) + "-" + r.of(digits, 13) + "-" + r.of(hex, 64),
		"Discord, bot":           ofBot,
		"Discord, person":        "mfa." + r.of(base62+"_-", 83) + "d",
		"Telegram":               r.of("123456789", 10) + ":AA" + r.of(base62, 33),
		"GitHub, classic":        "ghp_" + r.of(base62, 36),
		"GitHub, fine":           "github_pat_" + r.of(base62, 22) + "_" + r.of(base62, 59),
		"AWS, id":                "AKIA" + r.of(base32, 16),
		"AWS, for a session":     "ASIA" + r.of(base32, 16),
		"Stripe":                 "sk_" + "live_" + r.of(base62, 24),
		"Stripe, restricted":     "rk_" + "live_" + r.of(base62, 24),
		"Stripe, webhook":        "whsec_" + r.of(base62, 32),
		"SendGrid":               "SG." + r.of(base62, 22) + "." + r.of(base62, 43),
		"npm":                    "npm_" + r.of(base62, 36),
		"PyPI":                   "pypi-AgEIcHlwaS5vcmc" + r.of(base62, 120),
		"Docker":                 "dckr_pat_" + r.of(base62, 27),
		"DigitalOcean":           "dop_v1_" + r.of(hex, 64),
		"Vault":                  "hvs." + r.of(base62, 95),
		"Shopify":                "shpat_" + r.of(hex, 32),
		"Tailscale":              "tskey-auth-k" + r.of(base62, 11) + "CNTRL-" + r.of(base62, 32),
		"Notion":                 "ntn_" + r.of(digits, 11) + r.of(base62, 35),
		"Databricks":             "dapi" + r.of(hex, 32),
		"New Relic":              "NRAK-" + r.of(upper+digits, 27),
		"Bearer":                 "Bearer ~" + r.of(base62+"_-", 30) + "7a",
		"a password in settings": "DB_PASSWORD=~" + "hunter2hunter2",
		"JWT":                    webToken,
		"JWT without signature":  webToken[:strings.LastIndexByte(webToken, '.')+1],
		"PEM":                    pemOpens + pemBody + pemCloses,
		"PEM in one line":        strings.ReplaceAll(pemOpens+pemBody+pemCloses, "\n", `\n`),
		"PEM with headers":       pemOpens + "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + pemBody + pemCloses,
		"PEM that breaks off":    pemOpens + pemBody,
		"PGP":                    keyOpens + "PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n" + pemBody + "\n" + keyCloses + "PGP PRIVATE KEY BLOCK-----",
	}
}

func TestKeysOfManyServicesAreMasked(t *testing.T) {
	check.SkipUnderRace(t)
	mark := regexp.MustCompile(`\[masked: [A-Za-z0-9 ]+\]`)
	for name, key := range kinds(random{rand.New(rand.NewPCG(0, 1))}) {
		before, secret, ok := strings.Cut(key, "~")
		if !ok {
			before, secret = "", key
		}
		for _, frame := range [][2]string{{"", ""}, {"use ", "."}, {"KEY: ", "\n- next"}, {"钥匙 ", "。"}, {"(`", "`)"}} {
			got := Mask(frame[0] + before + secret + frame[1])
			rest := mark.ReplaceAllString(got, "")
			want := frame[0] + before + frame[1]
			check.That(t, rest == want || rest+"." == want, "%s: %q: got %q", name, frame[0]+before+secret+frame[1], got)
		}
	}
}

// innocent generates a chat sentence without a secret, which may mention keys, tokens and
// passwords, and contain hashes, identifiers, addresses and code.
func innocent(r random) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	person := func() string {
		return pick("Ada", "Paul", "Marta", "Аня", "José", "小林", "our intern", "the vendor")
	}
	thing := func() string {
		return pick("the key", "my password", "the API token", "that secret", "the access card", "the license key", "our auth flow", "the credentials",
			"the keyboard", "turkey", "the monkey", "the release", "a backup", "the invoice", "dinner")
	}
	place := func() string {
		return pick("in Lisbon", "under the mat", "at https://example.org/a/"+r.of(lower, 6)+"?page="+r.of(digits, 2), "in #general", "on the shelf",
			"at docs.example.com/keys", "in src/auth/token.go", "behind the shed", "in ~/.ssh/config")
	}
	data := func() string {
		return pick("commit "+r.of(hex, 40), "sha256:"+r.of(hex, 64), "UUID "+r.of(hex, 8)+"-"+r.of(hex, 4)+"-4"+r.of(hex, 3)+"-a"+r.of(hex, 3)+"-"+r.of(hex, 12),
			"<@"+r.of("123456789", 18)+">", "order "+r.of(digits, 10), "version 1."+r.of(digits, 2)+".0-rc.1", "CVE-2026-"+r.of(digits, 5), "+49 30 "+r.of(digits, 7),
			"DE"+r.of(digits, 20), "ISBN 978-"+r.of(digits, 10), "10.0."+r.of(digits, 2)+".7:8080", "the checksum "+r.of(hex, 32), "#"+r.of(hex, 6), "2026-11-22T10:"+r.of("012345", 2)+":00Z",
			"`"+pick("getAccessToken", "API_KEY_HEADER", "x.Secret.Rotate", "user_password_hash", "tokenBucketRateLimiter")+"`", "ticket AUTH-"+r.of(digits, 4))
	}
	switch r.IntN(12) {
	case 0:
		return fmt.Sprintf("%s: %s put %s %s", person(), person(), thing(), place())
	case 1:
		return fmt.Sprintf("%s is %s, see %s", thing(), pick("wrong", "expired", "too short", "the same as before", "rotated every day", "unchanged since 1998"), data())
	case 2:
		return fmt.Sprintf("could %s look at %s %s? it says %s", person(), data(), place(), pick("access denied", "invalid token", "password: required", "key not found: "+r.of(lower, 9)))
	case 3:
		return fmt.Sprintf("set %s=%s and restart", pick("API_KEY", "DB_PASSWORD", "token", "SECRET_NAME", "auth"), pick("$TOKEN", "${SECRET}", "<your key>", "xxxxxxxxxxxx", "***", "true", "{{ .Values.key }}"))
	case 4:
		return fmt.Sprintf("I paid %s for %s and %s", pick("€ 1,299.00", "CHF 12'500.-", "1_000_000 sats"), thing(), thing())
	case 5:
		return fmt.Sprintf("the meeting about %s is on %s", thing(), data())
	case 6:
		return fmt.Sprintf(`%s := os.Getenv("%s") // %s`, pick("key", "token", "password", "secret"), pick("OPENAI_API_KEY", "DB_PASSWORD", "SLACK_BOT_TOKEN"), data())
	case 7:
		return fmt.Sprintf("%s, %s", pick("the word of the day is", "translate", "spell", "my cat is called"), pick("Donaudampfschifffahrtsgesellschaft", "antidisestablishmentarianism", "Llanfairpwllgwyngyll", "internationalization"))
	case 8:
		return fmt.Sprintf("key=%s, token: %s", pick("value", "left", "enter", "ctrl-shift-t", "primary"), pick("none yet", "see below", "the one Ada sent", "expired"))
	case 9:
		return fmt.Sprintf("%s asked the bearer of %s to come %s with %s", person(), thing(), place(), data())
	case 10:
		return fmt.Sprintf("git checkout %s && go test ./%s -run Test%s%s", r.of(hex, 12), r.of(lower, 6), pick("Token", "Key", "Secret", "Password"), r.of(upper, 1)+r.of(lower, 7))
	default:
		return fmt.Sprintf("%s said %q about %s", person(), pick("never share your password", "the key is under the mat", "secret santa is on Friday", "api first, ui later"), data())
	}
}

func TestInnocentSentencesAreLeftAlone(t *testing.T) {
	check.SkipUnderRace(t)
	const sentences, most = 600, 1
	r := random{rand.New(rand.NewPCG(7, 7))}
	var masked []string
	for range sentences {
		text := innocent(r)
		if got := Mask(text); got != text {
			masked = append(masked, text+" → "+got)
		}
	}
	check.That(t, len(masked) <= most, "got %d of %d innocent sentences masked:\n%s", len(masked), sentences, strings.Join(masked[:min(len(masked), 20)], "\n"))
}
