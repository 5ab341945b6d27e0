package search

import (
	"strings"
	"testing"

	"cairn/testkit/check"
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
		check.Equal(t, text, strings.Join(split(text, 6), "|"), want)
	}
}
