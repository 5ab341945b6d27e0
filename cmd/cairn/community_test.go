package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

// spot is one of the conversations of the test, on either platform.
type spot struct {
	name    string // its name in the store
	mention string // how to address the bot for the first time
	thread  bool   // where everything is for the bot, once it was addressed
	say     func(user int, text string)
	replies func() []string // of the bot, oldest first, as currently shown

	questions []string // in the order they were asked
	said      int      // messages in bursts
}

// community is a Discord and a Slack with people in them, and a model that answers each question by
// repeating its word.
type community struct {
	*platforms
	spots       []*spot       // two channels and a thread on each platform
	held        chan struct{} // closed when the question "hold" may be answered
	summarizing atomic.Int32  // requests of the worker that the model is answering
	folder      folder
	program     *live
}

var asked = regexp.MustCompile(`ask-[a-z]+-\d+|hold`)

// answer repeats every question without an answer.
func (c *community) answer(x *llmtest.Exchange) {
	if isWorker(x) {
		c.summarizing.Add(1)
		defer c.summarizing.Add(-1)
		if x.Wait(300 * time.Millisecond) {
			x.Use("s", "summarize", fmt.Sprintf(`{"summary":"They asked %s, and all was answered."}`, strings.Join(asked.FindAllString(x.Request.Messages[1].Text(), 9), ", ")))
		}
		return
	}
	last := x.Request.Last().Text()
	if _, after, found := strings.Cut(last, "</kept>"); found {
		last = after
	}
	last, _, _ = strings.Cut(last, "\n<now>\n") // recalled questions were answered before
	questions := asked.FindAllString(last, -1)
	if slices.Contains(questions, "hold") {
		select {
		case <-c.held:
		case <-time.After(time.Minute):
		}
	}
	for _, piece := range strings.SplitAfter("You asked: "+strings.Join(questions, " ")+strings.Repeat(" word", 30)+" and that is all.", " ") {
		x.Piece(piece)
		if !x.Wait(3 * time.Millisecond) {
			return
		}
	}
	x.Finish("stop")
	x.Done()
}

const people = 5 // on each platform

func newCommunity(t *testing.T) *community {
	c := &community{held: make(chan struct{}), platforms: &platforms{
		t: t, discord: discordtest.New(discordtest.Options{RefusePings: true, GlobalPerSecond: 100_000, HeartbeatWithin: time.Minute}),
		slack: slacktest.New(slacktest.Options{AckWithin: 20 * time.Second, Redeliver: []time.Duration{0, time.Second, time.Second}}),
	}}
	t.Cleanup(c.discord.Close)
	t.Cleanup(c.slack.Close)
	var users []*discordgo.User
	var members []string
	for i := range people {
		users = append(users, c.discord.User(fmt.Sprint("Ada", i)))
		members = append(members, c.slack.AddUser(fmt.Sprint("Grace", i)))
	}
	guild := c.discord.Guild("Garden", users...)
	onDiscord := func(name, id string, thread bool) {
		c.spots = append(c.spots, &spot{
			name: "discord:" + guild.ID + "/" + name, mention: "<@" + c.discord.Bot.ID + "> ", thread: thread,
			say:     func(user int, text string) { c.discord.Say(id, users[user%people].ID, text) },
			replies: func() []string { return (&platforms{discord: c.discord, square: id}).onDiscord() },
		})
	}
	first := c.discord.Channel(guild.ID, "beds").ID
	second := c.discord.Channel(guild.ID, "tools").ID
	thread := c.discord.Thread(first, users[0].ID, "slugs").ID
	onDiscord(first, first, false)
	onDiscord(second, second, false)
	onDiscord(first+"/"+thread, thread, true)
	onSlack := func(name, id, thread string) {
		c.spots = append(c.spots, &spot{
			name: "slack:" + slacktest.TeamID + "/" + name, mention: "<@" + slacktest.BotUserID + "> ", thread: thread != "",
			say: func(user int, text string) {
				c.slack.Say(slacktest.Post{Channel: id, User: members[user%people], Text: text, Thread: thread})
			},
			replies: func() (texts []string) {
				for _, m := range c.slack.Posted() {
					if m.Channel == id && m.Thread == thread && !m.Deleted && m.OnlyFor == "" {
						texts = append(texts, m.Shown())
					}
				}
				return texts
			},
		})
	}
	beds := c.slack.AddChannel("beds", members...)
	tools := c.slack.AddChannel("tools", members...)
	root := c.slack.Say(slacktest.Post{Channel: tools, User: members[0], Text: "let us talk about slugs"})
	onSlack(beds, beds, "")
	onSlack(tools, tools, "")
	onSlack(tools+"/"+root, tools, root)
	c.folder = c.platforms.folder("[[agents]]\ncontext_window = 5000", modelAt(llmtest.Serve(t, c.answer))...)
	c.folder.write("config.toml", strings.Replace(c.folder.read("config.toml"), "[slack]", "[slack]\nreply_in = \"channel\"", 1))
	return c
}

func (c *community) kill() {
	c.program.signal(syscall.SIGKILL) // nothing can be tidied up
	<-c.program.ended
}

func (c *community) wait(what string, holds func(s *spot) bool, in ...*spot) {
	c.t.Helper()
	if len(in) == 0 {
		in = c.spots
	}
	eventually(c.t, what, c.program.errs.String, func() bool { return !slices.ContainsFunc(in, func(s *spot) bool { return !holds(s) }) })
}

func (s *spot) answered() (order []string, count map[string]int) {
	count = map[string]int{}
	for _, q := range asked.FindAllString(strings.Join(s.replies(), "\n"), -1) {
		count[q]++
		if count[q] == 1 {
			order = append(order, q)
		}
	}
	return order, count
}

func (s *spot) answeredAll() bool {
	_, count := s.answered()
	return !slices.ContainsFunc(s.questions, func(q string) bool { return count[q] == 0 })
}

// ask addresses the bot, with a mention where it needs one or begins.
func (s *spot) ask(user int, q string) {
	mention := ""
	if !s.thread || len(s.questions) == 0 {
		mention = s.mention
	}
	s.questions = append(s.questions, q)
	s.say(user, mention+"please tell me about "+q)
}

func (c *community) burst(from, to int) {
	var all sync.WaitGroup
	for _, s := range c.spots {
		all.Go(func() {
			for n := from; n < to; n++ {
				s.said++
				switch {
				case n%23 == 7:
					s.ask(n, fmt.Sprintf("ask-burst-%d", n))
				case s.thread:
					s.ask(n, fmt.Sprintf("ask-thread-%d", n))
				default:
					s.say(n, fmt.Sprintf("talk %d: the beans, the peas and the lettuce want water before noon", n))
				}
			}
		})
	}
	all.Wait()
}

// Two channels and a thread on each platform, some hundred messages, and every kind of failure: each
// message to the bot is answered once, whole and in order, and nothing is lost.
func TestCommunityOnBothPlatforms(t *testing.T) {
	skipIfShort(t, "takes some seconds")
	c := newCommunity(t)
	c.program = c.folder.start("run")
	c.open(c.program)
	for i, s := range c.spots { // from then on the threads need no mention
		s.ask(0, map[bool]string{true: "hold", false: "ask-first-1"}[i%3 == 0])
	}
	held := []*spot{c.spots[0], c.spots[3]}
	others := slices.Concat(c.spots[1:3], c.spots[4:])
	c.wait("answers beside one that is held back", (*spot).answeredAll, others...)
	for _, s := range held { // one on each platform
		_, count := s.answered()
		check.Equal(t, "answers to delayed messages", count["hold"], 0)
	}
	close(c.held)
	c.inTrouble()
	c.kill()
	c.burst(70, 80) // while nothing runs
	c.program = c.folder.start("run")
	c.burst(80, 100)
	c.wait("every answer", (*spot).answeredAll)
	c.wait("the end of every answer", func(s *spot) bool {
		return !slices.ContainsFunc(s.replies(), func(text string) bool { return !strings.HasSuffix(text, "and that is all.") })
	})
	c.wait("an applied summary", func(*spot) bool {
		return c.folder.count("SELECT count(*) FROM compactions WHERE state = 'applied'") > 0
	})
	c.kill()
	for _, s := range c.spots {
		order, count := s.answered()
		for _, q := range s.questions {
			check.Equal(t, s.name+": answers to "+q, count[q], 1)
		}
		check.EqualAll(t, s.name+": answered in another order", order, s.questions)
	}
	// The transcript has every message of the bursts, once and in order.
	db := c.folder.store()
	number := regexp.MustCompile(`(?:talk|ask-burst|ask-thread)[ -](\d+)`)
	for _, s := range c.spots {
		conversation := check.Must(db.Find(t.Context(), s.name))(t)
		var got, want []string
		for _, m := range check.Must(conversation.Transcript().Page(t.Context(), 1, 100_000))(t) {
			if found := number.FindStringSubmatch(m.Text); m.Role == llm.RoleUser && found != nil {
				got = append(got, found[1])
				want = append(want, fmt.Sprint(len(want)))
			}
		}
		check.EqualAll(t, s.name, got, want)
		check.Len(t, s.name+": messages", got, s.said)
	}
	check.Len(t, "complaints of Slack", c.slack.Complaints(), 0)
}

// inTrouble sends messages in each conversation while both platforms fail in every way, until a
// compaction runs.
func (c *community) inTrouble() {
	c.burst(0, 30)
	c.discord.Fail(discordtest.Fault{Of: "POST /channels/*/messages", Times: 3, Status: 429, RetryAfter: 300 * time.Millisecond})
	c.discord.Fail(discordtest.Fault{Of: "POST /channels/*/messages", Times: 2, Status: 502, Done: true})
	c.discord.Fail(discordtest.Fault{Of: "PATCH /channels/*/messages/*", Times: 3, Status: 429, RetryAfter: 300 * time.Millisecond})
	c.slack.Fail(slacktest.Fault{Of: "chat.postMessage", Times: 1, Status: 502, Done: true})
	for _, method := range []string{"chat.postMessage", "chat.update", "chat.appendStream"} {
		c.slack.Fail(slacktest.Fault{Of: method, Times: 1, RetryAfter: time.Second})
	}
	c.burst(30, 40)
	c.discord.Cut()
	for _, socket := range c.slack.Sockets() {
		socket.Cut()
	}
	c.burst(40, 50)
	c.wait("answers on the way", (*spot).answeredAll)
	c.discord.Invalidate(false)
	for _, socket := range c.slack.Sockets() {
		socket.Disconnect("refresh_requested")
	}
	c.burst(50, 70)
	c.wait("a compaction in flight", func(*spot) bool { return c.summarizing.Load() > 0 })
}
