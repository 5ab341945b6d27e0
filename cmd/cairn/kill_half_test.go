package main

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

// TestHalfAnAnswerToADeletedQuestion kills the program while half of an answer is shown whose question is deleted: before the
// kill, but the half is still there, or before the next process shows anything. That one removes the half.
func TestHalfAnAnswerToADeletedQuestion(t *testing.T) {
	check.SkipUnderRace(t)
	skipIfShort(t, "it starts programs and platforms")
	t.Parallel()
	sides := []halfSide{
		{side{"Discord", (*platforms).sayOnDiscord, (*platforms).onDiscord}, (*platforms).deleteOnDiscord, (*platforms).removalsOnDiscord},
		{side{"Slack", (*platforms).sayOnSlack, (*platforms).onSlack}, (*platforms).deleteOnSlack, (*platforms).removalsOnSlack},
	}
	for _, on := range sides {
		t.Run(on.name+": deleted before the kill", func(t *testing.T) { on.die(t, true) })
		t.Run(on.name+": deleted after the start", func(t *testing.T) { on.die(t, false) })
	}
}

type halfSide struct {
	side
	remove   func(p *platforms)     // deletes the last question
	removals func(p *platforms) int // requests that would remove the half
}

func (on halfSide) die(t *testing.T, before bool) {
	var asked atomic.Int32 // how often the model was asked the question
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if !strings.Contains(x.Request.Last().Text(), "Where do we stand?") {
			x.Say(begin, end)
			return
		}
		if asked.Add(1) == 1 {
			x.Piece(begin)
		}
		x.Wait(time.Minute) // until the client is gone
	})
	p := newPlatforms(t)
	f := p.folder("", modelAt(server)...)
	r := f.start("run")
	p.open(r)
	on.say(p, "Hello.")
	first := []string{begin + end}
	p.until(r, "the first answer", func() bool { return slices.Equal(on.shown(p), first) && f.waiting() == 0 })
	on.say(p, "Where do we stand?")
	p.until(r, "half of the answer", func() bool { return len(on.shown(p)) > 1 })
	if before {
		p.discord.Fail(discordtest.Fault{Of: "DELETE /channels/*/messages/*", Delay: time.Minute})
		for _, method := range []string{"chat.delete", "chat.stopStream"} {
			p.slack.Fail(slacktest.Fault{Of: method, Delay: time.Minute})
		}
		on.remove(p)
		p.until(r, "the removal of the half", func() bool { return on.removals(p) > 0 })
	}
	_ = r.cmd.Process.Kill() // the exit code shows it
	r.killed()
	p.discord.Clear()
	p.slack.Clear()
	check.Equal(t, "messages of the bot", len(on.shown(p)), 2)

	r = f.start("run")
	if !before {
		p.until(r, "the question to the model", func() bool { return asked.Load() == 2 })
		p.open(r)
		on.remove(p)
	}
	p.until(r, "the first answer alone", func() bool { return slices.Equal(on.shown(p), first) })
	on.say(p, "And now?")
	p.until(r, "the next answer", func() bool { return slices.Equal(on.shown(p), append(first, begin+end)) })
	r.stop()
	f.examined()
}

// TestHalfAnAnswerToAQuestionDeletedUnnoticed loses the deletion of a question before half of the answer is posted, which then
// refers to no message. The next process finishes it.
func TestHalfAnAnswerToAQuestionDeletedUnnoticed(t *testing.T) {
	check.SkipUnderRace(t)
	skipIfShort(t, "it starts programs and platforms")
	var asked atomic.Int32
	deleted := make(chan struct{})
	p := newPlatforms(t)
	f := p.folder("", modelAt(llmtest.Serve(t, func(x *llmtest.Exchange) {
		if !strings.Contains(x.Request.Last().Text(), "Where do we stand?") || asked.Add(1) > 1 {
			x.Say(begin, end)
			return
		}
		<-deleted
		x.Piece(begin)
		x.Wait(time.Minute) // until the client is gone
	}))...)
	r := f.start("run")
	p.open(r)
	p.sayOnDiscord("Hello.")
	p.until(r, "the first answer", func() bool { return slices.Equal(p.onDiscord(), []string{begin + end}) && f.waiting() == 0 })
	p.sayOnDiscord("Where do we stand?")
	p.until(r, "the question to the model", func() bool { return asked.Load() == 1 })
	p.discord.Drop(1)
	p.deleteOnDiscord()
	close(deleted)
	p.until(r, "half of the answer", func() bool { return len(p.onDiscord()) > 1 })
	_ = r.cmd.Process.Kill() // the exit code shows it
	r.killed()

	r = f.start("run")
	p.until(r, "the answer", func() bool {
		return len(p.onDiscord()) > 1 && strings.HasSuffix(p.onDiscord()[len(p.onDiscord())-1], end)
	})
	p.sayOnDiscord("And now?")
	p.until(r, "the next answer", func() bool { return f.waiting() == 0 && len(p.onDiscord()) > 2 })
	r.stop()
	check.EqualAll(t, "messages of the bot", p.onDiscord(), []string{begin + end, begin + end, begin + end})
}

func (p *platforms) deleteOnDiscord() {
	said := slices.DeleteFunc(p.discord.Messages(p.square), func(m discordtest.Message) bool { return m.Author.ID != p.ann.ID })
	p.discord.Delete(p.square, said[len(said)-1].ID)
}

func (p *platforms) deleteOnSlack() {
	said := slices.DeleteFunc(p.slack.Messages(p.lab), func(m slacktest.Message) bool { return m.User != p.ben })
	p.slack.Delete(p.lab, said[len(said)-1].TS)
}

func (p *platforms) removalsOnDiscord() int {
	return len(p.discord.Requests("DELETE /channels/*/messages/*"))
}

func (p *platforms) removalsOnSlack() int {
	return p.slack.Seen("chat.delete") + p.slack.Seen("chat.stopStream")
}
