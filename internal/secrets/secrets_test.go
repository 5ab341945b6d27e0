package secrets

import (
	"encoding/base64"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"cairn/testkit/check"
	"cairn/testkit/wordstest"
)

// The secrets of these tests are not real: they are assembled here, so that no scanner reports them.
const (
	keyOpens  = "-----BEGIN "
	keyCloses = "-----END "
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

func TestBrokenKeysAreMasked(t *testing.T) {
	key := "sk-ant-" + alnum[:60]
	for name, c := range map[string][2]string{
		"a zero-width space":          {"use " + key[:20] + "\u200b" + key[20:] + " now", "use [masked: Anthropic key] now"},
		"in the prefix":               {"use s\u200bk-ant-" + alnum[:60] + " now", "use [masked: Anthropic key] now"},
		"a soft hyphen":               {key[:30] + "\u00ad" + key[30:], "[masked: Anthropic key]"},
		"several":                     {strings.Join(strings.Split(key, ""), "\u2060"), "[masked: Anthropic key]"},
		"a line break":                {"the key:\n" + key[:40] + "\n" + key[40:] + "\nthanks", "the key:\n[masked: Anthropic key]\nthanks"},
		"line breaks of Windows":      {key[:20] + "\r\n" + key[20:40] + "\r\n" + key[40:], "[masked: Anthropic key]"},
		"a web token over lines":      {webToken[:30] + "\n" + webToken[30:60] + "\n" + webToken[60:], "[masked: web token]"},
		"a key before a word":         {key + "\nthanks", "[masked: Anthropic key]\nthanks"},
		"a key before a name":         {key + "\nservice-account-1", "[masked: Anthropic key]\nservice-account-1"},
		"zero-width without a secret": {"a\u200bword and\nsk8ter-b01", "a\u200bword and\nsk8ter-b01"},
		"emoji of several characters": {"👩\u200d💻 " + key, "👩\u200d💻 [masked: Anthropic key]"},
	} {
		check.Equal(t, name, Mask(c[0]), c[1])
	}
}

func TestMaskLeavesAlone(t *testing.T) {
	r := newRandom(t, 7)
	texts := append(slices.Repeat([]string{"{sentence}"}, 600), r.texts["innocent"]...)
	for _, template := range append(texts, "", " ", "BAKIA"+"Q3T7WZ5NXK2LJ4RB",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----") {
		text := r.fill(template)
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
		"broken lines":        alnum[:30] + "\n",
		"hidden characters":   "sk-\u200b",
	} {
		mask := func(size int) time.Duration {
			text := strings.Repeat(piece, size/len(piece))
			start := busy(t)
			Mask(text)
			return busy(t) - start
		}
		short := mask(10_000)
		long := mask(40_000)
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
		alnum[:8], alnum[:40], alnum[:100], ofBot, webToken, keyOpens, "RSA PRIVATE KEY-----", keyCloses, "-----", pemBody, "[masked: password]", "\u200b", "\r\n", "é", "\xff", "鍵",
	}
	rapid.Check(t, func(t *rapid.T) {
		holdMask(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), ""))
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

// random fills templates with texts as random as real ones, the same in each run.
type random struct {
	*rand.Rand
	texts map[string][]string // by name, from the file of templates
}

func newRandom(t *testing.T, seed uint64) random {
	r := random{rand.New(rand.NewPCG(0, seed)), map[string][]string{}}
	for line := range strings.Lines(string(check.Must(os.ReadFile("testdata/texts.txt"))(t))) {
		if name, texts, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != '#' {
			r.texts[name] = append(r.texts[name], strings.Split(texts, " | ")...)
		}
	}
	return r
}

var part = regexp.MustCompile(`{[a-z0-9]+( [0-9]+)?}`)

// fill replaces "{name}" and "{name 9}" in a template.
func (r random) fill(template string) string {
	return part.ReplaceAllStringFunc(template, func(part string) string {
		name, n, _ := strings.Cut(strings.Trim(part, "{}"), " ")
		text := r.texts[name][r.IntN(len(r.texts[name]))]
		count, err := strconv.Atoi(n)
		if err != nil {
			return r.fill(text)
		}
		characters := make([]byte, count)
		for i := range characters {
			characters[i] = text[r.IntN(len(text))]
		}
		return string(characters)
	})
}

func TestKeysOfManyServicesAreMasked(t *testing.T) {
	check.SkipUnderRace(t)
	mark := regexp.MustCompile(`\[masked: [A-Za-z0-9 ]+\]`)
	r := newRandom(t, 1)
	for _, template := range append(r.texts["key"],
		"Discord, bot: "+ofBot,
		"JWT: "+webToken,
		"JWT without signature: "+webToken[:strings.LastIndexByte(webToken, '.')+1],
		"PEM: "+pemOpens+pemBody+pemCloses,
		"PEM in one line: "+strings.ReplaceAll(pemOpens+pemBody+pemCloses, "\n", `\n`),
		"PEM with headers: "+pemOpens+"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"+pemBody+pemCloses,
		"PEM that breaks off: "+pemOpens+pemBody,
		"PGP: "+keyOpens+"PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n"+pemBody+"\n"+keyCloses+"PGP PRIVATE KEY BLOCK-----",
	) {
		name, key, _ := strings.Cut(r.fill(template), ": ")
		before := key[:max(strings.Index(key, "~"), 0)]
		for _, frame := range [][2]string{{"", ""}, {"use ", "."}, {"KEY: ", "\n- next"}, {"钥匙 ", "。"}, {"(`", "`)"}} {
			text := frame[0] + strings.Replace(key, "~", "", 1) + frame[1]
			want := frame[0] + before + frame[1]
			got := Mask(text)
			rest := mark.ReplaceAllString(got, "")
			check.That(t, rest == want || rest+"." == want, "%s: %q: got %q", name, text, got)
		}
	}
}
