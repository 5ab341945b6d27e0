package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

// connectorStep is where a program on a platform is killed.
type connectorStep struct {
	name  string
	death killStep
	half  bool // killed when half of the answer is shown
	stuck bool // killed when it posts, before the post takes effect
}

// side is one of the platforms.
type side struct {
	name   string
	say    func(p *platforms, text string)
	shown  func(p *platforms) []string // texts of the bot's messages there
	delay  func(p *platforms)          // delays posts before they take effect
	posted func(p *platforms) int      // number of started posts
}

var sides = []side{
	{
		"Discord", (*platforms).sayOnDiscord, (*platforms).onDiscord,
		func(p *platforms) {
			p.discord.Fail(discordtest.Fault{Route: "POST /channels/*/messages", Delay: time.Minute})
		},
		func(p *platforms) int { return len(p.discord.Requests("POST /channels/*/messages")) },
	},
	{
		"Slack", (*platforms).sayOnSlack, (*platforms).onSlack,
		func(p *platforms) {
			for _, method := range []string{"chat.postMessage", "chat.startStream"} {
				p.slack.Fail(slacktest.Fault{Method: method, Delay: time.Minute})
			}
		},
		func(p *platforms) int { return p.slack.Seen("chat.postMessage") + p.slack.Seen("chat.startStream") },
	},
}

const second = "new.text LIKE '%Where do we stand%'"

var connectorSteps = []connectorStep{
	{name: "a message has come and is not in the inbox", death: killStep{On: "INSERT ON main.inbox", When: second, At: atRow}},
	{name: "a message is in the inbox and not taken up", death: killStep{On: "INSERT ON main.inbox", When: second, At: after}},
	{name: "half of the answer is shown", half: true},
	{name: "a reply is being posted", stuck: true},
	{name: "a reply was posted, and that is not noted", death: killStep{On: "UPDATE ON main.outbox", When: "new.id > 1 AND new.state = 'sent'", At: atRow}},
}

// TestKillAtEveryStepOfAConnector kills the program while it sends to a platform. The next process
// looks up what may have been sent, and sends it once.
func TestKillAtEveryStepOfAConnector(t *testing.T) {
	check.SkipUnderRace(t)
	if testing.Short() {
		t.Skip("it starts a program and two platforms for each step")
	}
	for _, on := range sides {
		for _, s := range connectorSteps {
			t.Run(on.name+": "+s.name, func(t *testing.T) {
				t.Parallel()
				s.die(t, on)
			})
		}
	}
}

const begin, end = "This is where we stand: ", "the gate is green."

func (s connectorStep) die(t *testing.T, on side) {
	killed := make(chan struct{})
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		select {
		case <-killed:
		default:
			if s.half && strings.Contains(x.Request.Last().Text(), "Where do we stand?") {
				x.Piece(begin)
				x.Wait(time.Minute) // until the client is gone
				return
			}
		}
		x.Say(begin, end)
	})
	p := newPlatforms(t)
	f := p.folder("", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m", "OPENAI_API_KEY=k")
	s.killed(p, f, on)
	close(killed)
	p.slack.Heal()

	r := f.start("run")
	p.until(r, "the answer", func() bool { return slices.Equal(on.shown(p), []string{begin + end, begin + end}) })
	on.say(p, "And now?")
	p.until(r, "the next answer", func() bool { return len(on.shown(p)) > 2 && strings.HasSuffix(on.shown(p)[2], end) })
	r.stop()
	if said := on.shown(p); !slices.Equal(said, []string{begin + end, begin + end, begin + end}) {
		t.Errorf("got %q\n%s", said, r.errs)
	}
	w := &recorder{folder: f}
	w.examined()
	for query, want := range map[string]int{
		"SELECT count(*) FROM messages WHERE role = 'user'":        3,
		"SELECT count(*) FROM messages WHERE role = 'assistant'":   3,
		"SELECT count(*) FROM outbox":                              3,
		"SELECT count(DISTINCT platform_id) FROM outbox":           3,
		"SELECT count(*) FROM outbox WHERE state <> 'sent'":        0,
		"SELECT count(*) FROM messages WHERE answered = 0":         0,
		"SELECT (SELECT count(*) FROM inbox) + count(*) FROM gone": 0,
	} {
		check.Equal(t, query, w.count(query), want)
	}
}

// killed kills the program at the step, while it answers a second message, and checks that it did.
func (s connectorStep) killed(p *platforms, f folder, on side) {
	p.t.Helper()
	if s.death != (killStep{}) {
		f.env = append(slices.Clone(f.env), s.death.env(p.t))
	}
	r := f.start("run")
	p.open(r)
	on.say(p, "Hello.")
	p.until(r, "the first answer", func() bool { return slices.Equal(on.shown(p), []string{begin + end}) })
	shown, posted := len(on.shown(p)), on.posted(p)
	if s.stuck {
		on.delay(p)
	}
	on.say(p, "Where do we stand?")
	if s.half || s.stuck {
		p.until(r, s.name, func() bool { return s.half && len(on.shown(p)) > shown || s.stuck && on.posted(p) > posted })
		_ = r.cmd.Process.Kill() // the exit code shows it
	}
	r.killed()
}
