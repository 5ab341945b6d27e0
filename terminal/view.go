// What the screen shows: the incomplete part of a reply, the waiting indicator, a menu, and the input.

package terminal

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

func (s *screen) View() tea.View {
	if s.leaving {
		return tea.NewView("")
	}
	below := s.rowsBelow()
	input := s.input.View()
	room := s.height - rowsAtOnce - 1 - strings.Count(input, "\n") - len(below)
	rows := append(tail(s.unfinished, s.queued, room), below...)
	v := tea.NewView(strings.Join(append(rows, input), "\n"))
	if v.Cursor = s.input.Cursor(); v.Cursor != nil {
		v.Cursor.Y += len(rows)
	}
	return v
}

// rowsBelow returns the rows between the reply and the input.
func (s *screen) rowsBelow() (rows []string) {
	if s.waiting.Load() > 0 && !s.since.IsZero() && s.unfinished == "" {
		text := fmt.Sprintf("· %d s", int(time.Since(s.since).Seconds()))
		if s.lastStatus != "" {
			text += " · " + s.lastStatus
		}
		rows = append(rows, s.dimmed(text))
	}
	rows = append(rows, s.menuRows()...)
	if s.note != "" {
		rows = append(rows, s.dimmed(s.note))
	}
	return rows
}

func (s *screen) dimmed(text string) string {
	if runes := []rune(text); len(runes) > s.width-1 {
		text = string(runes[:max(s.width-2, 0)]) + "…"
	}
	return styled(dim, text)
}

// tail returns the last rows of the unfinished and the queued output, at most limit.
func tail(unfinished, queued string, limit int) []string {
	text := strings.Trim(unfinished+"\n"+queued, "\n")
	if text == "" || limit < 1 {
		return nil
	}
	rows := strings.Split(text, "\n")
	return rows[max(len(rows)-limit, 0):]
}
