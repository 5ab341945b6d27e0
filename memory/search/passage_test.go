package search

import (
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string]string{
		"":                "",
		"abc":             "abc",
		"ab cd ef gh":     "ab cd |ef gh",
		"abcdefghi":       "abcdef|ghi",
		"猫猫猫猫猫猫猫 猫":       "猫猫猫猫猫猫|猫 猫",
		"a\xffb\xff c de": "a\xffb\xff |c de",
	} {
		if got := strings.Join(split(text, 6), "|"); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
