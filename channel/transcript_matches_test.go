package channel_test

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// People write to a platform while the bot comes and goes: in the end the transcript matches what
// the platform shows.
func TestTranscriptMatchesPlatform(t *testing.T) {
	for seed := range int64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runChatter(t, seed) })
	}
}

// chatter is a platform whose people write, edit and delete, connected to the bot or not.
type chatter struct {
	*rig
	rnd       *rand.Rand
	start     time.Time
	connected bool

	mu   sync.Mutex        // guards said
	said []channel.Inbound // what the platform shows
}

func runChatter(t *testing.T, seed int64) {
	p := &reader{}
	c := &chatter{rnd: rand.New(rand.NewSource(seed)), start: time.Now(), connected: true}
	c.rig = newRig(t, func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		time.Sleep(time.Millisecond)
		return llmtest.Say(fmt.Sprint("answer ", n)), nil
	}).throughConnector(p)
	p.history = c.history
	p.complete = func(_ context.Context, m channel.Inbound) (channel.Inbound, error) {
		time.Sleep(500 * time.Microsecond)
		m.Author = "Ada Full"
		return m, nil
	}
	for i := range 150 {
		switch k := c.rnd.Intn(20); {
		case k < 12:
			c.post(i)
		case k < 15:
			c.edit(i)
		case k < 17:
			c.deleteRecent()
		case k == 17 && c.connected:
			c.connected = false
		case k == 17:
			c.reconnect()
		case k == 18:
			time.Sleep(time.Duration(c.rnd.Intn(4000)) * time.Microsecond)
		}
	}
	c.reconnect()
	c.waitForReplies()
	c.waitForReplies()
	c.wantEachOnce()
	c.wantEachAnswered()
}

// history serves the platform's messages: three to a page after one, a hundred before one.
func (c *chatter) history(_ context.Context, after, before string) ([]channel.Inbound, string, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var page []channel.Inbound
	for _, m := range c.said {
		if before != "" && m.ID < before || before == "" && m.ID > after {
			page = append(page, m)
		}
	}
	if before != "" {
		return page[max(0, len(page)-100):], "", false, nil
	}
	more := len(page) > 3
	last := ""
	if more {
		page = page[:3]
	}
	if len(page) > 0 {
		last = page[len(page)-1].ID
	}
	return slices.Clone(page), last, more, nil
}

func (c *chatter) post(i int) {
	m := channel.Inbound{
		ID: fmt.Sprintf("m%05d", i), AuthorID: fmt.Sprint(i % 3), Author: "Ada", Text: fmt.Sprintf("text %d", i),
		Time: c.start.Add(time.Duration(i) * time.Millisecond), Addressed: c.rnd.Intn(3) == 0, Incomplete: c.rnd.Intn(3) == 0,
	}
	c.mu.Lock()
	c.said = append(c.said, m)
	c.mu.Unlock()
	if c.connected {
		check.Must(c.hub.Deliver(c.t.Context(), place, m))(c.t)
	}
}

// recent returns the index of one of the five newest messages; ok is false if there is none.
func (c *chatter) recent() (at int, ok bool) {
	if len(c.said) == 0 {
		return 0, false
	}
	return len(c.said) - 1 - c.rnd.Intn(min(len(c.said), 5)), true
}

func (c *chatter) edit(i int) {
	c.mu.Lock()
	at, ok := c.recent()
	if !ok {
		c.mu.Unlock()
		return
	}
	c.said[at].Text = fmt.Sprintf("edited %s %d", c.said[at].ID, i)
	m := c.said[at]
	c.mu.Unlock()
	if c.connected {
		m.Time = c.start.Add(time.Hour + time.Duration(i)*time.Millisecond)
		check.NoError(c.t, c.hub.Edit(c.t.Context(), place, m))
	}
}

// deleteRecent deletes a message while the bot is connected: it never hears of other deletions.
func (c *chatter) deleteRecent() {
	if !c.connected {
		return
	}
	c.mu.Lock()
	at, ok := c.recent()
	if !ok {
		c.mu.Unlock()
		return
	}
	id := c.said[at].ID
	c.said = append(c.said[:at:at], c.said[at+1:]...)
	c.mu.Unlock()
	check.NoError(c.t, c.hub.Delete(c.t.Context(), place, id))
}

func (c *chatter) reconnect() {
	check.Must(c.hub.Away(c.t.Context(), "test", nil))(c.t)
	check.NoError(c.t, c.hub.CatchUp(c.t.Context(), place, "m"))
	c.connected = true
}

func (c *chatter) wantEachOnce() {
	have := map[string]int{}
	for _, line := range c.transcript() {
		if text, ok := strings.CutPrefix(line, "user: "); ok {
			have[text]++
		}
	}
	for _, m := range c.said {
		n := have[m.Text]
		if n == 0 && strings.HasPrefix(m.Text, "edited") { // the bot does not read edits of known messages that were made while it was away
			for text, k := range have {
				if text == fmt.Sprintf("text %d", atoi(m.ID)) || strings.HasPrefix(text, "edited "+m.ID) {
					n = k
				}
			}
		}
		check.That(c.t, n == 1, "%s %q: got %d copies, want 1", m.ID, m.Text, n)
		delete(have, m.Text)
	}
}

func (c *chatter) wantEachAnswered() {
	answered := map[string]bool{}
	c.connector.mu.Lock()
	defer c.connector.mu.Unlock()
	for _, piece := range c.connector.sent {
		for _, id := range piece.To {
			check.That(c.t, !answered[id], "%s: got two replies, want one", id)
			answered[id] = true
			check.Lacks(c.t, "sent", piece.Text, "disk")
		}
	}
	for _, m := range c.said {
		check.That(c.t, !m.Addressed || answered[m.ID], "%s: got no reply", m.ID)
	}
}

func atoi(id string) int {
	var n int
	fmt.Sscanf(id, "m%d", &n)
	return n
}
