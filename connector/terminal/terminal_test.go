package terminal

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"cairn/channel"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
	"cairn/testkit/wordstest"
)

func TestMain(m *testing.M) {
	check.InMemory()
	// The tests mostly wait, side by side, each as if the terminal were a plain one with colours.
	if err := errors.Join(flag.Set("test.parallel", "16"), os.Setenv("TERM", "xterm"), os.Unsetenv("NO_COLOR")); err != nil {
		panic(err)
	}
	// The key reader's last event has no receiver if the screen closes meanwhile.
	const reader = "github.com/charmbracelet/ultraviolet.(*TerminalReader).StreamEvents"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(reader), goleak.IgnoreAnyFunction(reader+".func1"))
}

type buffer struct{ check.Buffer }

// wait returns once the buffer contains text.
func (b *buffer) wait(t *testing.T, text string) {
	t.Helper()
	check.That(t, check.Soon(func() bool { return strings.Contains(b.String(), text) }), "timed out waiting for %q; got %q", text, b)
}

// session is a terminal on its own hub, with a real store and a scripted model.
type session struct {
	connector *Terminal
	hub       *channel.Hub
	store     *store.Store
	out, err  *buffer
	log       *slog.Logger // what the connector logs
	logged    *buffer
}

// lose makes the store fail once nothing is left to write: a reply is recorded as sent after it is shown.
func (s *session) lose(t *testing.T) {
	t.Helper()
	check.NoError(t, s.hub.Drain(t.Context()))
	check.NoError(t, s.store.Close())
}

type answer = func(ctx context.Context, n int, req llm.Request) (llm.Response, error)

// echo answers with the last message, without its time stamp.
func echo(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
	return llmtest.Say("you said " + lastWords(req)), nil
}

func lastWords(req llm.Request) string {
	text := req.Messages[len(req.Messages)-1].Text
	text, _, _ = strings.Cut(text, "\n<now>")
	_, words, _ := strings.Cut(text[max(strings.LastIndex(text, "[#"), 0):], "] ")
	return strings.TrimSpace(words)
}

func scripted(f answer) *llmtest.Model { return &llmtest.Model{Func: f} }

func open(t *testing.T, o Options, model llm.Model) *session {
	t.Helper()
	s := &session{out: &buffer{}, err: &buffer{}, logged: &buffer{}}
	s.log = slog.New(slog.NewTextHandler(s.logged, nil))
	if o.Out == nil {
		o.Out = s.out
		o.Err = s.err
	}
	if o.Channel == "" {
		o.Channel = "general"
		o.User = "Ada"
	}
	s.connector = check.Must(New(o))(t)
	s.store = storetest.OpenStore(t, t.TempDir())
	agent := channel.Agent{
		ID: "test", Model: model, MaxOutput: 1000,
		Policy: compactor.DefaultPolicy, Toolbox: &channeltest.Box{Approve: channel.ApproveAlways}, ToolServers: []string{"calc"},
	}
	s.hub = channel.New(channel.Options{
		Store: s.store, Agent: func(string) channel.Agent { return agent }, Connectors: []channel.Connector{s.connector},
		Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() { check.NoError(t, s.hub.Close()) })
	return s
}

// talk runs the terminal on input until its end.
func talk(t *testing.T, o Options, input string, model answer) *session {
	t.Helper()
	o.In = strings.NewReader(input)
	s := open(t, o, scripted(model))
	check.NoError(t, s.run(t))
	return s
}

// run runs the terminal and returns its error; it must not take long.
func (s *session) run(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return s.connector.Run(ctx, Here(s.hub, s.log), s.log)
}

// messages returns what is stored of a conversation.
func (s *session) messages(t *testing.T, conversation string) []chat.Message {
	t.Helper()
	return check.Must(storetest.Find(t, s.store, conversation).Transcript().Page(t.Context(), 1, 10))(t)
}

// inOrder checks that a text contains parts in this order.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, behind, found := strings.Cut(rest, part)
		check.Require(t, found, "%q is out of place: %q", part, text)
		rest = behind
	}
}

func TestFinishedBlocks(t *testing.T) {
	for _, test := range []struct{ name, text, rest string }{
		{"nothing", "", ""},
		{"a paragraph may go on", "one\ntwo\n\n", "one\ntwo\n\n"},
		{"it ends where another begins", "one\n\ntwo", "two"},
		{"a list may go on behind an empty line", "- one\n\n- tw", "- one\n\n- tw"},
		{"and have paragraphs", "1. one\n\n   more", "1. one\n\n   more"},
		{"it ends where a paragraph begins", "1. one\n\ntwo", "two"},
		{"code has empty lines", "```\na\n\nb", "```\na\n\nb"},
		{"code ends with its fence", "```\na\n\nb\n```\nc", "c"},
	} {
		rest := test.text[finishedBlocks(test.text):]
		check.Equal(t, test.name, rest, test.rest)
	}
	t.Run("what is shown is the same however the text arrives", rapid.MakeCheck(func(t *rapid.T) {
		blocks := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a **bold** word\nand more", "# Heading", "- one\n- two\n\n- three", "1. one\n\n   more\n2. two",
			"```go\nfunc f() {\n\n\treturn\n}\n```", "> quoted\n> words", "| a | b |\n|---|---|\n| 1 | 2 |", "---", "*slanted* words",
		}), 1, 6).Draw(t, "blocks")
		text := strings.Join(blocks, "\n\n")
		width := rapid.IntRange(20, 60).Draw(t, "width")
		var parts []string
		used := 0
		for i := range len(text) {
			if n := finishedBlocks(text[used:max(i, used)]); n > 0 {
				if block := strings.TrimSpace(text[used : used+n]); block != "" {
					parts = append(parts, renderMarkdown(block, width, true))
				}
				used += n
			}
		}
		parts = append(parts, renderMarkdown(strings.TrimSpace(text[used:]), width, true))
		got := strings.Join(parts, "\n\n")
		want := renderMarkdown(text, width, true)
		check.Require(t, got == want, "in parts:\n%s\nwhole:\n%s", got, want)
	}))
}

func TestRenderMarkdown(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"words", "a *b* **c** `d` ~~e~~", "a \x1b[3mb\x1b[23m \x1b[1mc\x1b[22m \x1b[36md\x1b[39m \x1b[9me\x1b[29m"},
		{"unfinished marks stay", "a **b", "a **b"},
		{"links", "[here](https://example.org) <https://example.com>", "here (https://example.org) https://example.com"},
		{"tabs in code reach their stops", "```\n\ta\té\tb\nc\n\t\td\n```", "  \x1b[36m        a       é       b\x1b[39m\n  \x1b[36mc\x1b[39m\n  \x1b[36m                d\x1b[39m"},
		{"a quotation", "> a\n> b", "│ a\n│ b"},
		{"a nested list", "1. a\n   - b\n2. c", "1. a\n   • b\n2. c"},
		{
			"a table is aligned as it says, wide characters too", "|a|b|c|\n|:-|-:|:-:|\n|東京|7|x|\n|I|1200|🐈 é|",
			"┌────┬────┬────┐\n│a   │   b│ c  │\n├────┼────┼────┤\n│東京│   7│ x  │\n│I   │1200│🐈 é│\n└────┴────┴────┘",
		},
		{"HTML stays", "<b>a</b>", "<b>a</b>"},
		{"escapes", "1 \\* 2 &lt; 3", "1 * 2 < 3"},
		{"no character reference reaches the terminal", "&#27;[2J&#x9b;2J&#x202e;a", "[2J2Ja"},
	} {
		check.Equal(t, test.name, renderMarkdown(test.text, 60, true), test.want)
	}
	// A row of a table has a cell for each column, and a link has the whole address that it refers to.
	for _, text := range []string{
		strings.Repeat("|a", 300) + "\n" + strings.Repeat("|-", 300) + "\n" + strings.Repeat("|\n", 300),
		"[a]: /" + strings.Repeat("x", 3000) + "\n\n" + strings.Repeat("[a]", 900),
	} {
		rows := len(renderMarkdown(text, 60, true))
		check.That(t, rows < 2*len(text), "%.20q: %d bytes of a text of %d", text, rows, len(text))
	}
}

func TestListsContinueBehindTheirMark(t *testing.T) {
	check.Equal(t, "rows", hanging("one two three four five six", 20, false), "one two three four\nfive six")
	check.Equal(t, "rows", hanging("two  blanks in what somebody said", 20, false), "two  blanks in what\nsomebody said")
	check.Equal(t, "rows", hanging("(1) fact: tea is at five\n- #2: it is", 20, false), "(1) fact: tea is at\n    five\n- #2: it is")
	check.Equal(t, "rows", hanging("used  five of nine tokens\nof which  four", 20, true),
		"used  five of nine\n      tokens\nof which  four")
	check.Equal(t, "rows", hanging("/settings [setting]  show or change it", 20, true),
		"/settings\n    [setting]  show\n    or change it")
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc é界":                         "a\tb\nc é界",
		"\x1b[2Jred\x07\r \u009b31m\x7f":     "[2Jred 31m",
		"a\u202eb\u202cc\u2066d\u2069\u200e": "abcd\u200e",
		"\xff\x9b2J":                         "\ufffd\ufffd2J",
	} {
		check.Equal(t, "text", Printable(text), want)
	}
}

// FuzzPrintable checks Printable's promises for any text.
func FuzzPrintable(f *testing.F) {
	for _, text := range wordstest.Texts() {
		f.Add(text, 40)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 1 + max(width, 0)%200
		shown := printable(text)
		const controls = "\x1b\x07\r\x00\u009b\u009d\u0090\u202e\u2066"
		check.Require(t, Printable(shown) == shown && !strings.ContainsAny(shown, controls), "%q: got %q", text, shown)
		for _, rows := range []string{renderMarkdown(readable(text), width, true), wrap(shown, width), hanging(shown, width, true)} {
			for _, style := range [][2]string{bold, italic, struck, cyan} {
				rows = strings.NewReplacer(style[0], "", style[1], "").Replace(rows)
			}
			rows = strings.ReplaceAll(rows, "\x1b[m", "")
			check.Require(t, !strings.ContainsAny(rows, controls), "%q in rows of %d: %q", text, width, rows)
		}
	})
}

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	h := check.Must(openHistory(file))(t)
	for i := range maxHistory + 5 {
		line := "line " + strconv.Itoa(i)
		h.add(line)
		h.add(line) // says nothing new
		h.add("  ")
	}
	check.NoError(t, h.file.Close())
	again := check.Must(openHistory(file))(t)
	defer again.file.Close()
	check.Len(t, "lines", again.lines, maxHistory)
	check.Equal(t, "newest and oldest", again.lines[maxHistory-1]+", "+again.lines[0], "line 1004, line 5")
	check.Equal(t, "file", strings.Count(string(check.Must(os.ReadFile(file))(t)), "\n"), maxHistory)
}

func TestWrapBreaksBetweenWords(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"it fits", "it fits"},
		{"one two three four five", "one two three four\nfive"},
		{"pass --model-name to it", "pass --model-name\nto it"},
		{"(1) fact: tea is at five", "(1) fact: tea is at\n    five"},
		{"ok     tea  is at five o'clock", "ok     tea  is at\n       five o'clock"},
		{"  --as NAME       the asking one", "  --as NAME\n  the asking one"},
		{"see\n  https://example.org/a-long/address", "see\n  https://example.org/a-long/address"},
		{"東京 東京 東京 東京 東京", "東京 東京 東京 東京\n東京"},
		{"Which model do you want? ", "Which model do you\nwant? "},
	} {
		check.Equal(t, test.text, Wrap(test.text, 19), test.want)
	}
	check.Equal(t, "filled", Fill("one\ntwo\n\nthree:\n  four\n  five\nsix"), "one two\n\nthree:\n  four\n  five\nsix")
}
