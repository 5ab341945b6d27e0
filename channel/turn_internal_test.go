package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// canceled is a writer that counts how often it is canceled.
type canceled int

func (*canceled) Show(string)                                 {}
func (n *canceled) Cancel()                                   { *n++ }
func (*canceled) Send(context.Context, Piece) (string, error) { return "", nil }

func TestPanicOfTheLoopIsNotTheTurns(t *testing.T) {
	run := func(p any, w Writer) (again any, err error) {
		defer func() { again = recover() }()
		failing := &turn{voice: &voice{site: &site{log: slog.New(slog.DiscardHandler)}}, attempt: &attempt{writer: w, sender: new(sender)}}
		defer failing.recoverPanic(&err)
		panic(p)
	}
	w := new(canceled)
	again, err := run(errPanicked, w)
	check.That(t, again == any(errPanicked) && *w == 1, "a panic of the loop: %v, %v, the text shown is withdrawn %d times", err, again, *w)
	again, err = run("a bug of a tool", w)
	check.That(t, err != nil && again == nil, "a panic of the turn: %v, %v", err, again)
}

func TestTruncatedArgumentsMaskSecret(t *testing.T) {
	const part = "aB3dE5gH7jK9"
	for n := 130; n < 136; n++ { // wherever the cut is
		text := strings.Repeat("word ", n) + "sk-proj-" + strings.Repeat(part, 4) + strings.Repeat(" word", 600)
		shown := shownArguments(json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)))
		check.Lacks(t, fmt.Sprintf("%d words before it", n), shown, part)
	}
}
