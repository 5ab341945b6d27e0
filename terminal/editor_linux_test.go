package terminal

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// private are sequences of newer terminals, some of which the emulator misreads.
var private = regexp.MustCompile(`\x1b\[[<>=?][0-9;]*\$?[a-z]`)

const (
	screenRows    = 60
	screenColumns = 40
)

func TestEditorShowsReplies(t *testing.T) {
	t.Run("text stands on the terminal before the server has sent the rest", func(t *testing.T) {
		var k *keyboard
		model := served(t, func(x *llmtest.Exchange) {
			x.Piece("One two three four five six seven eight ")
			x.Piece("nine")
			k.screen.wait(t, "One two three four five six seven eight\nnine\n")
			x.Say(" ten")
		})
		k = sit(t, Options{}, model)
		k.typed(t, "count\r")
		k.screen.until(t, "the whole answer, once", func(screen string) bool {
			return strings.Contains(screen, "nine ten\n") && strings.Count(screen, "One two") == 1
		})
	})
	t.Run("what is not the reply comes after its last row", func(t *testing.T) {
		var k *keyboard
		model := served(t, func(x *llmtest.Exchange) {
			x.Piece("One two three four five six seven eight ")
			x.Piece("nine")
			k.screen.wait(t, "One two three four five six seven eight")
			k.connector.Compaction("terminal:general", compactor.Event{State: compactor.EventStarted, From: 1, To: 9})
			_, _ = k.connector.Notes().Write([]byte("a log line\n"))
			k.screen.wait(t, "a log line") // it is shown as waiting
			inOrder(t, k.screen.String(), "nine", "a log line")
			x.Say(" ten")
		})
		k = monochrome(t, model)
		k.shows(t, "count\r", "nine ten")
		inOrder(t, k.screen.String(), "One two", "nine ten", "· compacting messages 1 to 9", "a log line")
	})
	t.Run("Stopped. comes after the last row of what it stopped", func(t *testing.T) {
		var k *keyboard
		model := served(t, func(x *llmtest.Exchange) {
			x.Piece("One two three four five six seven eight ")
			x.Piece("nine")
			k.screen.wait(t, "One two three four five six seven eight")
			k.typed(t, "\x03")
			x.Wait(20 * time.Second)
		})
		k = monochrome(t, model)
		k.shows(t, "count\r", "Stopped.")
		inOrder(t, k.screen.String(), "One two", "nine", "Stopped.")
	})
}

func TestEditorCommands(t *testing.T) {
	t.Run("Ctrl-C stops an answer, then clears the line, then leaves", func(t *testing.T) {
		model := scripted(func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		})
		k := sit(t, Options{}, model)
		k.typed(t, "hello\r")
		for len(model.Requests()) == 0 {
			time.Sleep(time.Millisecond)
		}
		k.shows(t, "\x03", "Stopped.")
		k.typed(t, "half a line\x03")
		k.screen.until(t, "an empty line", func(screen string) bool { return strings.HasSuffix(screen, "\n>") })
		k.typed(t, "\x03")
		check.NoError(t, k.end(t))
		check.Equal(t, "requests", len(model.Requests()), 1)
	})
	t.Run("nobody waits for an answer during a pause", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		k.shows(t, "/pause\r", "listening.")
		k.shows(t, "hello\r", "I am still paused here; /resume ends\nthat.")
		if !check.Soon(func() bool { return k.connector.mode.(*editor).waiting.Load() == 0 }) {
			t.Error("the message still waits")
		}
		k.typed(t, "\x03")
		check.NoError(t, k.end(t))
	})
	t.Run("an answer that takes long comes when it is there", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		k.shows(t, "Ada moved to Turin in May.\r", "you said Ada")
		k.shows(t, "/recap\r", "one moment.")
		k.screen.wait(t, "Made without a model")
	})
	t.Run("who waits sees for how long, for which model, and how full the window is", func(t *testing.T) {
		var k *keyboard
		model := served(t, func(x *llmtest.Exchange) {
			k.screen.until(t, "a sign of life", regexp.MustCompile(`· \d+ s · \S+ · window \d+ % full`).MatchString)
			x.Say("here I am")
		})
		k = sit(t, Options{}, model)
		k.typed(t, "hello\r")
		k.screen.until(t, "the answer, and no sign any more", func(screen string) bool {
			return strings.Contains(screen, "here I am") && !strings.Contains(screen, "window")
		})
	})
}

// A message that is not saved leaves an earlier one waiting, which Ctrl-C stops.
func TestCtrlCStopsAfterUnsavedMessage(t *testing.T) {
	model := scripted(func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	})
	k := sit(t, Options{}, model)
	k.typed(t, "hello\r")
	for len(model.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	k.hub.Renew(channel.Rules{Access: map[string]channel.Access{"terminal": {Allow: []string{"Bo"}}}})
	k.shows(t, "and this\r", "was not accepted. Send it again later.")
	k.hub.Renew(channel.Rules{})
	k.shows(t, "\x03", "Stopped.")
	k.typed(t, "\x03")
	check.NoError(t, k.end(t))
}

// The keys of one session: each part begins and ends with an empty line.
func TestEditorKeys(t *testing.T) {
	model := scripted(echo)
	k := sit(t, Options{History: filepath.Join(t.TempDir(), "history")}, model)
	t.Run("Ctrl-R finds an earlier line with what was typed, which may be changed", func(t *testing.T) {
		for _, line := range []string{"the tide is high", "the bell rings", "nothing else"} {
			k.typed(t, line+"\r")
			k.screen.wait(t, "you said "+line)
		}
		k.typed(t, "the\x12")
		k.screen.until(t, "the newest such line", func(screen string) bool { return strings.HasSuffix(screen, "\n> the bell rings") })
		k.typed(t, "\x12")
		k.screen.until(t, "an older one", func(screen string) bool { return strings.HasSuffix(screen, "\n> the tide is high") })
		k.shows(t, "\x12", "No older line contains this.")
		k.shows(t, "er\r", "you said the tide is higher")
	})
	t.Run("Alt-Enter begins a new line, which is part of the message and of the history", func(t *testing.T) {
		k.shows(t, "one\x1b\rtwo", "> one\n  two")
		k.shows(t, "\r", "you said one\n")
		requests := model.Requests()
		told := requests[len(requests)-1].Messages
		check.Contains(t, "prompt", told[len(told)-1].Text, "one\ntwo")
		k.typed(t, "\x1b[A")
		k.screen.until(t, "both lines", func(screen string) bool { return strings.HasSuffix(screen, "\n> one\n  two") })
		k.typed(t, "\x03")
	})
	t.Run("Home, End and Delete do what they say, whatever the terminal sends for them", func(t *testing.T) {
		k.typed(t, "\x1b[3~") // on an empty line
		for i, keys := range [][2]string{{"\x1b[1~", "\x1b[4~"}, {"\x1b[7~", "\x1b[8~"}, {"\x1b[H", "\x1b[F"}} {
			k.typed(t, "bc"+keys[0]+"xa"+keys[0]+"\x1b[3~"+keys[1]+fmt.Sprintf("d%d\r", i))
			k.screen.wait(t, fmt.Sprintf("you said abcd%d\n", i))
		}
	})
	t.Run("bytes that are no UTF-8 are passed over", func(t *testing.T) {
		k.typed(t, "a\xff\xc3(b\xe2\x82")
		k.shows(t, "\xac\r", "you said a(b€")
	})
	k.typed(t, "\x04")
	check.NoError(t, k.end(t))
}

// What the screen shows of a session without colour, whose disk fails at its end.
func TestEditorLines(t *testing.T) {
	model := scripted(echo)
	k := monochrome(t, model)
	t.Run("a slash shows the commands and their help, and Tab completes", func(t *testing.T) {
		k.shows(t, "/", "▸ /compact [focus]")
		k.shows(t, "co", "  /context          show how full")
		k.shows(t, "\x1b[B\t", "\n> /context")
		k.screen.until(t, "no menu", func(screen string) bool { return !strings.Contains(screen, "▸") })
		k.shows(t, "\r", "stack     empty")
	})
	t.Run("an unknown command is refused and not sent", func(t *testing.T) {
		k.shows(t, "/contxt\r", "did you\nmean /context?")
		check.Len(t, "requests", model.Requests(), 0)
	})
	t.Run("no row breaks within a word, inside a reply or outside of it", func(t *testing.T) {
		k.shows(t, "Seventeen harbour lanterns\r", "you said Seventeen harbour lanterns")
		k.shows(t, "Eight harbour lanterns illuminate it\r", "you said Eight harbour lanterns\nilluminate it")
		k.connector.Notes().Write([]byte("Seventeen harbour lanterns are extinguished\n"))
		k.screen.wait(t, "Seventeen harbour lanterns are\nextinguished")
		check.Lacks(t, "the screen", k.raw.String(), "\x1b[2m") // nothing is dim
	})
	t.Run("a message that could not be written is told in a sentence, and the next may be sent", func(t *testing.T) {
		k.lose(t)
		k.shows(t, "hello\r", "was not accepted. Send it again later.")
		k.shows(t, "/context\r", "That did not work; the reason is in my")
		k.typed(t, "/quit\r") // no answer is pending
		check.NoError(t, k.end(t))
		k.logged.wait(t, "database is closed")
		check.Lacks(t, fmt.Sprintf("internal words on the terminal: %q", k.screen), k.screen.String(), "database")
	})
}

func TestApprovalByYes(t *testing.T) {
	k := monochrome(t, scripted(channeltest.Add))
	k.shows(t, "please add\r", "[y/n]")
	k.shows(t, "no\r", "did not allow the")
	k.screen.wait(t, "The tool says: Error")
	k.typed(t, "add all the same\r")
	k.screen.until(t, "the second question", func(screen string) bool { return strings.Count(screen, "[y/n]") == 2 })
	k.shows(t, "y\r", "The tool says: five")
	k.typed(t, "y\r") // no question is open: it is a message
	k.screen.wait(t, "Hello.")
}

// A person who leaves need not wait until the question times out.
func TestQuestionEndsWhenThePersonLeaves(t *testing.T) {
	k := monochrome(t, scripted(channeltest.Add))
	k.shows(t, "please add\r", "[y/n]")
	k.typed(t, "\x04")
	check.NoError(t, k.end(t))
	k.screen.until(t, "the refusal", func(screen string) bool {
		return strings.Contains(strings.ReplaceAll(screen, "\n", " "), "there is no one to ask here")
	})
}

func TestQuestionEndsWithItsTurn(t *testing.T) {
	k := monochrome(t, scripted(channeltest.Add))
	k.shows(t, "please add\r", "[y/n]")
	k.shows(t, "/stop\r", "Stopped.")
	k.typed(t, "y\r") // a message, for which the model asks again
	k.screen.until(t, "the second question", func(screen string) bool { return strings.Count(screen, "[y/n]") == 2 })
}
