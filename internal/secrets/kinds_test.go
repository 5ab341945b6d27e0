package secrets

import (
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
