package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/slack/slacktest"
)

// Two channels and a thread on each platform, 900 messages, and every kind of failure: each
// message to the bot is answered once, in order, and nothing is lost.
func TestCommunityOnBothPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	c := newCommunity(t)
	kill := c.run()
	c.wait("both connectors to open", func(*spot) bool {
		identified := func(one discordtest.Connection) bool { return one.Identify } // earlier messages are not received
		return slices.ContainsFunc(c.discord.Connections(), identified) && len(c.slack.Sockets()) > 0
	})
	for _, s := range c.spots { // from then on the threads need no mention
		s.ask(0, "ask-first-1")
	}
	c.wait("the first answers", (*spot).answeredAll)
	c.holdOneBack()
	c.breakStreams()

	const each, killed = 150, 110 // messages in each of six conversations; the process dies in between
	c.inTrouble(killed)
	kill()
	c.burst(killed, 125) // while nothing runs
	kill = c.run()
	c.burst(125, each)
	c.wait("every answer", (*spot).answeredAll)
	c.wait("an applied summary", func(*spot) bool { return strings.Contains(c.logged(), `"state":"applied"`) })
	kill()

	for _, s := range c.spots {
		order, count := s.answered()
		for _, q := range s.questions {
			check.Equal(t, s.name+": answers to "+q, count[q], 1)
		}
		check.EqualAll(t, s.name+": answered in another order", order, s.questions)
	}
	c.checkStore()
	check.Len(t, "complaints of Slack", c.slack.Complaints(), 0)
	if t.Failed() {
		t.Logf("the log ends with\n%s", c.newestLog())
	}
}

// holdOneBack checks that channels do not wait for each other.
func (c *community) holdOneBack() {
	held, others := []*spot{c.spots[0], c.spots[3]}, slices.Concat(c.spots[1:3], c.spots[4:])
	for _, s := range held { // one on each platform
		s.questions = append(s.questions, "hold")
		s.say(0, s.mention+"hold")
	}
	for _, s := range others {
		s.ask(1, "ask-meanwhile-1")
	}
	c.wait("answers beside one that is held back", (*spot).answeredAll, others...)
	for _, s := range held {
		_, count := s.answered()
		check.Equal(c.t, "answers to delayed messages", count["hold"], 0)
	}
	close(c.held)
	c.wait("what was held back", (*spot).answeredAll)
}

// cut ends all connections.
func (c *community) cut() {
	c.discord.Cut()
	for _, socket := range c.slack.Sockets() {
		socket.Cut()
	}
}

// breakStreams checks that an answer streamed during failures is whole in the end.
func (c *community) breakStreams() {
	for _, s := range c.spots {
		s.ask(2, "ask-slowly-1")
	}
	c.wait("drafts of the answers", (*spot).answeredAll)
	c.discord.Fail(discordtest.Fault{Route: "PATCH /channels/*/messages/*", Times: 3, Status: 429, RetryAfter: 300 * time.Millisecond})
	for _, method := range []string{"chat.update", "chat.appendStream"} {
		c.slack.Fail(slacktest.Fault{Method: method, Times: 1, RetryAfter: time.Second})
	}
	c.cut()
	c.wait("the whole answers", func(s *spot) bool {
		texts := s.replies()
		return strings.HasSuffix(texts[len(texts)-1], "and that is all.")
	})
}

// burst sends messages in all conversations at once.
func (c *community) burst(from, to int) {
	var all sync.WaitGroup
	for _, s := range c.spots {
		all.Go(func() {
			for n := from; n < to; n++ {
				s.said++
				switch {
				case n%23 == 7:
					s.ask(n, fmt.Sprintf("ask-burst-%d", n))
				case !s.always: // in a thread everything is for the bot
					s.ask(n, fmt.Sprintf("ask-thread-%d", n))
				default:
					s.say(n, fmt.Sprintf("talk %d: the beans, the peas and the lettuce want water before noon", n))
				}
			}
		})
	}
	all.Wait()
}

// inTrouble sends n messages in each conversation while both platforms fail in every way, until a
// compaction runs.
func (c *community) inTrouble(n int) {
	c.burst(0, 40)
	c.discord.Fail(discordtest.Fault{Route: "POST /channels/*/messages", Times: 3, Status: 429, RetryAfter: 300 * time.Millisecond})
	c.discord.Fail(discordtest.Fault{Route: "POST /channels/*/messages", Times: 2, Status: 502, Done: true})
	c.slack.Fail(slacktest.Fault{Method: "chat.postMessage", Times: 2, RetryAfter: time.Second})
	c.slack.Fail(slacktest.Fault{Method: "chat.postMessage", Times: 1, Status: 502, TakesEffect: true})
	c.burst(40, 60)
	c.cut()
	c.burst(60, 80)
	c.wait("answers on the way", (*spot).answeredAll)
	c.discord.Invalidate(false)
	for _, socket := range c.slack.Sockets() {
		socket.Disconnect("refresh_requested")
	}
	c.burst(80, n)
	c.wait("a compaction in flight", func(*spot) bool {
		text := c.logged()
		return strings.Count(text, `"state":"started"`) > strings.Count(text, `"state":"applied"`)+strings.Count(text, `"state":"failed"`)
	})
}

// checkStore checks that the transcript has every message of the bursts, once and in order.
func (c *community) checkStore() {
	c.t.Helper()
	db := c.folder.store()
	number := regexp.MustCompile(`(?:talk|ask-burst|ask-thread)[ -](\d+)`)
	for _, s := range c.spots {
		conversation := check.Must(db.Find(c.t.Context(), s.name))(c.t)
		var got, want []string
		for _, m := range check.Must(conversation.Transcript().Page(c.t.Context(), 1, 100_000))(c.t) {
			if found := number.FindStringSubmatch(m.Text); m.Role == llm.RoleUser && found != nil {
				got, want = append(got, found[1]), append(want, fmt.Sprint(len(want)))
			}
		}
		check.EqualAll(c.t, s.name, got, want)
		check.Len(c.t, s.name+": messages", got, s.said)
	}
}
