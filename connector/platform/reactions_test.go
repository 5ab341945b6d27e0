package platform

import (
	"testing"

	"cairn/channel/command"
	"cairn/testkit/channeltest"
)

func TestReactionsOfferActions(t *testing.T) {
	var lines []string
	for _, r := range Reactions {
		lines = append(lines, "/"+r.Command)
	}
	channeltest.Offers(t, command.ByReaction, lines)
}
