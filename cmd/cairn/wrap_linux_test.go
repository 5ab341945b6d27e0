package main

import (
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"cairn/testkit/check"
)

// A narrow terminal shows the words that a program gets, and breaks lines between them.
func TestLinesBreakBetweenWords(t *testing.T) {
	check.SkipUnderRace(t)
	p := fillGarden(t)
	p.width = 46
	for _, test := range []struct {
		command string
		code    int
	}{
		{"recall bees", 0},
		{"recall bees --explain", 0},
		{"context", 0},
		{"transcript", 0},
		{"doctor", exitFailed},
		{"recall", exitUsage},
		{"recall --help", 0},
		{"help", 0},
	} {
		args := strings.Fields(test.command)
		wide := p.run("", args...)
		text := p.atScreen(args...).end(test.code)
		for line := range strings.SplitSeq(text, "\n") {
			oneWord := len(strings.Fields(line)) == 1
			check.That(t, oneWord || lipgloss.Width(line) <= int(p.width), "%s: %q", test.command, line)
		}
		shown := strings.Fields(text)
		for _, word := range strings.Fields(wide.out + wide.err) {
			if !strings.ContainsAny(word, "0123456789") { // the time that something took
				check.That(t, slices.Contains(shown, word), "%s: %q is not shown whole in\n%s", test.command, word, text)
			}
		}
	}
}
