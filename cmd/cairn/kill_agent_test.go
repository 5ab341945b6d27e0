package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

// TestKillOfAnAgent kills the program while Slack shows that it works: then the next process ends that, and nothing is sent twice.
// In the last two steps a person has stopped the answer.
func TestKillOfAnAgent(t *testing.T) {
	check.SkipUnderRace(t)
	skipIfShort(t, "it starts programs and platforms")
	t.Parallel()
	for _, s := range []step{
		{name: "half of the answer is shown", server: "half"},
		{name: "the answer is stopped, and that is not on disk", death: killStep{On: "INSERT ON main.outbox", When: "new.id > 1", At: atRow}},
		{name: "the answer is stopped, and Slack does not know yet that the work has ended", server: "stopped"},
	} {
		t.Run(s.name, func(t *testing.T) { dieAsAgent(t, s) })
	}
}

func dieAsAgent(t *testing.T, s step) {
	killed := make(chan struct{})
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		select {
		case <-killed:
		default:
			if strings.Contains(x.Request.Last().Text(), "Where do we stand?") {
				x.Piece(begin)
				x.Wait(time.Minute) // until the client is gone
				return
			}
		}
		x.Say(begin, end)
	})
	again := slices.Repeat([]time.Duration{500 * time.Millisecond}, 60) // Slack repeats after a minute what nobody acknowledged
	p := platformsWith(t, discordtest.Options{RefusePings: true}, slacktest.Options{Agent: true, Redeliver: again})
	f := p.folder("", modelAt(server)...)
	if s.death != (killStep{}) {
		f.env = append(slices.Clone(f.env), s.death.env(t))
	}
	r := f.start("run")
	p.open(r)
	p.sayOnSlack("Hello.")
	first := []string{begin + end}
	p.until(r, "the first answer", func() bool { return slices.Equal(p.onSlack(), first) && f.waiting() == 0 && p.slack.Processing() == 0 })
	question := p.slack.Say(slacktest.Post{Channel: p.lab, User: p.ben, Text: "<@" + slacktest.BotUserID + "> Where do we stand?"})
	p.until(r, "half of the answer", func() bool { return len(p.onSlack()) > 1 })
	check.Equal(t, "sessions that Slack shows as busy", p.slack.Processing(), 1)
	if s.server == "stopped" {
		p.slack.Fail(slacktest.Fault{Of: "agents.sessions.setStatus", Delay: time.Minute, Times: -1})
	}
	if s.server != "half" {
		p.slack.StopSession(p.lab, question, p.ben)
	}
	if s.server == "stopped" {
		p.until(r, "the answer is noted", func() bool { return f.ask("count(*) FROM outbox WHERE state = 'sent'") == "2" })
	}
	if s.server != "" {
		_ = r.cmd.Process.Kill() // the exit code shows it
	}
	r.killed()
	p.slack.Clear()
	check.That(t, s.server == "" || p.slack.Processing() == 1, "no session is busy: the test proves nothing")
	close(killed)

	f.env = slices.DeleteFunc(f.env, func(v string) bool { return strings.HasPrefix(v, dies+"=") })
	r = f.start("run")
	p.open(r)
	p.until(r, "the session has ended", func() bool { return p.slack.Processing() == 0 && f.waiting() == 0 })
	p.sayOnSlack("And now?")
	said := func() []string { // to all: that it was stopped, it tells one person
		return slices.DeleteFunc(p.onSlack(), func(text string) bool { return text == "Stopped." || text == "There is nothing to stop." })
	}
	p.until(r, "the next answer", func() bool { return len(said()) > 2 && said()[2] == begin+end })
	p.until(r, "the session has ended", func() bool { return p.slack.Processing() == 0 })
	r.stop()
	texts := said()
	check.Len(t, "messages", texts, 3)
	check.HasPrefix(t, "the answer", texts[1], "This is where we")
	if s.server == "stopped" {
		check.Lacks(t, "what was shown when it was stopped", texts[1], end)
	}
	f.examined()
}
