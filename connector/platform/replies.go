// Replies: a stream shows one while it is written, and a splitter makes messages of it.

package platform

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Splitter splits replies into messages: between paragraphs, else lines, else words. A code block is closed and reopened with
// its language. Apart from these fences, and from empty lines at the splits, the messages add up to the text.
type Splitter struct {
	Limit int            // the most that a message may cost; at least 300, which leaves room for the longest fence
	Cost  func(rune) int // cost of a character; nil: its length in UTF-16
}

// Texts splits a text; for a blank one it returns just empty.
func (s Splitter) Texts(text, empty string) (all []string) {
	text = cutEmptyLines(strings.ToValidUTF8(text, "\uFFFD"))
	for fence := ""; text != ""; {
		opening, closing := "", ""
		if fence != "" {
			opening = fence + "\n"
		}
		end, next := s.fit(text, fence, s.Limit-s.CostOf(opening))
		visible, part := hasContent(text[:end], fence), text[:end]
		if text, fence = text[end:], next; fence != "" {
			closing = fenceMarks(fence)
			if !strings.HasSuffix(part, "\n") {
				closing = "\n" + closing
			}
		} else {
			text = cutEmptyLines(text)
		}
		if visible || len(all) == 0 && text == "" && strings.TrimSpace(part) != "" {
			all = append(all, opening+part+closing)
		}
	}
	if len(all) == 0 {
		return []string{empty}
	}
	return all
}

// Fit returns a text that costs at most Limit: the longest lines are shortened and, if need be, the end is left out.
func (s Splitter) Fit(text string) string {
	for limit := s.Limit; s.CostOf(text) > s.Limit && limit > 20; limit = limit * 3 / 4 {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = Short(line, limit)
		}
		text = strings.Join(lines, "\n")
	}
	return s.Texts(text, "")[0]
}

// cutEmptyLines removes empty lines at the start. The first line that is left keeps its indentation.
func cutEmptyLines(text string) string {
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return text
		}
		text = rest
	}
}

// hasContent reports whether a text that starts in the code block of a fence, if any, has more than blank lines and fences.
func hasContent(text, fence string) bool {
	for line := range strings.Lines(text) {
		after := fenceAfter(line, fence)
		if after == fence && strings.TrimSpace(line) != "" {
			return true
		}
		fence = after
	}
	return false
}

// fit returns where to split a text so that the first piece costs at most room, including the end of its code block. fence is
// that of the code block in which the text starts, next that of the one in which it is split; empty if there is none.
func (s Splitter) fit(text, fence string, room int) (end int, next string) {
	used, at, paragraph, initial := 0, 0, 0, fence
	for at < len(text) {
		line := text[at:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		after := fenceAfter(line, fence)
		if used+s.CostOf(line)+closingCost(after) > room {
			break
		}
		if fence == "" && after != "" && hasContent(text[:at], initial) {
			paragraph = at // prefer a split before a code block to one inside
		}
		used, at, fence = used+s.CostOf(line), at+len(line), after
		if strings.TrimSpace(line) == "" && fence == "" {
			paragraph = at
		}
	}
	switch {
	case at == len(text):
		return at, ""
	case paragraph*3 > at:
		return paragraph, ""
	case at > 0:
		return at, fence
	}
	return s.splitLine(text, room-closingCost(fence)), fence
}

// splitLine returns where to split a line so that the first part costs at most room: in the second half after a space, or after a
// sentence of a script without spaces; else before a letter, with its accents, or an emoji, with all its parts.
func (s Splitter) splitLine(line string, room int) int {
	used, end, gap := 0, 0, 0
	for i, r := range line {
		size := s.cost(r)
		if used+size > room || r == '\n' {
			break
		}
		used, end = used+size, i+utf8.RuneLen(r)
		if (unicode.IsSpace(r) || strings.ContainsRune("。！？", r)) && used > room/2 {
			gap = end
		}
	}
	if gap > 0 {
		return gap
	}
	_, size := utf8.DecodeRuneInString(line[end:])
	letter := "" // the one that the character at end belongs to, up to that character
	for rest, state := line[:end+size], -1; rest != ""; {
		letter, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
	}
	return cmp.Or(end+size-len(letter), end) // end if the line begins with a letter that is too long
}

const (
	maxFenceLine = 200 // bytes of a line that counts as the start or the end of a code block
	maxFence     = 40  // bytes of its start that are repeated in each message: the marks and the language
)

// fenceAfter returns the fence of the code block that is open after a line: the line that opened it, up to the language.
func fenceAfter(line, fence string) string {
	line = strings.TrimSpace(line)
	m := fenceMarks(line)
	info := strings.TrimSpace(line[len(m):])
	switch {
	case m == "", len(m) > maxFence, len(line) > maxFenceLine:
		return fence
	case fence != "" && info == "" && m[0] == fence[0] && len(m) >= len(fenceMarks(fence)):
		return ""
	case fence != "" || strings.Contains(info, "`"):
		return fence
	}
	if language, _, _ := strings.Cut(info, " "); len(m)+len(language) <= maxFence {
		return m + language
	}
	return m
}

// fenceMarks returns the run of three or more ` or ~ with which a line opens or closes a code block.
func fenceMarks(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

func closingCost(fence string) int {
	if fence == "" {
		return 0
	}
	return 1 + len(fenceMarks(fence))
}

// CostOf returns how much of the limit a text uses.
func (s Splitter) CostOf(text string) (n int) {
	for _, r := range text {
		n += s.cost(r)
	}
	return n
}

func (s Splitter) cost(r rune) int {
	switch {
	case s.Cost != nil:
		return s.Cost(r)
	case r > 0xffff:
		return 2
	}
	return 1
}

// Stream shows a reply until it is sent: one goroutine shows that the bot is working, another the latest text. They wait until
// the group is opened: a reply may resume before the connector runs. One goroutine calls its methods, apart from those about edits.
type Stream struct {
	Live context.Context // canceled when the stream ends; for work that may be abandoned

	group    *Group
	working  func(ctx context.Context)
	first    time.Duration // from the first text until it is shown
	show     ShowText
	showing  bool
	end      context.CancelFunc
	running  sync.WaitGroup
	text     atomic.Pointer[string] // the latest
	changed  chan struct{}          // has a token while there is a text that is not shown yet
	nextEdit time.Time              // used by the goroutine that shows the text, until it has ended
}

// ShowText shows a text. It returns the delay until the next call (0: after the next change); more is false if further calls are
// pointless.
type ShowText func(ctx context.Context, text string) (delay time.Duration, more bool)

// NewStream returns a stream that does nothing before Working or Show is called. The requests that working and show
// make should not be canceled with Live: a canceled one may still take effect after the reply is sent.
func NewStream(g *Group, working func(ctx context.Context), first time.Duration, show ShowText) *Stream {
	s := &Stream{group: g, working: working, first: first, show: show, changed: make(chan struct{}, 1)}
	s.Live, s.end = context.WithCancel(g.Ctx)
	return s
}

// Working starts showing that the bot is working.
func (s *Stream) Working() { s.start(s.working) }

// Show sets the latest text, and starts showing it.
func (s *Stream) Show(text string) {
	s.text.Store(&text)
	select {
	case s.changed <- struct{}{}:
	default:
	}
	if !s.showing {
		s.showing = true
		s.start(s.follow)
	}
}

func (s *Stream) start(do func(ctx context.Context)) {
	if s.Live.Err() != nil {
		return
	}
	s.running.Add(1)
	if !s.group.Start(func(ctx context.Context) {
		defer s.running.Done()
		if s.group.Wait(s.Live) == nil {
			do(ctx)
		}
	}) {
		s.running.Done()
	}
}

// NoteEdit allows no further edit for a pause.
func (s *Stream) NoteEdit(pause time.Duration) { s.nextEdit = time.Now().Add(pause) }

// UntilEdit returns how long to wait before the next edit.
func (s *Stream) UntilEdit() time.Duration { return time.Until(s.nextEdit) }

// follow shows the latest text after each change, the first one after a pause, and none before the next edit is allowed.
func (s *Stream) follow(ctx context.Context) {
	delay, more := time.Duration(0), true
	for first := s.first; more; first = 0 {
		if delay == 0 {
			select {
			case <-s.changed:
			case <-s.Live.Done():
			}
			delay = max(first, s.UntilEdit())
		}
		if Sleep(s.Live, delay) != nil {
			return
		}
		select {
		case <-s.changed: // the text came during the pause, and is shown now
		default:
		}
		delay, more = s.show(ctx, *s.text.Load())
	}
}

// Stop ends the stream and waits for its last request, which must not take effect after a later one.
func (s *Stream) Stop() {
	s.end()
	s.running.Wait()
}
