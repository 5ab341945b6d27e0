package channel

import (
	"context"
	"fmt"
	"strings"

	"cairn/compactor"
	"cairn/memory"
)

// noticePrefixes begin the ids of what is posted beside answers: a word of the bot's own
// that answers nothing and means no failure.
var noticePrefixes = []string{shortenedPrefix, "landing-", "budget-"}

const shortenedPrefix = "shortened-"

// IsNotice reports whether a piece is a notice: neither an answer nor a failure of one.
func IsNotice(p Piece) bool {
	for _, prefix := range noticePrefixes {
		if strings.HasPrefix(p.Reply, prefix) {
			return true
		}
	}
	return false
}

// notifyShortened posts a notice for each message of a turn that is too long for the
// model's window: its author must not take the answer for one to all of it. The id of
// the notice keeps it from being posted twice. It refers to no message: a connector looks
// for what refers to a question to find what it has already shown of the answer.
func (c *conversation) notifyShortened(ctx context.Context, turn memory.Turn) {
	shortened := ask(c, func(e *compactor.Compactor) []compactor.Shortened { return e.History().Shortened(turn.Seq) })
	if len(shortened) == 0 {
		return
	}
	for _, m := range shortened {
		err := c.records.Post(ctx, memory.Outcome{
			Reply: fmt.Sprint(shortenedPrefix, m.Seq), Pieces: []string{shortenedLine(m)}, Failure: true,
		})
		if err != nil {
			c.log.Warn("notify_shortened_failed", "message", m.Seq, "error", err)
		}
	}
	c.sender.start(ctx)
}

func shortenedLine(s compactor.Shortened) string {
	shown := fmt.Sprintf("the first %d", s.First)
	if s.Last > 0 {
		shown += fmt.Sprintf(" and the last %d", s.Last)
	}
	return fmt.Sprintf("(Your message is too long for the model's window: it sees %s of %d characters. Everything is stored.)", shown, s.All)
}
