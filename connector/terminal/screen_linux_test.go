package terminal

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// narrow makes the display narrower, as terminals do that break long rows: what is on it is written again, and wraps.
func (k *keyboard) narrow(columns int) {
	before := k.screen.String()
	k.screen.terminal.Resize(columns, screenRows)
	_, _ = k.screen.terminal.Write([]byte("\x1b[H\x1b[2J" + strings.ReplaceAll(before, "\n", "\r\n")))
	k.connector.mode.(*editor).program.Send(tea.WindowSizeMsg{Width: columns, Height: screenRows})
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
		k.narrow(step.columns)
		k.screen.until(t, step.want, func(screen string) bool { return strings.HasSuffix(screen, step.want) })
	}
	k.typed(t, "\x03")
	k.leave(t, "\x03")
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
	for n, want := range map[int]string{800: "800", 128_000: "128k", 131_072: "128k", 32_770: "32k", 1_000_000: "1M", 1_048_576: "1M", 1_500_000: "1.5M"} {
		check.Equal(t, "a window", shortTokens(n), want)
	}
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
