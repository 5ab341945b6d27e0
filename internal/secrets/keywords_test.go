package secrets

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cairn/testkit/check"
	"cairn/testkit/wordstest"
)

// TestKeywordsInOnePass: one pass finds what a search for each keyword finds.
func TestKeywordsInOnePass(t *testing.T) {
	var pieces []string
	for _, r := range rules() {
		for _, k := range r.Keywords {
			pieces = append(pieces, k, strings.ToUpper(k), k[:len(k)-1], k[1:])
		}
	}
	pieces = append(append(pieces, wordstest.Texts()...), "", " ", "İ", "\xff", "ſk-")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, "pieces"), "")
		found := keywords().in(text)
		for i, r := range rules() {
			contains := slices.ContainsFunc(r.Keywords, func(k string) bool { return strings.Contains(strings.ToLower(text), k) })
			check.Require(t, found[i] == contains, "keywords of %s in %q: found %v, not %v", r.ID, text, found[i], contains)
		}
	})
}
