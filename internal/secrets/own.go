package secrets

import (
	"strings"

	"cairn/internal/lazy"
)

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

// ownRule returns a rule of a kind of secret. keyword is part of every secret of the kind, in any case: a quick
// test, because most texts have none. The group of regex is the secret; without groups the whole match is.
func ownRule(name, keyword, regex string, real func(match string) bool) *rule {
	return &rule{ID: name, Keywords: []string{strings.ToLower(keyword)}, Entropy: -1, form: lazy.Pattern(regex), own: true, real: real}
}
