package secrets

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cairn/internal/check"
)

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
