// What people can do without writing a command.

package channeltest

import (
	"slices"
	"strings"
	"testing"

	"cairn/channel/command"
	"cairn/testkit/check"
)

// Offers checks that people find on a surface each action of the table that is offered there, and no other. lines are the commands of what
// they find.
func Offers(t *testing.T, on command.Surface, lines []string) {
	t.Helper()
	found := make(map[string]bool)
	for _, line := range lines {
		a, known := actionOf(line)
		check.That(t, known && slices.Contains(a.On, on), "command.Actions does not say that people find %q %s", line, on)
		found[a.Command] = true
	}
	for _, a := range command.Actions {
		check.That(t, found[a.Command] || !slices.Contains(a.On, on), "people do not find /%s %s", a.Command, on)
	}
}

// actionOf returns the action of a command: of several, that with the most words.
func actionOf(line string) (found command.Action, known bool) {
	for _, a := range command.Actions {
		if strings.HasPrefix(line+" ", "/"+a.Command+" ") && len(a.Command) > len(found.Command) {
			found = a
		}
	}
	return found, found.Command != ""
}
