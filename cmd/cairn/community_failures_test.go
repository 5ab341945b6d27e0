package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/discord/discordtest"
	"cairn/slack/slacktest"
	"cairn/store"
)

// Two channels and a thread on each platform, 900 messages, and every kind of failure: each
// message to the bot is answered once, in order, and nothing is lost.
func TestCommunityOnBothPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	c := newCommunity(t)
	c.questions, c.said = make([][]string, len(c.spots)), make([]int, len(c.spots))
	kill := c.run()
	c.wait("both connectors to open", time.Minute, func() bool {
		identified := func(one discordtest.Connection) bool { return one.Identify } // earlier messages are not received
		return slices.ContainsFunc(c.discord.Connections(), identified) && len(c.slack.Sockets()) > 0
	})
	c.greet()
	c.holdOneBack()
	c.breakStreams()

	const each, killed = 150, 110 // messages in each of six conversations; the process dies in between
	c.inTrouble(killed)
	kill()
	c.burst(killed, 125) // while nothing runs
	kill = c.run()
	c.burst(125, each)
	c.wait("every answer", 3*time.Minute, c.answeredAll)
	c.wait("an applied summary", time.Minute, func() bool {
		return strings.Contains(c.logged(), `"state":"applied"`)
	})
	kill()

	c.wantEachAnsweredOnce()
	c.checkStore(c.said)
	if complaints := c.slack.Complaints(); len(complaints) > 0 {
		t.Errorf("Slack reports: %q", complaints[:min(len(complaints), 10)])
	}
	if t.Failed() {
		c.fail("see above")
	}
}

func (c *community) ask(i, user int, q, mention string) {
	c.questions[i] = append(c.questions[i], q)
	c.spots[i].say(user, mention+"please tell me about "+q)
}

func (c *community) answeredAll() bool {
	for i, s := range c.spots {
		_, count := s.answered()
		for _, q := range c.questions[i] {
			if count[q] == 0 {
				return false
			}
		}
	}
	return true
}

// greet addresses the bot everywhere: from then on the threads need no mention.
func (c *community) greet() {
	for i := range c.spots {
		mention := c.spots[i].mention
		if mention == "" {
			mention = c.spots[i-1].mention
		}
		c.ask(i, 0, "ask-first-1", mention)
	}
	c.wait("the first answers", time.Minute, c.answeredAll)
}

// holdOneBack checks that channels do not wait for each other.
func (c *community) holdOneBack() {
	for _, i := range []int{0, 3} { // one on each platform
		c.questions[i] = append(c.questions[i], "hold")
		c.spots[i].say(0, c.spots[i].mention+"hold")
	}
	for _, i := range []int{1, 2, 4, 5} {
		c.ask(i, 1, "ask-meanwhile-1", c.spots[i].mention)
	}
	c.wait("answers beside one that is held back", time.Minute, func() bool {
		for _, i := range []int{1, 2, 4, 5} {
			if _, count := c.spots[i].answered(); count["ask-meanwhile-1"] == 0 {
				return false
			}
		}
		return true
	})
	for _, i := range []int{0, 3} {
		_, count := c.spots[i].answered()
		check.Equal(c.t, "answers to delayed messages", count["hold"], 0)
	}
	close(c.held)
	c.wait("what was held back", time.Minute, c.answeredAll)
}

// breakStreams checks that an answer streamed during failures is whole in the end.
func (c *community) breakStreams() {
	for i := range c.spots {
		c.ask(i, 2, "ask-slowly-1", c.spots[i].mention)
	}
	c.wait("drafts of the answers", time.Minute, func() bool {
		for _, s := range c.spots {
			if order, _ := s.answered(); !slices.Contains(order, "ask-slowly-1") {
				return false
			}
		}
		return true
	})
	c.discord.Fail(discordtest.Fault{Route: "PATCH /channels/*/messages/*", Times: 3, Status: 429, RetryAfter: 300 * time.Millisecond})
	for _, method := range []string{"chat.update", "chat.appendStream"} {
		c.slack.Fail(slacktest.Fault{Method: method, Times: 1, RetryAfter: time.Second})
	}
	c.discord.Cut()
	for _, socket := range c.slack.Sockets() {
		socket.Cut()
	}
	c.wait("the whole answers", time.Minute, func() bool {
		for _, s := range c.spots {
			texts := s.replies()
			if !strings.HasSuffix(texts[len(texts)-1], "and that is all.") {
				return false
			}
		}
		return true
	})
}

// burst sends messages in all conversations at once.
func (c *community) burst(from, to int) {
	var all sync.WaitGroup
	for i := range c.spots {
		all.Go(func() {
			for n := from; n < to; n++ {
				c.said[i]++
				switch {
				case n%23 == 7:
					c.ask(i, n, fmt.Sprintf("ask-burst-%d", n), c.spots[i].mention)
				case c.spots[i].mention == "": // in a thread everything is for the bot
					c.ask(i, n, fmt.Sprintf("ask-thread-%d", n), "")
				default:
					c.spots[i].say(n, fmt.Sprintf("talk %d: the beans, the peas and the lettuce want water before noon", n))
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
	c.discord.Cut()
	for _, socket := range c.slack.Sockets() {
		socket.Cut()
	}
	c.burst(60, 80)
	c.wait("answers on the way", time.Minute, c.answeredAll)
	c.discord.Invalidate(false)
	for _, socket := range c.slack.Sockets() {
		socket.Disconnect("refresh_requested")
	}
	c.burst(80, n)
	c.wait("a compaction in flight", time.Minute, func() bool {
		text := c.logged()
		return strings.Count(text, `"state":"started"`) > strings.Count(text, `"state":"applied"`)+strings.Count(text, `"state":"failed"`)
	})
}

func (c *community) wantEachAnsweredOnce() {
	for i, s := range c.spots {
		order, count := s.answered()
		for _, q := range c.questions[i] {
			check.Equal(c.t, s.name+": answers to "+q, count[q], 1)
		}
		check.EqualAll(c.t, s.name+": answered in another order", order, c.questions[i])
	}
}

// checkStore checks that the transcript has every message of the burst, once and in order.
func (c *community) checkStore(said []int) {
	c.t.Helper()
	ctx := context.Background()
	db := check.Must(store.Open(ctx, store.Options{Dir: filepath.Join(c.folder.dir, "data")}))(c.t)
	defer db.Close()
	number := regexp.MustCompile(`(?:talk|ask-burst|ask-thread)[ -](\d+)`)
	for i, s := range c.spots {
		conversation := check.Must(db.Find(ctx, s.name))(c.t)
		page := check.Must(conversation.Transcript().Page(ctx, 1, 100_000))(c.t)
		var numbers []string
		for _, m := range page {
			if found := number.FindStringSubmatch(m.Text); m.Role == "user" && found != nil {
				numbers = append(numbers, found[1])
			}
		}
		for n, text := range numbers {
			if text != fmt.Sprint(n) {
				c.t.Errorf("%s: got message %s in place %d", s.name, text, n)
				break
			}
		}
		check.Len(c.t, s.name+": messages", numbers, said[i])
	}
}
