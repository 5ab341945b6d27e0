// The menu of commands, which opens when "/" is typed.

package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"cairn/channel/command"
)

const menuSize = 8

type menu struct {
	selected int
	closed   bool // the person has closed the menu
}

// choices returns the commands that the input can be completed to; none unless it is a single word that
// starts with a slash.
func (s *screen) choices() (found []command.Command) {
	word, slash := strings.CutPrefix(strings.ToLower(s.input.Value()), "/")
	if s.menu.closed || !slash || strings.ContainsAny(word, " \n") {
		return nil
	}
	for _, c := range append(slices.Clone(command.All), command.Command{Name: "quit", Help: "quit (also /exit and Ctrl-D)"}) {
		if strings.HasPrefix(c.Name, word) {
			found = append(found, c)
		}
	}
	return found
}

// menuKey handles a key in the menu. It returns false if the menu does not use the key.
func (s *screen) menuKey(name string) bool {
	found := s.choices()
	if len(found) == 0 {
		return false
	}
	s.menu.selected = min(s.menu.selected, len(found)-1)
	switch name {
	case "up", "down":
		step := map[string]int{"up": len(found) - 1, "down": 1}[name]
		s.menu.selected = (s.menu.selected + step) % len(found)
	case "esc":
		s.menu.closed = true
	case "tab":
		s.set("/" + found[s.menu.selected].Name + " ")
	case "enter":
		chosen := found[s.menu.selected]
		if strings.EqualFold(s.input.Value(), "/"+chosen.Name) {
			return false // there is nothing to complete
		}
		s.set("/" + chosen.Name)
		s.menu.closed = true
		if len(chosen.Args) > 0 {
			s.input.InsertString(" ")
		} else {
			s.enter()
		}
	default:
		return false
	}
	return true
}

func (s *screen) menuRows() (rows []string) {
	found := s.choices()
	if len(found) == 0 {
		return nil
	}
	selected := min(s.menu.selected, len(found)-1)
	size := max(min(menuSize, s.height/3), 1)
	from := max(min(selected-size/2, len(found)-size), 0)
	shown := found[from:min(from+size, len(found))]
	width := 0
	for _, c := range shown {
		width = max(width, len(c.Usage()))
	}
	width = min(width, s.width*2/5) // the rest is for what the commands do
	for i, c := range shown {
		mark := "  "
		if from+i == selected {
			mark = "▸ "
		}
		rows = append(rows, s.dimmed(fmt.Sprintf("%s/%-*s  %s", mark, width, ansi.Truncate(c.Usage(), width, "…"), s.says(c.Help))))
	}
	if more := len(found) - size; more > 0 {
		rows = append(rows, s.dimmed("  "+s.says(fmt.Sprintf("… %d more; arrow keys to move, Enter to choose, Esc to close", more))))
	}
	return rows
}
