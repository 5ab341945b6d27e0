// The row that shows a person who waits for an answer for how long, and what the bot is doing.

package terminal

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
)

const tickEvery = 500 * time.Millisecond

// tick advances the waiting indicator, and asks for the status, which may take longer than a tick.
func (s *screen) tick() tea.Cmd {
	s.ticking = s.waiting.Load() > 0 && !s.leaving
	if !s.ticking {
		return nil
	}
	if s.since.IsZero() {
		s.since = time.Now()
	}
	next := func() tea.Msg {
		select {
		case <-time.After(tickEvery):
		case <-s.left:
		}
		return tickMsg{}
	}
	if s.asking {
		return next
	}
	s.asking = true
	return tea.Batch(next, func() tea.Msg { return statusMsg(s.status()) })
}

// waitingRow returns the row: "· 3 s · thinking · qwen3 · window 5 % full".
func (s *screen) waitingRow() string {
	text := "· < 1 s"
	if seconds := int(time.Since(s.since).Seconds()); seconds > 0 {
		text = fmt.Sprintf("· %d s", seconds)
	}
	if s.lastStatus != "" {
		text += " · " + s.lastStatus
	}
	return s.dimmed(text)
}
