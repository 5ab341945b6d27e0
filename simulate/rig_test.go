package simulate_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/simulate"
)

func TestMain(m *testing.M) {
	check.InMemory()
	os.Exit(m.Run())
}

// name is a conversation of the test's connector.
const name = "terminal:test"

var discard = slog.New(slog.DiscardHandler)

// applied returns the applied summaries, in order.
func applied(rec simulate.Recording) (all []simulate.Summary) {
	for _, s := range rec.Summaries {
		if s.Version > 0 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b simulate.Summary) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.From, b.From))
	})
	return all
}

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
