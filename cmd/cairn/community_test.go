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
	mention string // the mention; empty in a thread where the bot was addressed before
	say     func(user int, text string)
	replies func() []string // of the bot, oldest first, as currently shown
}

// community is a Discord and a Slack with people in them, and a model that answers
// each question by repeating its word.
type community struct {
	t       *testing.T
	discord *discordtest.Server
	slack   *slacktest.Server
	model   *llmtest.Server
	spots   []spot
	held    chan struct{} // closed when the question "hold" may be answered
	folder  folder
	runs    []*live // one after the other

	questions [][]string // by spot, in the order they were asked
	said      []int      // messages by spot, in bursts
}

var asked = regexp.MustCompile(`ask-[a-z]+-\d+|hold`)

// answer repeats every question without an answer.
func (c *community) answer(x *llmtest.Exchange) {
	for _, tool := range x.Request.Tools {
		if tool.Function.Name == "summarize" {
			if x.Wait(time.Second) {
				x.Use("s", "summarize", fmt.Sprintf(`{"summary":"They asked %s, and all was answered."}`, strings.Join(asked.FindAllString(x.Request.Messages[1].Text(), 9), ", ")))
			}
			return
		}
	}
	last := x.Request.Messages[len(x.Request.Messages)-1].Text()
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
	pieces := []string{"You asked:"}
	for _, q := range questions {
		pieces = append(pieces, " "+q)
	}
	for n := range 30 {
		pieces = append(pieces, fmt.Sprintf(" word%d", n))
	}
	pieces = append(pieces, " and that is all.")
	for _, piece := range pieces {
		x.Piece(piece)
		if !x.Wait(pace) {
			return
		}
	}
	x.Finish("stop")
	x.Done()
}

const (
	slackPeople   = 5
	discordPeople = 5
)

func newCommunity(t *testing.T) *community {
	c := &community{t: t, held: make(chan struct{})}
	c.discord = discordtest.New(discordtest.Options{RefusePings: true, GlobalPerSecond: 100_000, HeartbeatWithin: time.Minute})
	t.Cleanup(c.discord.Close)
	c.slack = slacktest.New(slacktest.Options{AckWithin: 20 * time.Second, Redeliver: []time.Duration{0, time.Second, time.Second}})
	t.Cleanup(c.slack.Close)
	c.model = llmtest.Serve(t, c.answer)
	c.people()
	c.folder = newFolder(t, "DISCORD_TOKEN=token", "SLACK_BOT_TOKEN="+slacktest.BotToken, "SLACK_APP_TOKEN="+slacktest.AppToken,
		"OPENAI_BASE_URL="+c.model.URL, "OPENAI_MODEL=m")
	c.folder.write("config.toml", fmt.Sprintf(`[discord]
api_base = %q
[slack]
api_base = %q
reply_in = "channel"
[[agents]]
id = "small"
context_window = 5000
`, c.discord.URL, c.slack.APIURL))
	return c
}

// people fills two channels and a thread on each platform.
func (c *community) people() {
	var users []*discordgo.User
	for i := range discordPeople {
		users = append(users, c.discord.User(fmt.Sprint("Ada", i)))
	}
	guild := c.discord.Guild("Garden", users...)
	mention := "<@" + c.discord.Bot.ID + "> "
	add := func(name, id, mention string) {
		c.spots = append(c.spots, spot{
			name: name, mention: mention,
			say: func(user int, text string) { c.discord.Say(id, users[user%discordPeople].ID, text) },
			replies: func() (texts []string) {
				for _, m := range c.discord.Sent(id) {
					if !m.Deleted {
						texts = append(texts, m.Content)
					}
				}
				return texts
			},
		})
	}
	first, second := c.discord.Channel(guild.ID, "beds"), c.discord.Channel(guild.ID, "tools")
	thread := c.discord.Thread(first.ID, users[0].ID, "slugs")
	add("discord:"+guild.ID+"/"+first.ID, first.ID, mention)
	add("discord:"+guild.ID+"/"+second.ID, second.ID, mention)
	add("discord:"+guild.ID+"/"+first.ID+"/"+thread.ID, thread.ID, "")

	var members []string
	for i := range slackPeople {
		members = append(members, c.slack.AddUser(fmt.Sprint("Grace", i)))
	}
	mention = "<@" + slacktest.BotUserID + "> "
	addSlack := func(name, id, thread, mention string) {
		c.spots = append(c.spots, spot{
			name: name, mention: mention,
			say: func(user int, text string) {
				c.slack.Say(slacktest.Post{Channel: id, User: members[user%slackPeople], Text: text, Thread: thread})
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
	addSlack("slack:"+slacktest.TeamID+"/"+beds, beds, "", mention)
	addSlack("slack:"+slacktest.TeamID+"/"+tools, tools, "", mention)
	addSlack("slack:"+slacktest.TeamID+"/"+tools+"/"+root, tools, root, "")
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

func (c *community) wait(what string, most time.Duration, holds func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(most); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.fail("waited in vain for %s", what)
		}
	}
}

// fail ends the test and shows the end of the program's log.
func (c *community) fail(format string, args ...any) {
	c.t.Helper()
	var told []string
	for line := range strings.Lines(c.logged()) {
		if !strings.Contains(line, `"DEBUG"`) {
			told = append(told, line)
		}
	}
	c.t.Fatalf(format+"\nthe log ends with\n%s", append(args, strings.Join(told[max(0, len(told)-40):], ""))...)
}

// logged returns the program's log so far.
func (c *community) logged() (text string) {
	for _, r := range c.runs {
		text += r.errs.String()
	}
	return text
}

// answered counts the copies of each question in the bot's replies.
func (s spot) answered() (order []string, count map[string]int) {
	count = map[string]int{}
	for _, text := range s.replies() {
		for _, q := range asked.FindAllString(text, -1) {
			if count[q]++; count[q] == 1 {
				order = append(order, q)
			}
		}
	}
	return order, count
}
