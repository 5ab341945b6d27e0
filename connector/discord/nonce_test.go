package discord

import (
	"log/slog"
	"testing"
	"time"

	"cairn/connector/platform"
	"cairn/testkit/check"
)

// Discord returns the message that has a nonce already: two processes that show an answer to the same question must not have one.
func TestWritersHaveNoncesOfTheirOwn(t *testing.T) {
	d := assemble(Options{}, platform.NewBase(Name, slog.New(slog.DiscardHandler)))
	first := d.poster.Reply("discord:1/2", []string{"3"}).(*writer)
	time.Sleep(time.Millisecond) // a clock may be coarse
	second := d.poster.Reply("discord:1/2", []string{"3"}).(*writer)
	check.That(t, nonce(first.key, 0) != nonce(second.key, 0), "both have the nonce %s", nonce(first.key, 0))
	check.That(t, nonce(first.key, 0) != nonce(first.key, 1), "two parts have one nonce")
}
