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

// secrets returns the secrets that a rule finds in text.
func (r *rule) secrets(text string) (found []secret) {
	done := 0
	for _, at := range r.form().FindAllStringSubmatchIndex(text, -1) {
		begins := at[0]
		from, to := r.secretIn(at)
		if r.ID == botTokens && text[begins] == '.' {
			begins = snowflakeBefore(text, done, begins)
			if begins < 0 {
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
