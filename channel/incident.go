package channel

import (
	"errors"
	"log/slog"

	"cairn/compactor"
	"cairn/llm"
)

// When the log hears of turns that fail.

// loud tells how loud to log that a turn failed: once per incident. Where the model's
// server fails whoever asks, all conversations are one incident; one in which it goes on
// failing when it works for others is another.
func (c *conversation) loud(err error, server *llm.Learnt) slog.Level {
	switch {
	case errors.Is(err, compactor.ErrSpent): // who spends has told
		return slog.LevelDebug
	case c.failing.On() || !llm.OfServer(err) || c.covered && !server.Down.On():
		return c.failing.Begin()
	}
	c.covered = true
	return server.Down.Begin()
}

// endIncident ends the incident, if there was one.
func (c *conversation) endIncident(server *llm.Learnt) {
	c.covered = false
	here, there := c.failing.End(), server.Down.End()
	if here || there {
		c.log.Info("turns_recovered")
	}
}
