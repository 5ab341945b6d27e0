// The menu of commands, shown after "/" is typed.
package terminal

import (
	"fmt"
	"slices"
	"strings"

	"cairn/channel"
)

// menuSize is how many commands the menu shows at most.
const menuSize = 8

func (s *screen) menuSize() int { return max(min(menuSize, s.height/3), 1) }

// menu is the state of the menu.
type menu struct {
	selected int
	moved    bool // the person has moved the selection
	closed   bool // the person has closed the menu
}

// choice is a command in the menu.
type choice struct{ name, usage, help string }

// choices returns the commands that line can be completed to; none unless it is a single word that
// starts with a slash.
func choices(line string) (found []choice) {
	if !strings.HasPrefix(line, "/") || strings.ContainsAny(line, " \n") {
		return nil
	}
	all := make([]choice, 0, len(channel.Commands)+1)
	for _, c := range channel.Commands {
		all = append(all, choice{"/" + c.Name, "/" + c.Usage(), c.Help})
	}
	all = append(all, choice{"/quit", "/quit", "leave; so do /exit and Ctrl-D"})
	for _, c := range all {
		if strings.HasPrefix(c.name, strings.ToLower(line)) {
			found = append(found, c)
		}
	}
	return found
}

func (s *screen) choices() []choice {
	if s.menu.closed || s.search != nil {
		return nil
	}
	return choices(s.input.Value())
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
		step := map[string]int{"up": -1, "down": 1}[name]
		s.menu.selected, s.menu.moved = (s.menu.selected+step+len(found))%len(found), true
	case "esc":
		s.menu.closed = true
	case "tab":
		s.set(found[s.menu.selected].name + " ")
	case "enter":
		if !s.menu.moved {
			return false
		}
		chosen := found[s.menu.selected]
		s.set(chosen.name)
		s.menu.closed = true
		if strings.Contains(chosen.usage, " ") { // it may have arguments
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
	width := 0
	for _, c := range found {
		width = max(width, len(c.usage))
	}
	selected := min(s.menu.selected, len(found)-1)
	size := s.menuSize()
	from := max(min(selected-size/2, len(found)-size), 0)
	for i, c := range slices.All(found[from:min(from+size, len(found))]) {
		mark := "  "
		if from+i == selected {
			mark = "▸ "
		}
		rows = append(rows, s.dimmed(fmt.Sprintf("%s%-*s  %s", mark, width, c.usage, c.help)))
	}
	if more := len(found) - size; more > 0 {
		rows = append(rows, s.dimmed(fmt.Sprintf("  … %d more; the arrow keys choose, Tab completes, Esc closes", more)))
	}
	return rows
}
