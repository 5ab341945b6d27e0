package terminal

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	tea "charm.land/bubbletea/v2"

	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// resize gives the display another width, as terminals do that break long rows: what is on it is written again, and wraps.
func (k *keyboard) resize(columns int) {
	before := k.screen.String()
	k.screen.terminal.Resize(columns, screenRows)
	_, _ = k.screen.terminal.Write([]byte("\x1b[H\x1b[2J" + strings.ReplaceAll(before, "\n", "\r\n")))
	e := k.connector.mode.(*editor)
	e.mu.Lock() // it may just have started
	defer e.mu.Unlock()
	e.program.Send(tea.WindowSizeMsg{Width: columns, Height: screenRows})
}

func TestNarrowTerminalShowsTheInputOnce(t *testing.T) {
	t.Parallel()
	k := sit(t, Options{}, scripted(echo))
	k.shows(t, "hello\r", "you said hello\n")
	k.shows(t, "a line that is half typed", "\n> a line that is half typed")
	for _, step := range []struct {
		columns int
		want    string
	}{
		{24, "> hello\nyou said hello\n\n> a line that is half\n  typed"},
		{17, "> hello\nyou said hello\n\n> a line that is\n  half typed"},
		{30, "> hello\nyou said hello\n\n> a line that is half typed"},
	} {
		k.resize(step.columns)
		k.screen.until(t, step.want, func(screen string) bool { return strings.HasSuffix(screen, step.want) })
	}
	k.typed(t, "\x03")
	k.leave(t, "\x03")
}

// The block of a reply that is not finished was made for a wider terminal. What is above it stays.
func TestResizeDuringAReply(t *testing.T) {
	t.Parallel()
	resized := make(chan struct{})
	k := sit(t, Options{}, served(t, func(x *llmtest.Exchange) {
		x.Piece("Here is\n\n| a | b |\n|---|---|\n| one two three | four five six |\n| x | y ")
		<-resized
		x.Say("z |\n\ndone")
	}))
	k.shows(t, "hello\r", "│one two three│four five six│\n")
	for _, step := range []struct {
		columns int
		want    string
	}{
		{24, "> hello\nHere is\n\n┌─────────────┬────────\n│a            │b\n"},
		{26, "> hello\nHere is\n\n┌─────────────┬──────────\n│a            │b\n"},
		{40, "> hello\nHere is\n\n┌─────────────┬─────────────┐\n│a            │b            │\n"},
	} {
		k.resize(step.columns)
		k.screen.wait(t, step.want)
	}
	close(resized)
	k.screen.wait(t, "│x            │y z          │\n└─────────────┴─────────────┘\n\ndone\n")
}

func TestRowsFitTheScreen(t *testing.T) {
	var waiting atomic.Int64
	s := newScreen(&history{}, make(chan entry, 1), &waiting)
	s.insert("/")
	for width, want := range map[int]string{
		80: "▸ /compact [focus]       summarize the older messages now",
		40: "▸ /compact [focus]   summarize the old…",
		20: "▸ /compact…  summa…",
	} {
		s.width = width
		check.Equal(t, "a row of the menu", s.menuRows()[0], styled(dim, want))
	}
	s.set(strings.Repeat("row\n", pasteRows))
	s.openPastes()
	s.note = ""
	for height, want := range map[int]int{24: inputRows, 10: 5, 1: 1} {
		s.Update(tea.WindowSizeMsg{Width: 40, Height: height})
		rows := strings.Split(s.view().Content, "\n")
		check.Equal(t, "rows of the input", len(rows), want)
	}
	s.width = 12
	check.Equal(t, "wide characters", s.dimmed("考えています考えています"), styled(dim, "考えていま…"))
}

// chosen is a model whose choice is announced when its window is asked for.
type chosen struct {
	*llmtest.Model
	announce func()
}

func (c chosen) Window(ctx context.Context) llm.Window {
	c.announce()
	return c.Model.Window(ctx)
}

func TestHeadlineNamesTheModel(t *testing.T) {
	t.Parallel()
	model := &chosen{Model: &llmtest.Model{Func: echo, Tokens: 32_768}}
	k := sit(t, Options{}, model, func(s *session) {
		model.announce = func() { _, _ = s.connector.Notes().Write([]byte("a note\n")) }
	})
	k.screen.wait(t, "a note")
	first, _, _ := strings.Cut(strings.ReplaceAll(k.screen.String(), "\n", " "), " a note")
	check.Equal(t, "what comes before the note", first, "Cairn · #general · "+model.Name()+" (32k) · /help for commands, Ctrl-D to quit")
}

func TestErasureOfBrokenRows(t *testing.T) {
	status := "· 3 s · a model · window 5 % full"
	input := "> 東京東京"
	shown := frame{rows: []string{status, input}, cursor: [2]int{10, 1}}
	for width, want := range map[int]string{
		40: "",                       // nothing is broken
		33: "",                       // the status fills its row
		32: "\r\x1b[2A\x1b[J\x1b[1B", // the status takes a row more
		9:  "\r\x1b[5A\x1b[J\x1b[1B", // three more, and the input one
	} {
		check.Equal(t, "erasure", shown.erasure(width), want)
	}
	check.Equal(t, "erasure before anything is drawn", frame{}.erasure(10), "")
}

// While the database is rewritten, a message waits for it, and the screen shows for how long. /stop does not wait.
func TestStopWhileAMessageWaits(t *testing.T) {
	t.Parallel()
	model := scripted(func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n > 1 {
			return echo(ctx, n, req)
		}
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	})
	k := sit(t, Options{}, model)
	k.typed(t, "hello\r")
	check.Require(t, check.Soon(func() bool { return len(model.Requests()) > 0 }), "no request")
	rewriting := make(chan struct{})
	rewritten := make(chan struct{})
	var rewrite sync.WaitGroup
	rewrite.Go(func() {
		check.NoError(t, k.store.Update(t.Context(), func(*store.Tx) {
			close(rewriting)
			<-rewritten
		}))
	})
	<-rewriting
	k.typed(t, "and this\r")
	k.screen.until(t, "how long it waits", regexp.MustCompile(`and this\n· (< 1|\d+) s`).MatchString)
	k.shows(t, "\x03", "Stopped.")
	close(rewritten)
	rewrite.Wait()
	k.screen.wait(t, "you said")
	requests := model.Requests()
	check.Len(t, "requests", requests, 2)
	check.Contains(t, "the second request", fmt.Sprint(requests[1].Messages), "and this")
}

// A long paste is a placeholder, which Ctrl-O opens to be edited.
func TestPastesOpen(t *testing.T) {
	t.Parallel()
	model := scripted(says("yes"))
	k := sit(t, Options{}, model)
	k.typed(t, "\x0f") // nothing to open
	k.shows(t, "see: \x1b[200~"+strings.Repeat("\trow\r", pasteRows)+"end\x1b[201~", "Ctrl-O opens pasted text.\n> see: [pasted 1:")
	k.typed(t, "\x0f.") // at its end
	k.screen.until(t, "the last rows", func(screen string) bool { return strings.HasSuffix(screen, "\n  →row\n  →row\n  end.") })
	k.typed(t, "\r")
	check.Require(t, check.Soon(func() bool { return len(model.Requests()) == 1 }), "it is not sent")
	check.Equal(t, "prompt", lastWords(model.Requests()[0]), "see: "+strings.Repeat("\trow\n", pasteRows)+"end.")
}

func TestTooLongToOpen(t *testing.T) {
	var waiting atomic.Int64
	lines := make(chan entry, 1)
	s := newScreen(&history{}, lines, &waiting)
	text := strings.Repeat("row\n", 2*maxOpened+1) // more than the input keeps
	s.insert(text)
	s.openPastes()
	check.Contains(t, "the note", s.note, "too long to be edited")
	s.enter()
	check.That(t, (<-lines).text == text, "it is not sent whole")
	s.insert(strings.Repeat("row\n", maxOpened-1))
	s.openPastes()
	check.Equal(t, "rows that are open", s.input.LineCount(), maxOpened)
}
