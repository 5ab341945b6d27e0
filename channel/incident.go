package channel

import (
	"errors"
	"log/slog"

	"cairn/compactor"
	"cairn/llm"
)

// failures is what the log and people know of turns that failed.
type failures struct {
	here      llm.Incident // turns fail here, for reasons of their own
	covered   bool         // turns failed here while the model's server was down
	told      bool         // people know that the last turn failed
	unwritten bool         // people know that an answer cannot be written
}

// level is how to log that a turn failed: as a warning once per incident. Where the model's
// server fails whoever asks, all conversations are one incident; one in which it goes on
// failing when it works for others is another.
func (f *failures) level(err error, server *llm.Learnt) slog.Level {
	switch {
	case errors.Is(err, compactor.ErrSpent): // the budget has its own line
		return slog.LevelDebug
	case f.here.On() || !llm.OfServer(err) || f.covered && !server.Down.On():
		return f.here.Begin()
	}
	f.covered = true
	return server.Down.Begin()
}

// end notes that a turn was answered, and reports whether that ends an incident.
func (f *failures) end(server *llm.Learnt) bool {
	f.covered, f.told = false, false
	here, there := f.here.End(), server.Down.End()
	return here || there
}
