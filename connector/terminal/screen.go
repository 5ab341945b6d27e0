// The screen below the finished output: the incomplete part of a reply, the waiting indicator, a menu, and the
// input, with its keys.

package terminal

import (
	"strings"
	"sync/atomic"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	maxTyped    = 100 // typed lines that wait to be handled
	inputRows   = 8   // visible rows of the input
	promptWidth = 2
	maxOpened   = 5000 // lines of a text to edit: each key takes longer the more there are, and the input keeps 10 000
)

// Messages to the screen, besides below.
type (
	waitMsg   struct{} // an answer is pending
	quitMsg   struct{} // the screen should close
	tickMsg   struct{} // time has passed
	statusMsg string
)

// entry is a typed line, and the form in which the screen shows it.
type entry struct{ text, display string }

// screen is the Bubble Tea model. Only Bubble Tea's goroutine uses it.
type screen struct {
	lines   chan<- entry // typed lines
	waiting *atomic.Int64
	status  func() string            // may be slow
	says    func(text string) string // translates it
	draws   func(v tea.View)         // learns what is drawn

	input         textarea.Model
	width, height int
	history       *history
	menu          menu
	pastes        pastes

	below      below
	since      time.Time // when waiting for the next answer started; zero: that is not known yet
	ticking    bool
	asking     bool   // status runs
	lastStatus string // its last result
	note       string // why a key had no effect, or what another does
	leaving    bool
	left       chan struct{} // closed once it leaves
}

func newScreen(kept *history, lines chan<- entry, waiting *atomic.Int64) *screen {
	s := &screen{lines: lines, waiting: waiting, history: kept, width: 80, height: 24, left: make(chan struct{})}
	s.says = func(text string) string { return text }
	s.draws = func(tea.View) {}
	s.input = textarea.New()
	s.input.SetStyles(textarea.Styles{})
	s.input.ShowLineNumbers = false
	s.input.CharLimit = 0
	s.input.MaxWidth = 0
	s.input.DynamicHeight = true
	s.input.MinHeight = 1
	s.input.MaxHeight = inputRows
	s.input.MaxContentHeight = 1 << 20
	s.input.SetPromptFunc(promptWidth, func(row textarea.PromptInfo) string {
		if row.LineNumber == 0 {
			return "> "
		}
		return "  "
	})
	s.input.SetWidth(s.width)
	s.input.SetHeight(1)
	s.input.SetVirtualCursor(false)
	s.input.Focus()
	return s
}

func (s *screen) Init() tea.Cmd { return nil }

func (s *screen) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		if m.Width > promptWidth && m.Height > 0 {
			s.width = m.Width
			s.height = m.Height
			s.input.MaxHeight = min(inputRows, max(m.Height/2, 1)) // the rest is for what is above
			s.input.SetWidth(m.Width)
		}
	case below:
		s.below = m
		if m.unfinished == "" { // this may be the end of the only answer
			s.since = time.Time{}
		}
	case quitMsg:
		s.leaving = true
		close(s.left)
		return s, tea.Quit
	case waitMsg:
		s.since = time.Now()
		s.lastStatus = "" // of an earlier answer
		if !s.ticking {
			return s, s.tick()
		}
	case tickMsg:
		return s, s.tick()
	case statusMsg:
		s.asking = false
		s.lastStatus = string(m)
	case tea.PasteMsg:
		s.insert(m.Content)
	case tea.KeyPressMsg:
		s.note = ""
		return s, s.key(m)
	}
	return s, nil
}

func (s *screen) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if s.menuKey(name) {
		return nil
	}
	switch name {
	case "ctrl+c":
		s.interrupt()
	case "ctrl+d":
		if s.input.Value() == "" {
			s.command("/quit")
			return nil
		}
		return s.edit(k)
	case "ctrl+r":
		text, ok := s.history.search(s.typed())
		if !ok {
			s.note = s.says("No earlier line contains this.")
			return nil
		}
		s.set(text)
	case "enter":
		s.enter()
	case "alt+enter", "shift+enter", "ctrl+j":
		s.input.InsertString("\n")
	case "tab":
		s.completePath()
	case "ctrl+o":
		s.openPastes()
	case "up":
		if s.input.Line() > 0 || !s.recall(1) {
			return s.edit(k)
		}
	case "down":
		if s.input.Line() < s.input.LineCount()-1 || !s.recall(-1) {
			return s.edit(k)
		}
	default:
		return s.edit(k)
	}
	return nil
}

func (s *screen) edit(k tea.KeyPressMsg) (cmd tea.Cmd) {
	before := s.input.Value()
	s.input, cmd = s.input.Update(k)
	if s.input.Value() != before {
		s.menu = menu{}
	}
	return cmd
}

// interrupt stops the pending answer, else clears the input, else leaves.
func (s *screen) interrupt() {
	switch {
	case s.waiting.Load() > 0:
		s.command("/stop")
	case s.input.Value() != "":
		s.set("")
	default:
		s.command("/quit")
	}
}

func (s *screen) enter() {
	input := s.typed()
	text := s.pastes.expand(input)
	if strings.TrimSpace(text) == "" {
		return
	}
	if s.submit(entry{text, input}) {
		s.history.add(text)
		s.set("")
	}
}

func (s *screen) command(line string) { s.submit(entry{line, line}) }

// submit queues a line and reports whether there was room; otherwise it stays in the input.
func (s *screen) submit(line entry) bool {
	select {
	case s.lines <- line:
		return true
	default:
		s.note = s.says("Too many lines are queued. Press Enter again in a moment.")
		return false
	}
}

func (s *screen) recall(step int) bool {
	text, ok := s.history.step(step, s.typed())
	if ok {
		s.set(text)
	}
	return ok
}

func (s *screen) set(text string) {
	s.menu = menu{}
	s.input.Reset()
	s.insert(text)
}

// insert inserts text at the cursor, as a placeholder if it is long.
func (s *screen) insert(text string) {
	s.menu = menu{}
	folded := s.pastes.fold(text)
	if folded != text && s.pastes.expand(folded) != folded {
		s.note = s.says("Ctrl-O opens pasted text.")
	}
	s.input.InsertString(strings.ReplaceAll(folded, "\t", typedTab))
}

// openPastes puts the texts of the placeholders into the input, to be edited.
func (s *screen) openPastes() {
	text := s.pastes.expand(s.typed())
	switch {
	case text == s.typed():
		return
	case strings.Count(text, "\n") >= maxOpened:
		s.note = s.says("This text is too long to be edited here. It is sent whole.")
		return
	}
	s.input.Reset()
	s.input.InsertString(strings.ReplaceAll(text, "\t", typedTab))
	_ = s.input.View()  // it scrolls only within what it has drawn
	s.input.MoveToEnd() // so that the cursor is visible
}

// typedTab replaces a tab in the input, which would make spaces of it. It is a noncharacter: no text has it.
const typedTab = "\uFDD0"

// typed returns the text of the input.
func (s *screen) typed() string { return strings.ReplaceAll(s.input.Value(), typedTab, "\t") }

func (s *screen) View() tea.View {
	v := s.view()
	s.draws(v)
	return v
}

func (s *screen) view() tea.View {
	if s.leaving {
		return tea.NewView("")
	}
	above := s.rowsAboveInput()
	input := strings.ReplaceAll(s.input.View(), typedTab, "→")
	room := s.height - rowsAtOnce - 1 - strings.Count(input, "\n") - len(above)
	rows := append(tail(s.below, room, s.width-1), above...)
	v := tea.NewView(strings.Join(append(rows, input), "\n"))
	v.Cursor = s.input.Cursor()
	if v.Cursor != nil {
		v.Cursor.Y += len(rows)
	}
	return v
}

// rowsAboveInput returns the rows between the output and the input.
func (s *screen) rowsAboveInput() (rows []string) {
	if s.waiting.Load() > 0 && !s.since.IsZero() && s.below.unfinished == "" {
		rows = append(rows, s.waitingRow())
	}
	rows = append(rows, s.menuRows()...)
	if s.note != "" {
		rows = append(rows, s.dimmed(s.note))
	}
	return rows
}

func (s *screen) dimmed(text string) string {
	return styled(dim, ansi.Truncate(text, s.width-1, "…"))
}
