package simulate_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"cairn/channel"
	"cairn/internal/check"
)

func TestMain(m *testing.M) {
	check.InMemory()
	os.Exit(m.Run())
}

// name is a conversation of the test's connector.
const name = "terminal:test"

var discard = slog.New(slog.DiscardHandler)

// connector accepts replies.
type connector struct{ replies chan string }

func newConnector() *connector { return &connector{make(chan string, 1000)} }

func (*connector) Name() string                            { return "terminal" }
func (*connector) Split(text string) []string              { return []string{text} }
func (c *connector) Reply(string, []string) channel.Writer { return c }
func (*connector) Show(string)                             {}
func (*connector) Cancel()                                 {}
func (c *connector) Send(_ context.Context, p channel.Piece) (string, error) {
	c.replies <- p.To[0]
	return fmt.Sprint("p", p.Row), nil
}
