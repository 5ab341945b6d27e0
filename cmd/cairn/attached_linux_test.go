package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// echoing answers with what the newest message says.
func echoing(x *llmtest.Exchange) {
	text := x.Request.Last().Text()
	text, _, _ = strings.Cut(text, "\n<now>")
	x.Piece("I hear")
	x.Say(": " + strings.TrimSpace(text[strings.LastIndex(text, "] ")+1:]))
}

// storedOnce checks that each of these messages is stored once, by its text.
func (p folder) storedOnce(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		n := 0
		for _, channel := range []string{"general", "garden"} {
			for _, m := range messagesOf(p.t, p.run("", "transcript", "--json", "--channel", channel).out) {
				if m.Role == "user" && m.Text == text {
					n++
				}
			}
		}
		check.Equal(p.t, "how often it is stored: "+text, n, 1)
	}
}

func TestTwoTerminalsTalkAtTheSameTime(t *testing.T) {
	p := newFolder(t, modelAt(llmtest.Serve(t, echoing))...)
	host := p.start("chat", "--json")
	host.ask(`{"text":"first","id":"h1"}`, `"reply"`)
	for _, channel := range []string{"general", "garden"} { // the same one, and another one
		guest := p.start("chat", "--json", "--deltas", "--user", "Bo", "--channel", channel)
		lines := strings.Join(guest.askAll(`{"text":"hello from `+channel+`","id":"g1"}`, `"reply"`), "\n")
		check.Contains(t, "what a guest reads", lines, `"type":"accepted","channel":"`+channel+`","id":"g1"`, `"type":"usage"`,
			`{"type":"delta","channel":"`+channel+`","to":["g1"],"text":"I hear"}`, `"to":["g1"],"text":"I hear: hello from `+channel+`"`)
		check.Contains(t, "a command", guest.ask(`{"text":"/remember the gate of `+channel+` is green","id":"g2"}`, `"to":["g2"]`), "Saved as memory")
		check.Contains(t, "a known id", guest.ask(`{"text":"again","id":"g1"}`, `"accepted"`), `"id":"g1"`)
		check.Contains(t, "a wrong line", guest.ask(`{"text":"/contxt","id":"g3"}`, `"g3"`), `"error"`, "There is no command /contxt")
		rest := strings.Join(guest.end(), "\n")
		check.Lacks(t, "what else a guest reads", rest, `"reply"`, `"h1"`)
	}
	check.Contains(t, "output through a pipe", p.must("one\n//context\n/context\n", "chat"), "I hear: one\nI hear: /context\n", "running   nothing")
	check.Equal(t, "the answer to a question", p.must("", "ask", "two?"), "I hear: two?\n")
	p.fails(exitFailed, "There is no command /contxt", "ask", "/contxt")
	lines := strings.Join(host.end(), "\n")
	check.Lacks(t, "what the host reads", lines, "g1", "g2", "one", "two?")
	p.storedOnce("first", "hello from general", "hello from garden", "one", "/context", "two?")
	check.Equal(t, "what waits", p.waiting(), 0)
}

func (l *live) askAll(line, text string) []string {
	l.t.Helper()
	l.say(line)
	return l.until(text)
}

func TestParallelQuestions(t *testing.T) {
	p := newFolder(t, modelAt(llmtest.Serve(t, echoing))...)
	var all sync.WaitGroup
	results := make([]result, 10)
	var questions []string
	for i := range results {
		questions = append(questions, fmt.Sprintf("question %d?", i))
		cmd := p.command("ask", questions[i])
		all.Go(func() {
			var errs check.Buffer
			cmd.Stderr = &errs
			out, _ := cmd.Output() // the exit code shows it
			results[i] = result{string(out), errs.String(), cmd.ProcessState.ExitCode()}
		})
	}
	all.Wait()
	for i, r := range results {
		check.That(t, r.code == 0 && strings.HasPrefix(r.out, "I hear: ") && strings.Count(r.out, "\n") == 1 && r.err == "", "%s: code %d, output %q, errors %q", questions[i], r.code, r.out, r.err)
	}
	p.storedOnce(questions...)
	check.Equal(t, "what waits", p.waiting(), 0)
	check.Equal(t, "questions without an answer", p.count("SELECT count(*) FROM messages m WHERE role = 'user' AND (SELECT count(*) FROM outbox WHERE instr(answers, '\"' || m.platform_id || '\"') > 0) <> 1"), 0)
}

// A guest goes on when the bot's process is killed, whatever it did at that moment: another one, or the guest, becomes the bot.
func TestBotIsKilledUnderAGuest(t *testing.T) {
	for _, point := range []string{"before it hears", "before the model is asked", "while the model answers", "when the answer is stored", "when it is sent", "when that is noted"} {
		t.Run(point, func(t *testing.T) {
			p := newFolder(t)
			var mu sync.Mutex
			var kill func() // at the model
			server := llmtest.Serve(t, func(x *llmtest.Exchange) {
				mu.Lock()
				dies := kill
				kill = nil
				mu.Unlock()
				x.Piece("I hear")
				if dies != nil && !isStartCheck(x.Request) {
					dies()
					x.Wait(time.Minute) // until the client is gone
				}
				x.Say(" you.")
			})
			p.env = modelAt(server)
			dying := p
			step := map[string]killStep{
				"before the model is asked": {On: "INSERT ON main.inbox", When: "NEW.platform_id = 'g1'", At: after},
				"before it hears":           {On: "INSERT ON main.inbox", When: "NEW.platform_id = 'g1'", At: atCommit},
				"when the answer is stored": {On: "INSERT ON main.outbox", When: "NEW.answers = '[\"g1\"]'", At: after},
				"when it is sent":           {On: "UPDATE ON main.outbox", When: "NEW.state = 'sending' AND NEW.answers = '[\"g1\"]'", At: after},
				"when that is noted":        {On: "UPDATE ON main.outbox", When: "NEW.state = 'sent' AND NEW.answers = '[\"g1\"]'", At: atCommit},
			}[point]
			if step.On != "" {
				dying.env = append(slices.Clone(p.env), step.env(t))
			}
			host := dying.start("chat", "--json")
			host.ask(`{"text":"first","id":"h1"}`, `"reply"`)
			guest := p.start("chat", "--json")
			guest.ask(`{"text":"/usage","id":"g0"}`, `"g0"`)
			if step.On == "" {
				mu.Lock()
				kill = func() { _ = host.cmd.Process.Kill() }
				mu.Unlock()
			}
			lines := guest.askAll(`{"text":"hello","id":"g1"}`, `"reply"`)
			check.Contains(t, "the answer", strings.Join(lines, "\n"), `"to":["g1"],"text":"I hear you."`)
			host.killed()
			guest.ask(`{"text":"more","id":"g2"}`, `"to":["g2"]`) // before it, the answer that was being printed may come again
			rest := append(lines, guest.end()...)
			replies := map[string]bool{}
			for _, line := range rest {
				if strings.Contains(line, `"reply"`) && strings.Contains(line, `["g1"]`) {
					replies[line] = true
				}
			}
			check.Equal(t, "different replies to the question", len(replies), 1)
			p.storedOnce("first", "hello", "more")
			check.Equal(t, "what waits", p.waiting(), 0)
		})
	}
}

// What a guest has said is answered, whether or not it lives to read that.
func TestGuestIsKilled(t *testing.T) {
	asked := make(chan func(), 1)
	p := newFolder(t, modelAt(llmtest.Serve(t, func(x *llmtest.Exchange) {
		if strings.Contains(x.Request.Last().Text(), "hello") {
			(<-asked)()
		}
		echoing(x)
	}))...)
	host := p.start("chat", "--json")
	host.ask(`{"text":"first","id":"h1"}`, `"reply"`)
	guest := p.start("chat", "--json")
	asked <- func() { _ = guest.cmd.Process.Kill() }
	guest.say(`{"text":"hello","id":"g1"}`)
	guest.killed()
	again := p.start("chat", "--json")
	check.Contains(t, "the message again", again.ask(`{"text":"hello","id":"g1"}`, `"accepted"`), `"id":"g1"`)
	again.end()
	host.ask(`{"text":"more","id":"h2"}`, `"reply"`)
	host.end()
	p.storedOnce("first", "hello", "more")
	check.Equal(t, "what waits", p.waiting(), 0)
}

func TestAStoppedBotIsReportedInWords(t *testing.T) {
	p := newFolder(t)
	host := p.start("chat", "--json")
	host.ask(`{"text":"first","id":"h1"}`, `"reply"`)
	host.signal(syscall.SIGSTOP)
	p.fails(exitFailed, "the bot that runs there did not answer within", "ask", "hello")
	host.signal(syscall.SIGCONT)
	check.Contains(t, "an answer afterwards", p.must("", "ask", "hello"), "Hello")
	host.end()
}
