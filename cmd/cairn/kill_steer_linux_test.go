package main

import (
	"strings"
	"sync"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// steerSteps are where the program is killed while a message reaches a running answer.
var steerSteps = map[string]killStep{
	"the message is about to be in the inbox":    {On: "INSERT ON main.inbox", When: "new.steers = 1", At: atCommit},
	"the message is in the inbox":                {On: "INSERT ON main.inbox", When: "new.steers = 1", At: after},
	"the turn that has read it is being written": {On: "DELETE ON main.inbox", When: "old.steers = 1", At: atRow},
	"the turn is about to be committed":          {On: "DELETE ON main.inbox", When: "old.steers = 1", At: atCommit},
	"the turn is committed":                      {On: "DELETE ON main.inbox", When: "old.steers = 1", At: after},
}

// TestKillWhileAMessageReachesARunningAnswer: the next process continues the turn. The message is there once, in the turn, and read.
func TestKillWhileAMessageReachesARunningAnswer(t *testing.T) {
	check.SkipUnderRace(t)
	skipIfShort(t, "it starts two programs for each step")
	t.Parallel()
	for name, death := range steerSteps {
		t.Run(name, func(t *testing.T) {
			p := newFolder(t)
			var l *live
			var once sync.Once
			said := make(chan struct{})
			server := llmtest.Serve(t, func(x *llmtest.Exchange) {
				if strings.Contains(string(x.Request.Raw), `"role":"tool"`) {
					x.Say("read: " + map[bool]string{true: "in French", false: "nothing"}[strings.Contains(x.Request.Last().Text(), "in French")])
					return
				}
				once.Do(func() {
					l.say(`{"text":"/steer in French","id":"c2"}`)
					close(said)
					check.Soon(func() bool { return l.isOver() || p.ask("count(*) FROM inbox") != "0" })
				})
				x.Use("c", "recall", `{"query":"tea"}`)
			})
			writeServerSettings(p, server, "")
			dying := p
			dying.env = []string{death.env(t)}
			l = dying.start("chat", "--json")
			l.say(`{"text":"what is tea?","id":"c1"}`)
			<-said
			l.killed()
			p.examined()
			accepted := p.ask("(SELECT count(*) FROM inbox) + count(*) FROM messages WHERE role = 'user' AND text = 'in French'")
			p.must("", "chat")
			p.examined()
			check.Equal(t, "its copies, those in the turn, and answers; messages without answer, in the inbox, and replies not sent", p.ask(
				"count(*) FROM messages WHERE text = 'in French'", "count(*) FROM messages WHERE text = 'in French' AND turn = 1",
				"count(*) FROM messages WHERE role = 'assistant' AND text LIKE 'read: %'",
				"count(*) FROM messages WHERE answered = 0", "count(*) FROM inbox", "count(*) FROM outbox WHERE state <> 'sent'"),
				accepted+" "+accepted+" 1 0 0 0")
		})
	}
}
