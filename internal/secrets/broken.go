package secrets

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maskBroken masks secrets with characters in them that do not show, and those that a terminal or
// a mail program broke over lines.
func maskBroken(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == '\n' || hidden(r) }) {
		return text // as most texts are: they cost nothing more
	}
	breaks := breaksOfKeys(text)
	if len(breaks) == 0 && !strings.ContainsFunc(text, hidden) {
		return text
	}
	whole, at := joined(text, breaks)
	var found []secret
	forRulesOf(whole, func(r *rule) {
		for _, s := range r.secrets(whole) {
			from := at[s.from]
			to := at[s.to-1] + 1
			if to-from > s.to-s.from { // Mask finds the others, and knows where they end
				found = append(found, secret{from, to, s.kind})
			}
		}
	})
	slices.SortStableFunc(found, func(a, b secret) int { return cmp.Compare(a.from, b.from) })
	done := 0
	found = slices.DeleteFunc(found, func(s secret) bool {
		if s.from < done {
			return true
		}
		done = s.to
		return false
	})
	return replaced(text, found)
}

// joined returns text without hidden characters and breaks, and for each byte of the result its position in text.
func joined(text string, breaks [][2]int) (whole string, at []int) {
	var b strings.Builder
	for i := 0; i < len(text); {
		if len(breaks) > 0 && breaks[0][0] == i {
			i = breaks[0][1]
			breaks = breaks[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !hidden(r) {
			b.WriteString(text[i : i+size])
			for n := range size {
				at = append(at, i+n)
			}
		}
		i += size
	}
	return b.String(), at
}

// hidden reports whether a character does not show: zero-width spaces and joiners, soft hyphens, marks of direction.
func hidden(r rune) bool { return unicode.Is(unicode.Cf, r) }

// breakOfKey is a line break within what may be a key, and the line behind it, in which nothing else stands.
var breakOfKey = regexp.MustCompile(`[A-Za-z0-9_+/=.-]{8}(\r?\n)([A-Za-z0-9_+/=.-]{6,})(?:\r?\n|$)`)

// breaksOfKeys returns the positions of line breaks within what may be a key.
func breaksOfKeys(text string) (breaks [][2]int) {
	from := 0
	for {
		at := breakOfKey.FindStringSubmatchIndex(text[from:])
		if at == nil {
			return breaks
		}
		if partOfKey(text[from+at[4] : from+at[5]]) {
			breaks = append(breaks, [2]int{from + at[2], from + at[3]})
		}
		from += max(at[4], at[5]-8) // the line may itself be broken
	}
}

// partOfKey reports whether a line may be a part of a key rather than a word: it has digits beside
// capital and small letters, or nothing but hexadecimal digits.
func partOfKey(line string) bool {
	if !hasDigitAndLetter(line) {
		return false
	}
	return strings.ToLower(line) != line && strings.ToUpper(line) != line || strings.Trim(line, "0123456789abcdef") == ""
}
