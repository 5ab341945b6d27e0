package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/pgtest"
	"cairn/testkit/slacktest"
)

// crowd are people who write in many channels of Slack, to a bot with several processes.
type crowd struct {
	*platforms
	t        *testing.T
	start    func() *live
	release  func()
	channels []string
	asked    map[string][]string // questions, by channel
}

// newCrowd has the model answer "Here is the: QUESTION", and hold back the end of what contains "slow" until release is closed.
func newCrowd(t *testing.T, channels int) *crowd {
	t.Helper()
	database := pgtest.New(t)
	released := make(chan bool)
	c := &crowd{platforms: newPlatforms(t), t: t, release: sync.OnceFunc(func() { close(released) }), asked: make(map[string][]string)}
	model := llmtest.Serve(t, func(x *llmtest.Exchange) {
		asked := x.Request.Last().Text()
		at := strings.LastIndex(asked, "question")
		if at < 0 {
			x.Say("ok") // to a check of the model
			return
		}
		name := strings.Fields(asked[at:])[0]
		x.Piece("Here is the: ")
		if strings.Contains(name, "slow") {
			<-released
		}
		x.Say(name)
	})
	t.Cleanup(c.release)
	c.start = func() *live {
		settings := fmt.Sprintf("store = %q\nturns_per_minute = 0\n", database.Address("postgres"))
		f := c.folder(settings, append(modelAt(model), "DISCORD_TOKEN=")...)
		file := filepath.Join(f.dir, "config.toml")
		check.NoError(t, os.WriteFile(file, append(check.Must(os.ReadFile(file))(t), "reply_in = \"channel\"\n"...), 0o600))
		return f.start("run", "--health", "127.0.0.1:0")
	}
	for n := range channels {
		c.channels = append(c.channels, c.slack.AddChannel(fmt.Sprint("room-", n), c.ben))
	}
	return c
}

// ask asks a question in a channel.
func (c *crowd) ask(channel, question string) {
	c.asked[channel] = append(c.asked[channel], "Here is the: "+question)
	c.slack.Say(slacktest.Post{Channel: channel, User: c.ben, Text: "<@" + slacktest.BotUserID + "> " + question})
}

// answersIn returns what the bot has written in a channel.
func (c *crowd) answersIn(channel string) (texts []string) {
	for _, m := range c.slack.Messages(channel) {
		if m.BotID == slacktest.BotID && !m.Streaming {
			texts = append(texts, m.Shown())
		}
	}
	return texts
}

// startedAnswer is what people see of an answer that the model has not finished.
const startedAnswer = "Here is"

// allAnswered waits until each question is answered, once. Two in a channel may have one answer.
func (c *crowd) allAnswered(r *live) {
	c.t.Helper()
	unanswered := func() (left []string) {
		for channel, questions := range c.asked {
			said := c.answersIn(channel)
			if len(said) == 0 || said[len(said)-1] != questions[len(questions)-1] {
				left = append(left, questions[len(questions)-1])
			}
		}
		return left
	}
	eventually(c.t, "all is answered", func() string { return fmt.Sprintf("left: %q, standard error\n%s", unanswered(), r.errs) }, func() bool { return len(unanswered()) == 0 })
	for channel := range c.asked {
		said := c.answersIn(channel)
		slices.Sort(said)
		check.Equal(c.t, "answers that came twice", len(said)-len(slices.Compact(said)), 0)
		check.That(c.t, !slices.Contains(said, startedAnswer), "there is the beginning of an answer, too: %q", said)
	}
}

// runsOnce checks that a written command runs once: it comes as a message to one process, and as a mention to the other.
func (c *crowd) runsOnce(command string) {
	c.t.Helper()
	nothing := func() string { return "" }
	eventually(c.t, "both are connected", nothing, func() bool { return len(c.slack.Sockets()) == 2 })
	before := len(c.slack.Messages(c.lab))
	sent := len(c.slack.Deliveries())
	c.slack.Say(slacktest.Post{Channel: c.lab, User: c.ben, Text: "<@" + slacktest.BotUserID + "> " + command})
	answers := func() int { return len(c.slack.Messages(c.lab)) - before - 1 }
	eventually(c.t, "the command is answered", nothing, func() bool { return answers() > 0 })
	time.Sleep(time.Second)
	check.Equal(c.t, "answers to a command", answers(), 1)
	sockets := make(map[int]bool)
	for _, d := range c.slack.Deliveries()[sent:][:2] {
		sockets[d.Socket] = true
	}
	check.Equal(c.t, "sockets that got the command", len(sockets), 2)
}

// A process is killed while people write. Slack sends to the other one what they write, so it has no history to read, but where the first
// one was writing an answer.
func TestKillOnSlack(t *testing.T) {
	c := newCrowd(t, 14) // with two questions each, in one minute: Slack lets an app edit 50 messages
	first := c.start()
	first.logs(`"msg":"connected"`)
	second := c.start()
	second.logs(`"msg":"standing_by"`, `"msg":"connected"`)
	for n, channel := range c.channels {
		c.ask(channel, fmt.Sprint("question-early-", n))
	}
	c.allAnswered(first)
	time.Sleep(6 * time.Second) // longer than the second process takes for young: it must look for what the first one shows
	for n, channel := range c.channels[:3] {
		c.ask(channel, fmt.Sprint("question-slow-", n))
	}
	for _, channel := range c.channels[:3] {
		c.until(first, "the answer is shown", func() bool { return slices.Contains(c.answersIn(channel), startedAnswer) })
	}
	read := c.slack.Seen("conversations.history")
	check.NoError(t, first.cmd.Process.Kill())
	killed := time.Now()
	c.release()
	for n := range 28 {
		c.ask(c.channels[n%len(c.channels)], fmt.Sprint("question-late-", n))
		time.Sleep(100 * time.Millisecond)
	}
	c.allAnswered(second)
	t.Logf("all is answered %v after the kill", time.Since(killed).Round(time.Millisecond))
	pages := c.slack.Seen("conversations.history") - read
	check.That(t, pages >= 3 && pages < 6, "%d pages of history; the first process was writing 3 answers, in 3 of 14 channels", pages)
	check.Equal(t, "refused requests", c.slack.Limited("conversations.history"), 0)
	second.stop()
}

// Each process with Slack is connected to it and ready.
func TestProcessesBesideEachOtherOnSlack(t *testing.T) {
	c := newCrowd(t, 1)
	first := c.start()
	first.logs(`"msg":"connected"`)
	second := c.start()
	second.logs(`"msg":"standing_by"`, `"msg":"connected"`)
	code, said := get(t, "http://"+c.telling(second)+"/readyz")
	check.That(t, code == http.StatusOK && strings.Contains(said, "receives messages: another process answers"), "beside the one that answers: %d, %s", code, said)
	c.slack.Sockets()[0].Cut()
	for n := range 4 {
		c.ask(c.channels[0], fmt.Sprint("question-", n))
		c.allAnswered(second)
	}
	c.runsOnce("/help")
	check.NoError(t, first.cmd.Process.Signal(syscall.SIGTERM))
	second.logs("taking_over")
	c.ask(c.channels[0], "question-last")
	c.allAnswered(second)
	first.exits(exitSignal + int(syscall.SIGTERM))
	second.stop()
}

// A message for the running answer comes as a message to one process, and as a mention to the other. One of them answers; it reads it once.
func TestSteerBetweenProcessesOnSlack(t *testing.T) {
	database := pgtest.New(t)
	p := newPlatforms(t)
	asked := make(chan bool, 100)
	said := make(chan bool)
	model := llmtest.Serve(t, func(x *llmtest.Exchange) {
		raw := string(x.Request.Raw)
		switch {
		case !strings.Contains(raw, "what is tea?"):
			x.Say("ok") // to a check of the model
		case strings.Contains(raw, "in French"):
			x.Say("read")
		default:
			asked <- true
			<-said
			x.Use("c", "recall", `{"query":"tea"}`)
		}
	})
	start := func() *live {
		settings := fmt.Sprintf("store = %q\n", database.Address("postgres"))
		return p.folder(settings, append(modelAt(model), "DISCORD_TOKEN=")...).start("run", "--health", "127.0.0.1:0")
	}
	first := start()
	first.logs(`"msg":"connected"`)
	second := start()
	second.logs(`"msg":"standing_by"`, `"msg":"connected"`)
	db := database.Connect("postgres", "cairn")
	defer db.Close()
	count := func(what string) (n int) {
		check.NoError(t, db.QueryRow("SELECT count(*) FROM "+what).Scan(&n))
		return n
	}
	question := p.slack.Say(slacktest.Post{Channel: p.lab, User: p.ben, Text: "<@" + slacktest.BotUserID + "> what is tea?"})
	<-asked
	sent := len(p.slack.Deliveries())
	p.slack.Say(slacktest.Post{Channel: p.lab, User: p.ben, Thread: question, Text: "<@" + slacktest.BotUserID + "> /steer in French"})
	p.until(first, "both processes have acknowledged it", func() bool {
		done := slices.DeleteFunc(p.slack.Deliveries()[sent:], func(d slacktest.Delivery) bool { return d.Acked.IsZero() })
		return len(done) == 2 && done[0].Socket != done[1].Socket
	})
	check.Equal(t, "messages that wait", count("inbox WHERE steers = 1"), 1)
	close(said)
	p.until(second, "the answer", func() bool {
		return slices.ContainsFunc(p.slack.Messages(p.lab), func(m slacktest.Message) bool { return m.Thread == question && m.Shown() == "read" })
	})
	p.until(second, "all is stored", func() bool { return count("messages WHERE answered = 0")+count("inbox") == 0 })
	check.Equal(t, "copies of the message in the turn", count("messages WHERE text = 'in French' AND turn = 1"), 1)
	check.Equal(t, "copies of the message", count("messages WHERE text = 'in French'"), 1)
	second.stop()
	first.stop()
}
