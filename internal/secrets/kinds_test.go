package secrets

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"cairn/internal/check"
)

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
