package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// fatalModel answers with the newest message in quotation marks, which live reads as a line; what kill receives is called first, and then
// there is no answer.
func fatalModel(t *testing.T, kill <-chan func()) []string {
	t.Helper()
	return modelAt(llmtest.Serve(t, func(x *llmtest.Exchange) {
		text, _, _ := strings.Cut(x.Request.Last().Text(), "\n<now>")
		text = text[strings.LastIndex(text, "] ")+1:]
		if strings.Contains(text, "fatal") {
			select {
			case dies := <-kill:
				dies()
				x.Wait(time.Minute) // until the client is gone
			default:
			}
		}
		x.Say(`"I hear: ` + strings.TrimSpace(text) + `"`)
	}))
}

// A terminal whose process runs the bot prints only answers of its own channel, also where an earlier bot heard the question. One that
// speaks JSON Lines prints those that it asked for.
func TestTheBotsTerminalPrintsOnlyItsOwnAnswers(t *testing.T) {
	for _, mode := range []string{"pipe", "json"} {
		t.Run(mode, func(t *testing.T) {
			kill := make(chan func(), 1)
			p := newFolder(t, fatalModel(t, kill)...)
			start := func(channel string) (ask func(text string), l *live) {
				if mode == "pipe" {
					l = p.start("chat", "--channel", channel)
					return l.say, l
				}
				l = p.start("chat", "--channel", channel, "--json")
				return func(text string) { l.say(`{"text":"` + text + `"}`) }, l
			}
			begin := func(channel string) (ask func(text string), l *live) {
				ask, l = start(channel)
				ask("from " + channel)
				l.until("I hear: from " + channel)
				return ask, l
			}
			_, host := begin("lobby")
			askGarden, garden := begin("garden")
			askAttic, attic := begin("attic")
			killed := make(chan bool)
			kill <- func() { // the garden becomes the bot
				attic.signal(syscall.SIGSTOP)
				_ = host.cmd.Process.Kill()
				close(killed)
			}
			askAttic("fatal")
			<-killed
			host.killed()
			askGarden("more")
			lines := garden.until("I hear: more")
			attic.signal(syscall.SIGCONT)
			attic.until("I hear: fatal")
			attic.end()
			lines = append(lines, garden.end()...)
			check.Lacks(t, "what the garden prints", strings.Join(lines, "\n"), "fatal", "attic")
			check.Equal(t, "what waits", p.waiting(), 0)
		})
	}
}

// The answer to a question that an earlier run left is no output of the terminal of another channel.
func TestALeftQuestionIsNotPrintedElsewhere(t *testing.T) {
	kill := make(chan func(), 1)
	p := newFolder(t, fatalModel(t, kill)...)
	before := p.start("chat", "--channel", "attic")
	before.ask("first", "I hear: first")
	killed := make(chan bool)
	kill <- func() {
		_ = before.cmd.Process.Kill()
		close(killed)
	}
	before.say("fatal")
	<-killed
	before.killed()
	garden := p.start("chat", "--channel", "garden")
	garden.ask("hello", "I hear: hello")
	attic := p.start("chat", "--channel", "attic")
	attic.ask("more", "I hear: more")
	attic.end()
	check.Lacks(t, "what the garden prints", strings.Join(garden.end(), "\n"), "fatal", "more")
	check.Equal(t, "what waits", p.waiting(), 0)
}

// The process at whose side a terminal is may not be the one that owns its conversation.
func TestTerminalsBesideTwoProcesses(t *testing.T) {
	check.SkipUnderRace(t)
	p, _ := startPair(t)
	check.Equal(t, "an answer of the owner", p.firstFolder.must("one\n", "chat"), "Answer: one\n")
	check.Equal(t, "one through the other process", p.folder.must("two\n", "chat"), "Answer: two\n")
	check.Equal(t, "a question", p.folder.must("", "ask", "three"), "Answer: three\n")
	check.Contains(t, "a command", p.folder.must("/context\n", "chat"), "running   nothing")
	check.Contains(t, "JSON Lines", p.folder.must(`{"text":"next","id":"n"}`+"\n", "chat", "--json"), `"to":["n"],"text":"Answer: next"`)
	p.first.stop()
	check.Equal(t, "after the owner has ended", p.folder.must("last\n", "chat"), "Answer: last\n")
	p.second.stop()
}
