package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/discord/discordtest"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

// spot is one of the conversations of the test, on either platform.
type spot struct {
	name    string // its name in the store
	mention string // how to address the bot for the first time
	always  bool   // each message must address it: the others are threads
	say     func(user int, text string)
	replies func() []string // of the bot, oldest first, as currently shown

	questions []string // in the order they were asked
	said      int      // messages in bursts
}

// community is a Discord and a Slack with people in them, and a model that answers
// each question by repeating its word.
type community struct {
	t       *testing.T
	discord *discordtest.Server
	slack   *slacktest.Server
	spots   []*spot       // two channels and a thread on each platform
	held    chan struct{} // closed when the question "hold" may be answered
	folder  folder
	runs    []*live // one after the other
}

var asked = regexp.MustCompile(`ask-[a-z]+-\d+|hold`)

// answer repeats every question without an answer.
func (c *community) answer(x *llmtest.Exchange) {
	if isWorker(x) {
		if x.Wait(time.Second) {
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
	pace := 3 * time.Millisecond
	if slices.Contains(questions, "ask-slowly-1") {
		pace = 100 * time.Millisecond
	}
	for _, piece := range strings.SplitAfter("You asked: "+strings.Join(questions, " ")+strings.Repeat(" word", 30)+" and that is all.", " ") {
		x.Piece(piece)
		if !x.Wait(pace) {
			return
		}
	}
	x.Finish("stop")
	x.Done()
}

const people = 5 // on each platform

func newCommunity(t *testing.T) *community {
	c := &community{t: t, held: make(chan struct{})}
	c.discord = discordtest.New(discordtest.Options{RefusePings: true, GlobalPerSecond: 100_000, HeartbeatWithin: time.Minute})
	t.Cleanup(c.discord.Close)
	c.slack = slacktest.New(slacktest.Options{AckWithin: 20 * time.Second, Redeliver: []time.Duration{0, time.Second, time.Second}})
	t.Cleanup(c.slack.Close)
	c.discordSpots()
	c.slackSpots()
	c.folder = (&platforms{t: t, discord: c.discord, slack: c.slack}).folder("[[agents]]\nid = \"small\"\ncontext_window = 5000", modelAt(llmtest.Serve(t, c.answer))...)
	c.folder.write("config.toml", strings.Replace(c.folder.read("config.toml"), "[slack]", "[slack]\nreply_in = \"channel\"", 1))
	return c
}

func (c *community) discordSpots() {
	var users []*discordgo.User
	for i := range people {
		users = append(users, c.discord.User(fmt.Sprint("Ada", i)))
	}
	guild := c.discord.Guild("Garden", users...)
	add := func(name, id string, always bool) {
		c.spots = append(c.spots, &spot{
			name: "discord:" + guild.ID + "/" + name, mention: "<@" + c.discord.Bot.ID + "> ", always: always,
			say: func(user int, text string) { c.discord.Say(id, users[user%people].ID, text) },
			replies: func() []string {
				return (&platforms{discord: c.discord, square: id}).onDiscord()
			},
		})
	}
	first, second := c.discord.Channel(guild.ID, "beds").ID, c.discord.Channel(guild.ID, "tools").ID
	thread := c.discord.Thread(first, users[0].ID, "slugs").ID
	add(first, first, true)
	add(second, second, true)
	add(first+"/"+thread, thread, false)
}

func (c *community) slackSpots() {
	var members []string
	for i := range people {
		members = append(members, c.slack.AddUser(fmt.Sprint("Grace", i)))
	}
	add := func(name, id, thread string) {
		c.spots = append(c.spots, &spot{
			name: "slack:" + slacktest.TeamID + "/" + name, mention: "<@" + slacktest.BotUserID + "> ", always: thread == "",
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
	beds, tools := c.slack.AddChannel("beds", members...), c.slack.AddChannel("tools", members...)
	root := c.slack.Say(slacktest.Post{Channel: tools, User: members[0], Text: "let us talk about slugs"})
	add(beds, beds, "")
	add(tools, tools, "")
	add(tools+"/"+root, tools, root)
}

// run starts the program and returns a function that kills it.
func (c *community) run() (kill func()) {
	c.t.Helper()
	r := c.folder.start("run", "--log-level", "debug")
	c.runs = append(c.runs, r)
	return func() {
		r.signal(syscall.SIGKILL) // nothing can be tidied up
		<-r.ended
	}
}

// wait waits until a condition holds in all of these spots; none: in all.
func (c *community) wait(what string, holds func(s *spot) bool, in ...*spot) {
	c.t.Helper()
	if len(in) == 0 {
		in = c.spots
	}
	for deadline := time.Now().Add(2 * time.Minute); slices.ContainsFunc(in, func(s *spot) bool { return !holds(s) }); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("waited in vain for %s\nthe log ends with\n%s", what, c.newestLog())
		}
	}
}

// newestLog returns the end of the program's log, from info on.
func (c *community) newestLog() string {
	told := slices.DeleteFunc(strings.SplitAfter(c.logged(), "\n"), func(line string) bool { return strings.Contains(line, `"DEBUG"`) })
	return strings.Join(told[max(0, len(told)-40):], "")
}

// logged returns the program's log so far.
func (c *community) logged() (text string) {
	for _, r := range c.runs {
		text += r.errs.String()
	}
	return text
}

// answered counts the copies of each question in the bot's replies.
func (s *spot) answered() (order []string, count map[string]int) {
	count = map[string]int{}
	for _, q := range asked.FindAllString(strings.Join(s.replies(), "\n"), -1) {
		if count[q]++; count[q] == 1 {
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
	if s.always || len(s.questions) == 0 {
		mention = s.mention
	}
	s.questions = append(s.questions, q)
	s.say(user, mention+"please tell me about "+q)
}
