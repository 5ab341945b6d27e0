// Package secrets masks keys, tokens and passwords in text. Summaries, memories and logs outlive
// the messages they come from, so they must not contain any. The transcript does: it is what people
// wrote. The package imports nothing of Cairn.
package secrets

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"cairn/internal/lazy"
)

// Mask returns text with each recognized secret replaced by its kind, such as "[masked: github
// pat]": what gitleaks' rules match, and the forms below, which they lack or which a chat alters.
// It takes linear time, changes nothing else, and is idempotent.
func Mask(text string) string {
	for range maxPasses {
		was := text
		text = maskBroken(text)
		forRulesOf(text, func(r *rule) { text = replaced(text, r.secrets(text)) })
		if text == was {
			break
		}
	}
	return text
}

// maxPasses limits how often a text is scanned: of two secrets with one character between them, a
// rule finds only the first.
const maxPasses = 8

// forRulesOf calls f with each rule that may match text.
func forRulesOf(text string, f func(*rule)) {
	present := keywords().in(text)
	for i, r := range rules() {
		if present[i] {
			f(r)
		}
	}
}

// secret is a part of a text that is to be masked.
type secret struct {
	from, to int
	kind     string
}

// replaced returns text with these secrets masked. They are ordered and do not overlap.
func replaced(text string, all []secret) string {
	var b strings.Builder
	done := 0
	for _, s := range all {
		b.WriteString(text[done:s.from] + "[masked: " + strings.ReplaceAll(s.kind, "-", " ") + "]")
		done = s.to
	}
	return b.String() + text[done:]
}

// own are rules besides gitleaks' that come before them. If two may match the same text, the more
// specific one is first.
var own = []*rule{
	ownRule("Anthropic key", "sk-ant-", `sk-ant-[A-Za-z0-9_-]{16,}`, nil),
	ownRule("OpenAI key", "sk-", `sk-[A-Za-z0-9_-]{20,}`, hasLongRun),
	ownRule("Slack token", "xox", `xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}`, nil),
	ownRule("Slack webhook", "hooks.slack.com/", `hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{16,})`, nil),
	ownRule("Discord webhook", "/webhooks/", `/webhooks/[0-9]{15,}/([A-Za-z0-9_-]{30,})`, nil),
	ownRule(botTokens, ".", `\.[A-Za-z0-9_-]{5,7}\.[A-Za-z0-9_-]{25,}`, nil),
	ownRule("Discord token", "mfa.", `mfa\.[A-Za-z0-9_-]{60,}`, nil),
	ownRule("Telegram token", ":A", `[0-9]{8,10}:A[A-Za-z0-9_-]{34}\b`, nil),
	ownRule("AWS key", "secret", `(?i:aws_?secret_?(?:access_?)?key|secret_?access_?key)["']?\s{0,3}[:=]\s{0,3}["']?([A-Za-z0-9/+]{40})`, nil),
	ownRule("Google token", "ya29.", `ya29\.[A-Za-z0-9_-]{20,}`, nil),
	ownRule("Google secret", "GOCSPX-", `GOCSPX-[A-Za-z0-9_-]{20,}`, nil),
	ownRule("Groq key", "gsk_", `gsk_[A-Za-z0-9]{40,}`, nil),
	ownRule("Replicate token", "r8_", `r8_[A-Za-z0-9]{30,}`, nil),
	ownRule("xAI key", "xai-", `xai-[A-Za-z0-9]{60,}`, nil),
	ownRule("Cerebras key", "csk-", `csk-[A-Za-z0-9]{40,}`, nil),
	ownRule("ElevenLabs key", "sk_", `sk_[0-9a-f]{48}\b`, nil),
	ownRule("Figma token", "figd_", `figd_[A-Za-z0-9_-]{30,}`, nil),
	ownRule("Firecrawl key", "fc-", `fc-[0-9a-f]{32}\b`, nil),
	ownRule("Fireworks key", "fw_", `fw_[A-Za-z0-9]{20,}`, hasDigitAndLetter),
	ownRule("Jina key", "jina_", `jina_[A-Za-z0-9_-]{40,}`, nil),
	ownRule("Langfuse key", "k-lf-", `[sp]k-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`, nil),
	ownRule("LangSmith key", "lsv2_", `lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}\b`, nil),
	ownRule("Pinecone key", "pcsk_", `pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,}`, nil),
	ownRule("Resend key", "re_", `re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}`, hasDigitAndLetter),
	ownRule("RunPod key", "rpa_", `rpa_[A-Za-z0-9]{40,}`, nil),
	ownRule("Supabase key", "sb", `(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{24,})`, nil),
	ownRule("Tavily key", "tvly-", `tvly-(?:dev-|prod-)?[A-Za-z0-9]{24,}`, nil),
	ownRule("Together key", "tgp_", `tgp_v[0-9]_[A-Za-z0-9_-]{30,}`, nil),
	ownRule("Voyage key", "pa-", `pa-[A-Za-z0-9_-]{40,}`, hasLongRun),
	ownRule("NVIDIA key", "nvapi-", `nvapi-[A-Za-z0-9_-]{40,}`, nil),
	ownRule("Tailscale key", "tskey-", `tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{16,}`, nil),
	ownRule("Docker token", "dckr_", `dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}`, nil),
	ownRule("Stripe webhook secret", "whsec_", `whsec_[A-Za-z0-9+/]{24,}={0,2}`, nil),
	ownRule("New Relic key", "NRAK-", `NRAK-[A-Z0-9]{27}`, nil),
	ownRule("web token", "eyJ", `eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}`, nil),
	ownRule("password", "://", `://[^\s/:@?<>"'`+"`"+`]*:([^\s/?<>"'`+"`"+`]+)@`, nil),
	ownRule("bearer token", "bearer", `\b(?i:bearer)\s{1,3}([A-Za-z0-9._~+/-]{15,}[A-Za-z0-9_-]=*)`, hasDigitAndLetter),
	ownRule("basic credentials", "basic", `\b(?i:authorization)["']?\s{0,3}[:=]\s{0,3}["']?(?i:basic)\s{1,3}([A-Za-z0-9+/_-]{6,}={0,2})`, nil),
	ownRule("password", "=", `[A-Z0-9]_(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|(?:API|SECRET|PRIVATE|ACCESS)_?KEY)=(?:"([^"\s$]{6,})"|'([^'\s$]{6,})'|([^\s"'$<{*%\[][^\s"'`+"`"+`]{4,}[^\s"'`+"`"+`.,;:)>\]}。]))`, isNoPlaceholder),
}

// cutKey is the beginning of a private key that breaks off, of which gitleaks' rules know only whole
// ones: it ends where the lines of base64 end, also written as \n.
const cutKey = `-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----(?:[A-Za-z0-9+/=\\"\r\n]*[A-Za-z0-9+/=])?`

// botTokens are matched without their first part, the bot's id in base64: searching for a dot is
// fast, searching for an id is not.
const botTokens = "Discord token"

// secrets returns the secrets that a rule finds in text.
func (r *rule) secrets(text string) (found []secret) {
	done := 0
	for _, at := range r.form().FindAllStringSubmatchIndex(text, -1) {
		begins := at[0]
		from, to := r.secretIn(at)
		if r.ID == botTokens && text[begins] == '.' {
			if begins = snowflakeBefore(text, done, begins); begins < 0 {
				continue
			}
			from = begins
		}
		// A match that continues a run of letters or digits is part of something else.
		continues := r.own && begins == from && begins > 0 && alphanumeric(text[begins]) && alphanumeric(text[begins-1])
		if match := text[from:to]; continues || r.real != nil && !r.real(match) || entropy(match) <= r.Entropy || r.allows(text, at, match) {
			continue
		}
		found = append(found, secret{from, to, r.ID})
		done = to
	}
	return found
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// hasLongRun distinguishes a key from words joined by hyphens: it has a run of 16 letters and digits, with both.
func hasLongRun(match string) bool {
	for _, run := range strings.FieldsFunc(match, func(r rune) bool { return r == '-' || r == '_' }) {
		if len(run) >= 16 && hasDigitAndLetter(run) {
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

// snowflakeBefore returns the index of a base64 id that ends at end, at start or later; -1 if there is none.
func snowflakeBefore(text string, start, end int) int {
	for from := max(end-28, start); from <= end-22; from++ {
		if from > start && alphanumeric(text[from-1]) {
			continue
		}
		id, err := base64.RawURLEncoding.DecodeString(text[from:end])
		if err == nil && strings.Trim(string(id), "0123456789") == "" {
			return from
		}
	}
	return -1
}

// gitleaksRules is config/gitleaks.toml of gitleaks v8.30.0, unchanged; its licence is
// gitleaks.LICENSE. To update it, copy both files of a newer release.
//
//go:embed gitleaks.toml
var gitleaksRules string

// rule is one of gitleaks' rules.
type rule struct {
	ID          string
	Path        string // it applies only to files of that name
	Regex       string
	SecretGroup int
	Entropy     float64 // minimum bits per byte of a secret
	Keywords    []string
	Allowlists  []*allowlist

	form func() *regexp.Regexp
	own  bool                    // it is not gitleaks'
	real func(match string) bool // of an own rule: distinguishes secrets; nil: all matches are
}

// allowlist describes matches that are not secrets.
type allowlist struct {
	Condition   string // "AND": all conditions must match
	RegexTarget string // "match", "line" or, by default, the secret
	Regexes     []string
	Stopwords   []string
	Paths       []string // of files, so none applies here

	forms func() []*regexp.Regexp
}

// hashBehindWords matches the checksum in a sentence about keys: "the key was built with sha256:…".
const hashBehindWords = `(?i)\b(?:sha-?\d+|md5|digest|checksum|commit)[:=][0-9a-f]+`

// rules are the own rules, and gitleaks' that apply to any text. A rule is compiled when its keyword first occurs.
var rules = sync.OnceValue(func() []*rule {
	var file struct {
		Allowlist *allowlist
		Rules     []*rule
	}
	if _, err := toml.Decode(gitleaksRules, &file); err != nil {
		panic(fmt.Sprintf("the embedded rules of gitleaks: %v", err)) // a test reads them
	}
	file.Rules = slices.DeleteFunc(file.Rules, func(r *rule) bool { return r.Regex == "" || r.Path != "" })
	file.Allowlist.compileLater()
	hashes := &allowlist{RegexTarget: "match", Regexes: []string{hashBehindWords}}
	hashes.compileLater()
	for _, r := range file.Rules {
		r.form = lazy.Pattern(inProse(r.Regex))
		for _, a := range r.Allowlists {
			a.compileLater()
		}
		r.Allowlists = append(r.Allowlists, file.Allowlist, hashes)
	}
	// The generic rule matches much of what other rules match more specifically.
	at := slices.IndexFunc(file.Rules, func(r *rule) bool { return r.ID == "generic-api-key" })
	last := []*rule{file.Rules[at], ownRule("private key", "-----BEGIN ", cutKey, nil)}
	return slices.Concat(own, slices.Delete(file.Rules, at, at+1), last)
})

// ownRule returns a rule of a kind of secret. keyword is part of every secret of the kind, in any case: a quick
// test, because most texts have none. The group of regex is the secret; without groups the whole match is.
func ownRule(name, keyword, regex string, real func(match string) bool) *rule {
	return &rule{ID: name, Keywords: []string{strings.ToLower(keyword)}, Entropy: -1, form: lazy.Pattern(regex), own: true, real: real}
}

func (a *allowlist) compileLater() {
	a.forms = sync.OnceValue(func() (forms []*regexp.Regexp) {
		for _, form := range a.Regexes {
			forms = append(forms, regexp.MustCompile(form))
		}
		return forms
	})
}

// inProse adapts a rule to sentences. In source code a secret ends at a quote or white
// space; in a chat also at a bracket, a full stop or a character of another script.
func inProse(regex string) string {
	const atEnd, inSentence = `(?:[\x60'"\s;]|\\[nr]|$)`, `(?:[^\w/+=.-]|\.(?:\W|$)|\\[nr]|$)`
	return strings.ReplaceAll(regex, atEnd, inSentence)
}

// secretIn returns the position of the secret in a match: the group that the rule names, else the
// first non-empty group, else the whole match.
func (r *rule) secretIn(at []int) (from, to int) {
	if r.SecretGroup > 0 {
		return at[2*r.SecretGroup], at[2*r.SecretGroup+1]
	}
	for i := 2; i < len(at); i += 2 {
		if at[i] >= 0 && at[i] < at[i+1] {
			return at[i], at[i+1]
		}
	}
	return at[0], at[1]
}

// allows reports whether one of the rule's allowlists excludes a match.
func (r *rule) allows(text string, at []int, secret string) bool {
	return slices.ContainsFunc(r.Allowlists, func(a *allowlist) bool {
		target := secret
		switch a.RegexTarget {
		case "match":
			target = text[at[0]:at[1]]
		case "line":
			begin := strings.LastIndexByte(text[:at[0]], '\n') + 1
			target, _, _ = strings.Cut(text[begin:], "\n")
		}
		matches := slices.ContainsFunc(a.forms(), func(form *regexp.Regexp) bool { return form.MatchString(target) })
		folded := strings.ToLower(secret)
		stops := slices.ContainsFunc(a.Stopwords, func(word string) bool { return strings.Contains(folded, strings.ToLower(word)) })
		if a.Condition == "AND" {
			return (matches || len(a.Regexes) == 0) && (stops || len(a.Stopwords) == 0) && len(a.Paths) == 0
		}
		return matches || stops
	})
}

// entropy returns the Shannon entropy in bits per byte: random letters and digits have more than words.
func entropy(text string) (bits float64) {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
