// Package secrets masks keys, tokens and passwords in text. Summaries, memories and logs outlive
// the messages they come from, so they must not contain any. The transcript does: it is what people
// wrote. The package imports nothing of Cairn.
package secrets

import (
	"encoding/base64"
	"regexp"
	"strings"

	"cairn/internal/lazy"
)

// Mask returns text with each recognized secret replaced by its kind, such as "[masked: github
// pat]": what gitleaks' rules match, and the forms below, which they lack or which a chat alters.
// It takes linear time, changes nothing else, and is idempotent.
func Mask(text string) string {
	for range maxPasses {
		masked := maskOnce(text)
		if masked == text {
			break
		}
		text = masked
	}
	return text
}

// maxPasses limits how often a text is scanned: of two secrets with one character between them, a
// rule finds only the first.
const maxPasses = 8

func maskOnce(text string) string {
	folded := strings.ToLower(text)
	for _, s := range secrets {
		if !strings.Contains(folded, strings.ToLower(s.mark)) {
			continue
		}
		if masked := s.mask(text); masked != text {
			text, folded = masked, strings.ToLower(masked)
		}
	}
	text = maskKnown(text)
	if !strings.Contains(text, "-----BEGIN ") {
		return text
	}
	return cutKey.mask(text)
}

// cutKey is the beginning of a private key that breaks off, of which gitleaks' rules know only whole
// ones: it ends where the lines of base64 end, also written as \n.
var cutKey = secret{name: "private key", form: lazy.Pattern(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----(?:[A-Za-z0-9+/=\\"\r\n]*[A-Za-z0-9+/=])?`)}

// secret is a kind of secret.
type secret struct {
	name string
	mark string                // part of every secret of the kind, in any case: a quick test, because most texts have none
	form func() *regexp.Regexp // its last group is the secret; without groups the whole match is
	real func(match string) bool
}

// secrets are all kinds. If two may match the same text, the more specific one is first.
var secrets = []secret{
	{"Anthropic key", "sk-ant-", lazy.Pattern(`sk-ant-[A-Za-z0-9_-]{16,}`), nil},
	{"OpenAI key", "sk-", lazy.Pattern(`sk-[A-Za-z0-9_-]{20,}`), hasLongRun},
	{"Slack token", "xox", lazy.Pattern(`xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}`), nil},
	{"Slack webhook", "hooks.slack.com/", lazy.Pattern(`hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{16,})`), nil},
	{"Discord webhook", "/webhooks/", lazy.Pattern(`/webhooks/[0-9]{15,}/([A-Za-z0-9_-]{30,})`), nil},
	{"Discord token", ".", botToken, nil},
	{"Discord token", "mfa.", lazy.Pattern(`mfa\.[A-Za-z0-9_-]{60,}`), nil},
	{"Telegram token", ":A", lazy.Pattern(`[0-9]{8,10}:A[A-Za-z0-9_-]{34}\b`), nil},
	{"AWS key", "secret", lazy.Pattern(`(?i:aws_?secret_?(?:access_?)?key|secret_?access_?key)["']?\s{0,3}[:=]\s{0,3}["']?([A-Za-z0-9/+]{40})`), nil},
	{"Google token", "ya29.", lazy.Pattern(`ya29\.[A-Za-z0-9_-]{20,}`), nil},
	{"Google secret", "GOCSPX-", lazy.Pattern(`GOCSPX-[A-Za-z0-9_-]{20,}`), nil},
	{"Groq key", "gsk_", lazy.Pattern(`gsk_[A-Za-z0-9]{40,}`), nil},
	{"Replicate token", "r8_", lazy.Pattern(`r8_[A-Za-z0-9]{30,}`), nil},
	{"xAI key", "xai-", lazy.Pattern(`xai-[A-Za-z0-9]{60,}`), nil},
	{"NVIDIA key", "nvapi-", lazy.Pattern(`nvapi-[A-Za-z0-9_-]{40,}`), nil},
	{"Tailscale key", "tskey-", lazy.Pattern(`tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{16,}`), nil},
	{"Docker token", "dckr_", lazy.Pattern(`dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}`), nil},
	{"Stripe webhook secret", "whsec_", lazy.Pattern(`whsec_[A-Za-z0-9+/]{24,}={0,2}`), nil},
	{"New Relic key", "NRAK-", lazy.Pattern(`NRAK-[A-Z0-9]{27}`), nil},
	{"web token", "eyJ", lazy.Pattern(`eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}`), nil},
	{"password", "://", lazy.Pattern(`://[^\s/:@?<>"'` + "`" + `]*:([^\s/?<>"'` + "`" + `]+)@`), nil},
	{"bearer token", "bearer", lazy.Pattern(`\b(?i:bearer)\s{1,3}([A-Za-z0-9._~+/-]{15,}[A-Za-z0-9_-]=*)`), hasDigitAndLetter},
	{"password", "=", lazy.Pattern(`[A-Z0-9]_(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|(?:API|SECRET|PRIVATE|ACCESS)_?KEY)=(?:"([^"\s$]{6,})"|'([^'\s$]{6,})'|([^\s"'$<{*%\[][^\s"'` + "`" + `]{4,}[^\s"'` + "`" + `.,;:)>\]}。]))`), isNoPlaceholder},
}

// mask replaces the secrets of one kind. A match that continues a run of letters or digits is part
// of something else.
func (s secret) mask(text string) string {
	form := s.form()
	return replace(text, form, s.name, func(at []int, done int) (from, to int, is bool) {
		begins := at[0]
		from, to = at[0], at[1]
		for i := 2; i < len(at); i += 2 {
			if at[i] >= 0 {
				from, to = at[i], at[i+1]
			}
		}
		if form == botToken() {
			id := snowflakeBefore(text[done:begins])
			if id < 0 {
				return 0, 0, false
			}
			begins, from = done+id, done+id
		}
		continues := begins == from && begins > 0 && alphanumeric(text[begins]) && alphanumeric(text[begins-1])
		return from, to, !continues && (s.real == nil || s.real(text[from:to]))
	})
}

// replace masks the secrets in the matches of a form: secretIn returns where one is in a match, if it
// is one. done is the end of the one before.
func replace(text string, form *regexp.Regexp, name string, secretIn func(at []int, done int) (from, to int, is bool)) string {
	var b strings.Builder
	done := 0
	for _, at := range form.FindAllStringSubmatchIndex(text, -1) {
		if from, to, is := secretIn(at, done); is {
			b.WriteString(text[done:from])
			b.WriteString(masked(name))
			done = to
		}
	}
	b.WriteString(text[done:])
	return b.String()
}

func masked(name string) string { return "[masked: " + name + "]" }

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// hasLongRun distinguishes a key from words joined by hyphens: it has a run of 16 letters and
// digits, with both.
func hasLongRun(match string) bool {
	for _, run := range strings.FieldsFunc(match, func(r rune) bool { return r == '-' || r == '_' }) {
		if len(run) >= 16 && strings.ContainsAny(run, "0123456789") && strings.Trim(run, "0123456789") != "" {
			return true
		}
	}
	return false
}

// hasDigitAndLetter distinguishes credentials from a word or a number.
func hasDigitAndLetter(match string) bool {
	return strings.ContainsAny(match, "0123456789") && strings.Trim(match, "0123456789") != ""
}

// isNoPlaceholder distinguishes a password from "xxxxxxxx".
func isNoPlaceholder(match string) bool { return entropy(match) > 1 }

// botToken matches a Discord bot's token without its first part, which is the bot's id in base64:
// searching for a dot is fast, searching for an id is not.
var botToken = lazy.Pattern(`\.[A-Za-z0-9_-]{5,7}\.[A-Za-z0-9_-]{25,}`)

// snowflakeBefore returns the index of a base64 id at the end of text; -1 if there is none.
func snowflakeBefore(text string) int {
	for size := min(28, len(text)); size >= 22; size-- {
		from := len(text) - size
		if from > 0 && alphanumeric(text[from-1]) {
			continue
		}
		id, err := base64.RawURLEncoding.DecodeString(text[from:])
		if err == nil && strings.Trim(string(id), "0123456789") == "" {
			return from
		}
	}
	return -1
}
