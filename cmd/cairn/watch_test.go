package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/discord/discordtest"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/slack/slacktest"
)

// spot is one of the conversations of the test, on either platform.
type spot struct {
	name    string // as the store knows it
	mention string // what addresses the bot; empty in a thread where it was addressed before
	say     func(user int, text string)
	replies func() []string // of the bot, oldest first, as they stand
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
	log     *os.File
}

var asked = regexp.MustCompile(`ask-[a-z]+-\d+|hold`)

// answer repeats every question that no answer stands behind yet.
func (c *community) answer(x *llmtest.Exchange) {
	for _, tool := range x.Request.Tools {
		if tool.Function.Name == "summarize" {
			if x.Wait(time.Second) {
				x.Use("s", "summarize", `{"summary":"They asked many things, and all of them were answered."}`)
			}
			return
		}
	}
	last := x.Request.Messages[len(x.Request.Messages)-1].Text()
	if _, after, found := strings.Cut(last, "</kept>"); found {
		last = after
	}
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
	c.model = llmtest.NewServer(c.answer)
	t.Cleanup(c.model.Close)
	c.people()
	c.folder = newFolder(t, "DISCORD_TOKEN=token", "SLACK_BOT_TOKEN="+slacktest.BotToken, "SLACK_APP_TOKEN="+slacktest.AppToken,
		"OPENAI_BASE_URL="+c.model.URL, "OPENAI_MODEL=m")
	c.folder.write("config.toml", fmt.Sprintf(`turns_per_minute = 0
[discord]
api_base = %q
[slack]
api_base = %q
[[agents]]
id = "small"
context_window = 12000
`, c.discord.URL, c.slack.APIURL))
	var err error
	if c.log, err = os.Create(filepath.Join(c.folder.dir, "log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.log.Close() })
	return c
}

// people fills two channels and a thread on each platform.
func (c *community) people() {
	var users []discordtest.User
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

// run starts the program and returns what kills it.
func (c *community) run() (kill func()) {
	c.t.Helper()
	cmd := c.folder.command("run", "--log-level", "debug")
	cmd.Stdout, cmd.Stderr = c.log, c.log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	var once sync.Once
	kill = func() {
		once.Do(func() {
			_ = cmd.Process.Kill() // SIGKILL: nothing can be tidied up
			<-ended
		})
	}
	c.t.Cleanup(kill)
	return kill
}

func (c *community) wait(what string, most time.Duration, holds func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(most)
	for !holds() {
		if time.Now().After(deadline) {
			c.fail("waited in vain for %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// fail ends the test and shows the end of the program's log.
func (c *community) fail(format string, args ...any) {
	c.t.Helper()
	text, _ := os.ReadFile(c.log.Name())
	lines := strings.Split(string(text), "\n")
	var told []string
	for _, line := range lines {
		if !strings.Contains(line, "DEBUG") && !strings.Contains(line, `level=DEBUG`) {
			told = append(told, line)
		}
	}
	c.t.Fatalf(format+"\nthe log ends with\n%s", append(args, strings.Join(told[max(0, len(told)-40):], "\n"))...)
}

// answered counts how often each question is repeated in a spot's replies.
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

// Two channels and a thread on each platform, 2 000 messages, and everything goes
// wrong: whoever addressed the bot is answered once, in order, and nothing is lost.
func TestACommunityOnBothPlatformsThroughEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	c := newCommunity(t)
	kill := c.run()
	c.wait("both doors to open", time.Minute, func() bool {
		return len(c.discord.Connections()) > 0 && len(c.slack.Sockets()) > 0
	})

	// Everybody gets acquainted: from here on the threads need no mention.
	questions := make([][]string, len(c.spots)) // by spot, in the order they were asked
	ask := func(i, user int, q, mention string) {
		questions[i] = append(questions[i], q)
		c.spots[i].say(user, mention+"please tell me about "+q)
	}
	for i := range c.spots {
		mention := c.spots[i].mention
		if mention == "" {
			mention = c.spots[i-1].mention
		}
		ask(i, 0, "ask-first-1", mention)
	}
	answeredAll := func() bool {
		for i, s := range c.spots {
			_, count := s.answered()
			for _, q := range questions[i] {
				if count[q] == 0 {
					return false
				}
			}
		}
		return true
	}
	c.wait("the first answers", time.Minute, answeredAll)

	t.Run("no channel waits for another", func(t *testing.T) {
		for _, i := range []int{0, 3} { // one on each platform
			questions[i] = append(questions[i], "hold")
			c.spots[i].say(0, c.spots[i].mention+"hold")
		}
		for _, i := range []int{1, 2, 4, 5} {
			ask(i, 1, "ask-meanwhile-1", c.spots[i].mention)
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
			if _, count := c.spots[i].answered(); count["hold"] != 0 {
				t.Error("what was held back was answered")
			}
		}
		close(c.held)
		c.wait("what was held back", time.Minute, answeredAll)
	})

	t.Run("an answer that is streamed while everything breaks is whole in the end", func(t *testing.T) {
		for i := range c.spots {
			ask(i, 2, "ask-slowly-1", c.spots[i].mention)
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
	})

	const each, killed = 334, 200 // messages in each of six conversations; the process dies in between
	said := make([]int, len(c.spots))
	burst := func(from, to int) {
		var all sync.WaitGroup
		for i := range c.spots {
			all.Go(func() {
				for n := from; n < to; n++ {
					said[i]++
					switch {
					case n%23 == 7:
						ask(i, n, fmt.Sprintf("ask-burst-%d", n), c.spots[i].mention)
					case c.spots[i].mention == "": // in a thread everything is for the bot
						ask(i, n, fmt.Sprintf("ask-thread-%d", n), "")
					default:
						c.spots[i].say(n, fmt.Sprintf("talk %d: the beans, the peas and the lettuce want water before noon", n))
					}
				}
			})
		}
		all.Wait()
	}
	burst(0, 60)
	c.discord.Fail(discordtest.Fault{Route: "POST /channels/*/messages", Times: 3, Status: 429, RetryAfter: 300 * time.Millisecond})
	c.discord.Fail(discordtest.Fault{Route: "POST /channels/*/messages", Times: 2, Status: 502, Done: true})
	c.slack.Fail(slacktest.Fault{Method: "chat.postMessage", Times: 2, RetryAfter: time.Second})
	c.slack.Fail(slacktest.Fault{Method: "chat.postMessage", Times: 1, Status: 502, TakesEffect: true})
	burst(60, 100)
	c.discord.Cut()
	for _, socket := range c.slack.Sockets() {
		socket.CutMidFrame()
	}
	burst(100, 150)
	c.wait("answers on the way", time.Minute, answeredAll)
	c.discord.Invalidate(false)
	for _, socket := range c.slack.Sockets() {
		socket.Disconnect("refresh_requested")
	}
	burst(150, killed)
	c.wait("a compaction in flight", time.Minute, func() bool {
		text, err := os.ReadFile(c.log.Name())
		return err == nil && bytes.Count(text, []byte(`"state":"started"`)) > bytes.Count(text, []byte(`"state":"landed"`))+bytes.Count(text, []byte(`"state":"failed"`))
	})
	kill()
	burst(killed, 260) // nobody listens
	kill = c.run()
	burst(260, each)
	c.wait("every answer", 3*time.Minute, answeredAll)
	kill()

	for i, s := range c.spots {
		order, count := s.answered()
		for _, q := range questions[i] {
			if count[q] != 1 {
				t.Errorf("%s: %s was answered %d times", s.name, q, count[q])
			}
		}
		if !slices.Equal(order, questions[i]) {
			t.Errorf("%s: answered in another order:\n%q\nasked\n%q", s.name, order, questions[i])
		}
	}
	c.checkStore(said)
	if complaints := c.slack.Complaints(); len(complaints) > 0 {
		t.Errorf("Slack complains: %q", complaints[:min(len(complaints), 10)])
	}
	if t.Failed() {
		c.fail("see above")
	}
}

// checkStore wants every message of the burst in the transcript, once and in order.
func (c *community) checkStore(said []int) {
	c.t.Helper()
	ctx := context.Background()
	store, err := memory.Open(ctx, memory.Options{Dir: filepath.Join(c.folder.dir, "data")})
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	number := regexp.MustCompile(`(?:talk|ask-burst|ask-thread)[ -](\d+)`)
	landed := 0
	for i, s := range c.spots {
		conversation, err := store.Find(ctx, s.name)
		if err != nil {
			c.t.Fatal(err)
		}
		page, err := conversation.Transcript(ctx, 1, 100_000)
		if err != nil {
			c.t.Fatal(err)
		}
		var numbers []string
		for _, m := range page {
			if found := number.FindStringSubmatch(m.Text); m.Role == "user" && found != nil {
				numbers = append(numbers, found[1])
			}
		}
		for n, text := range numbers {
			if text != fmt.Sprint(n) {
				c.t.Errorf("%s: message %s stands in place %d", s.name, text, n)
				break
			}
		}
		if len(numbers) != said[i] {
			c.t.Errorf("%s: %d messages were said, %d are stored", s.name, said[i], len(numbers))
		}
		state, err := conversation.Load(ctx)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, row := range state.Head.Stack {
			if row.By == compactor.ByWorker {
				landed++
			}
		}
	}
	if landed == 0 {
		c.t.Error("no compaction landed on the way")
	}
}
