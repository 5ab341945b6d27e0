package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// clients are people who talk to the bot in JSON Lines and check its promises: messages that were
// accepted they do not send again, others they send again after a restart.
type clients struct {
	random *rand.Rand // decides who sends what

	board      // guards everything below
	said       []*remark
	byID       map[string]*remark
	replies    map[string]string // texts by channel and id
	commands   int
	heard      int      // lines since the process was started
	violations []string // broken promises
}

// remark is a message to the bot, and its state.
type remark struct {
	id, channel, author, text string
	addressed                 bool
	accepted                  bool
	seq                       int64    // 0: unknown
	answers                   []string // ids of replies, texts of notices
	forgotten                 bool     // its author has asked for deletion, or has deleted it
	earlier                   []string // its texts before edits
}

func newClients(seed uint64) *clients {
	return &clients{random: rand.New(rand.NewPCG(seed, 1)), byID: map[string]*remark{}, replies: map[string]string{}, board: newBoard()}
}

// crashChannels are the channels people talk in. The last one is a thread.
var crashChannels = []string{"general", "garden", "town/yard", "town/yard/t1"}

const (
	guest       = "Eve" // she deletes her messages now and then
	maxPending  = 6     // unanswered messages in a channel before people wait
	longMessage = 900   // words: more than a tenth of the window
	forgetMe    = "/forget me yes"
)

func (u *remark) line() string {
	return line{u.channel, u.author, u.text, u.id, u.addressed}.String()
}

// unaccepted returns the lines that were not accepted, in order.
func (c *clients) unaccepted() (lines []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = 0
	for _, u := range c.said {
		if !u.accepted {
			lines = append(lines, u.line())
		}
	}
	return lines
}

// next returns the next line to send; "" if the bot should catch up first.
func (c *clients) next() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	channel := crashChannels[c.random.IntN(len(crashChannels))]
	waiting := 0
	for _, u := range c.said {
		if u.channel == channel && u.open() {
			waiting++
		}
	}
	if waiting >= maxPending {
		return ""
	}
	if c.random.IntN(14) == 0 {
		return c.command(channel)
	}
	u := &remark{channel: channel, author: []string{"Ann", "Ben", guest}[c.random.IntN(12)%3], addressed: c.random.IntN(5) > 0}
	begin := ""
	words := 10 + c.random.IntN(100)
	switch c.random.IntN(40) {
	case 0:
		words = longMessage
	case 1, 2, 3, 4:
		begin = []string{"use memory_save ", "use recall ", "use context "}[c.random.IntN(3)]
	}
	return c.sayLocked(u, begin, words)
}

// last returns one addressed message for each channel, so that all of them are opened once more.
func (c *clients) last() (lines []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, channel := range crashChannels {
		lines = append(lines, c.sayLocked(&remark{channel: channel, author: "Ann", addressed: true}, "and at last: ", 5))
	}
	return lines
}

// sayLocked sets the id and text of a remark, and returns it as a line.
func (c *clients) sayLocked(u *remark, begin string, words int) string {
	u.id = fmt.Sprint("m", len(c.said)+1)
	u.text = u.id + ": " + begin + text(c.random, words)
	c.said = append(c.said, u)
	c.byID[u.id] = u
	return u.line()
}

func (u *remark) open() bool {
	return !u.accepted || u.addressed && len(u.answers) == 0 && !u.forgotten
}

// command returns a random command as a line.
func (c *clients) command(channel string) string {
	c.commands++
	r := line{Channel: channel, User: "Ann", ID: fmt.Sprint("c", c.commands)}
	all := []string{
		"/compact", "/compact the harbour", "/undo", "/undo", "/undo", "/undo", "/new", "/new", "/pin", "/unpin 1", "/remember lanterns are lit at seven",
		"/forget lanterns", "/context", "/recap", "/summaries", forgetMe,
	}
	r.Text = all[c.random.IntN(len(all))]
	if r.Text == forgetMe {
		r.User = guest
		for _, u := range c.said {
			if u.author == guest && u.channel == channel {
				u.forgotten = true // not certain: the command may be lost with the process
			}
		}
	}
	return r.String()
}

// hear handles a line of the bot.
func (c *clients) hear(text []byte) { c.board.note(func() { c.hearLocked(text) }) }

func (c *clients) hearLocked(text []byte) {
	var in heard
	c.heard++
	if err := json.Unmarshal(text, &in); err != nil {
		c.violationLocked("a line is no JSON: %.80q", text)
		return
	}
	switch in.Type {
	case "accepted":
		u := c.byID[fmt.Sprint(in.ID)]
		switch {
		case u == nil || u.channel != in.Channel:
			c.violationLocked("%v was accepted in %s, where nobody said it", in.ID, in.Channel)
		case in.Seq != 0 && u.seq != 0 && in.Seq != u.seq:
			c.violationLocked("%s was accepted as #%d, and as #%d", u.id, u.seq, in.Seq)
		default:
			u.accepted = true
			u.seq = max(u.seq, in.Seq)
		}
	case "reply", "error":
		id, _ := in.ID.(string)
		c.answeredLocked(in.Channel, cmp.Or(id, in.Text), in.Text, in.To)
	}
}

// answeredLocked records a reply, or a notice, whose id is its text.
func (c *clients) answeredLocked(channel, id, text string, to []string) {
	if strings.HasPrefix(id, "re-") { // the output of a command
		return
	}
	if len(to) == 0 {
		c.violationLocked("%q answers nobody", id)
	}
	key := channel + " " + id
	if before, known := c.replies[key]; known && before != text && strings.HasPrefix(id, "reply-") {
		c.violationLocked("%s said first %.60q, then %.60q", key, before, text)
	}
	c.replies[key] = text
	for _, id2 := range to {
		u := c.byID[id2]
		switch {
		case strings.HasPrefix(id2, "c"): // a command that failed
		case u == nil || u.channel != channel:
			c.violationLocked("%s answers %s, which nobody said there", key, id2)
		case !slices.Contains(u.answers, id):
			u.answers = append(u.answers, id)
		}
	}
}

// report records a violation.
func (c *clients) report(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.violationLocked(format, args...)
}

func (c *clients) violationLocked(format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf(format, args...))
}

// settled waits until everything is accepted and answered.
func (c *clients) settled(ctx context.Context) error {
	return c.wait(ctx, func() bool { return !slices.ContainsFunc(c.said, (*remark).open) })
}

// spokenIn reports whether any message in a channel was accepted.
func (c *clients) spokenIn(channel string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.said, func(u *remark) bool { return u.channel == channel && u.accepted })
}
