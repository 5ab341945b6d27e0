package terminal

import (
	"strings"
	"testing"

	"cairn/channel/channeltest"
	"cairn/internal/check"
)

func TestApprovalByYes(t *testing.T) {
	k := monochrome(t, scripted(channeltest.Add))
	k.shows(t, "please add\r", "[y/n]")
	k.shows(t, "no\r", "did not allow the")
	k.screen.wait(t, "The tool says: Error")
	k.typed(t, "add all the same\r")
	k.screen.until(t, "the second question", func(screen string) bool { return strings.Count(screen, "[y/n]") == 2 })
	k.shows(t, "y\r", "The tool says: five")
	k.typed(t, "y\r") // no question is open: it is a message
	k.screen.wait(t, "Hello.")
}

// A person who leaves need not wait until the question times out.
func TestQuestionEndsWhenThePersonLeaves(t *testing.T) {
	k := monochrome(t, scripted(channeltest.Add))
	k.shows(t, "please add\r", "[y/n]")
	k.typed(t, "\x04")
	check.NoError(t, k.end(t))
	k.screen.until(t, "the refusal", func(screen string) bool {
		return strings.Contains(strings.ReplaceAll(screen, "\n", " "), "there is no one to ask here")
	})
}

func TestQuestionEndsWithItsTurn(t *testing.T) {
	k := monochrome(t, scripted(channeltest.Add))
	k.shows(t, "please add\r", "[y/n]")
	k.shows(t, "/stop\r", "Stopped.")
	k.typed(t, "y\r") // a message, for which the model asks again
	k.screen.until(t, "the second question", func(screen string) bool { return strings.Count(screen, "[y/n]") == 2 })
}
