// The screen below what has been said: the reply that is being written, the sign that
// one is awaited, a menu or a search, and the line that is typed.
package terminal

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
)

const (
	maxTyped    = 100 // lines that were typed and wait to be done
	inputRows   = 8   // rows of the input that are seen at once
	promptWidth = 2
	tickEvery   = 250 * time.Millisecond
)

// Messages from the editor.
type (
	unfinishedMsg string   // the reply's block that is being written, in rows
	heldMsg       string   // rows that wait for the reply's end
	waitMsg       struct{} // an answer is awaited
	leaveMsg      struct{} // the screen shall go
)

type (
	tickMsg   struct{}
	statusMsg string
)

// entry is what was typed, and how the terminal shows it.
type entry struct{ text, shown string }

// screen is the model of bubbletea: only its goroutine uses it.
type screen struct {
	lines   chan<- entry // what was typed
	waiting *atomic.Int64
	status  func() string // may take long
	color   bool

	input         textarea.Model
	width, height int
	recent        recent
	menu          menu
	search        *search // nil: nobody searches
	pastes        pastes

	unfinished, held string
	since            time.Time // an answer has been awaited since
	ticks            int
	known            string // what status said last
	note             string // why a key did nothing
	leaving          bool
}

func newScreen(kept *history, lines chan<- entry, waiting *atomic.Int64, color bool) *screen {
	s := &screen{lines: lines, waiting: waiting, color: color, recent: recent{history: kept}, width: 80, height: 24}
	s.input = textarea.New()
	s.input.SetStyles(textarea.Styles{})
	s.input.ShowLineNumbers, s.input.CharLimit, s.input.MaxWidth = false, 0, 0
	s.input.DynamicHeight, s.input.MinHeight, s.input.MaxHeight, s.input.MaxContentHeight = true, 1, inputRows, 1<<20
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
			s.width, s.height = m.Width, m.Height
			s.input.SetWidth(m.Width)
		}
	case unfinishedMsg:
		s.unfinished = string(m)
	case heldMsg:
		s.held = string(m)
	case leaveMsg:
		s.leaving = true
		return s, tea.Quit
	case waitMsg:
		s.since = time.Now()
		if s.ticks == 0 {
			return s, s.tick()
		}
	case tickMsg:
		return s, s.tick()
	case statusMsg:
		s.known = string(m)
	case tea.PasteMsg:
		s.insert(m.Content)
	case tea.KeyPressMsg:
		s.note = ""
		return s, s.key(m)
	}
	return s, nil
}

// tick moves the sign of waiting on. Once a second it asks how full the window is.
func (s *screen) tick() tea.Cmd {
	if s.waiting.Load() == 0 {
		s.ticks = 0
		return nil
	}
	s.ticks++
	next := tea.Tick(tickEvery, func(time.Time) tea.Msg { return tickMsg{} })
	if s.ticks%4 != 1 {
		return next
	}
	return tea.Batch(next, func() tea.Msg { return statusMsg(s.status()) })
}

// key does what a key means: in a search, in the menu, or in the line.
func (s *screen) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if s.search != nil && s.searchKey(k) {
		return nil
	}
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
		s.search = newSearch(s.recent.history)
	case "enter":
		s.enter()
	case "alt+enter", "shift+enter", "ctrl+j":
		s.input.InsertString("\n")
	case "tab": // there is nothing to complete
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

// edit has the input take a key.
func (s *screen) edit(k tea.KeyPressMsg) (cmd tea.Cmd) {
	before := s.input.Value()
	s.input, cmd = s.input.Update(k)
	if s.input.Value() != before {
		s.menu = menu{}
	}
	return cmd
}

// interrupt stops an answer, else clears the line, else leaves.
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

// enter hands on what was typed.
func (s *screen) enter() {
	text := s.pastes.expand(s.input.Value())
	if strings.TrimSpace(text) == "" {
		return
	}
	if s.hand(entry{text, s.input.Value()}) {
		s.recent.add(text)
		s.set("")
	}
}

// command passes on the command of a key.
func (s *screen) command(line string) { s.hand(entry{line, line}) }

// hand passes a line on and reports whether it was taken; otherwise it stays in the input.
func (s *screen) hand(line entry) bool {
	select {
	case s.lines <- line:
		return true
	default:
		s.note = "Too many lines wait. Press Enter again in a moment."
		return false
	}
}

// recall brings an earlier line, or a later one, into the input; false: there is none.
func (s *screen) recall(step int) bool {
	text, ok := s.recent.step(step, s.input.Value())
	if ok {
		s.set(text)
	}
	return ok
}

// set puts text in the place of what is typed.
func (s *screen) set(text string) {
	s.menu = menu{}
	s.input.Reset()
	s.insert(text)
}

// insert inserts a text at the cursor; one the input cannot show as it is, as a mark.
func (s *screen) insert(text string) {
	s.menu = menu{}
	s.input.InsertString(s.pastes.fold(text))
}

func (s *screen) View() tea.View {
	if s.leaving {
		return tea.NewView("")
	}
	below := s.below()
	input := s.input.View()
	room := s.height - rowsAtOnce - 1 - strings.Count(input, "\n") - len(below)
	rows := append(tail(s.unfinished, s.held, room), below...)
	v := tea.NewView(strings.Join(append(rows, input), "\n"))
	if v.Cursor = s.input.Cursor(); v.Cursor != nil {
		v.Cursor.Y += len(rows)
	}
	return v
}

// below are the rows between the reply and the input.
func (s *screen) below() (rows []string) {
	if s.waiting.Load() > 0 && s.unfinished == "" {
		rows = append(rows, s.quiet(s.waits()))
	}
	if s.search != nil {
		rows = append(rows, s.quiet(s.search.String()))
	}
	rows = append(rows, s.menuRows()...)
	if s.note != "" {
		rows = append(rows, s.quiet(s.note))
	}
	return rows
}

func (s *screen) waits() string {
	text := fmt.Sprintf("· %d s", int(time.Since(s.since).Seconds()))
	if s.known != "" {
		text += " · " + s.known
	}
	return text
}

func (s *screen) quiet(text string) string {
	if runes := []rune(text); len(runes) > s.width-1 {
		text = string(runes[:max(s.width-2, 0)]) + "…"
	}
	if s.color {
		return styled(dim, text)
	}
	return text
}

// tail returns the last rows, at most limit, of the unfinished output and of what waits for it.
func tail(unfinished, held string, limit int) []string {
	text := strings.Trim(unfinished+"\n"+held, "\n")
	if text == "" || limit < 1 {
		return nil
	}
	rows := strings.Split(text, "\n")
	return rows[max(len(rows)-limit, 0):]
}
