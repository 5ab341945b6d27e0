package channel_test

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/llm"
)

// chatter is a platform whose people write, edit and delete, connected to the bot or not.
type chatter struct {
	*rig
	platform  *platform
	rnd       *rand.Rand
	start     time.Time
	connected bool
}

// People write to a platform while the bot comes and goes: in the end the transcript matches what
// the platform shows.
func TestTranscriptMatchesPlatform(t *testing.T) {
	for seed := range int64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := &chatter{platform: &platform{most: 3}, rnd: rand.New(rand.NewSource(seed)), start: time.Now(), connected: true}
			c.platform.complete = func(m channel.Inbound) (channel.Inbound, error) {
				time.Sleep(500 * time.Microsecond)
				m.Author = "Ada Full"
				return m, nil
			}
			c.rig = newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
				time.Sleep(time.Millisecond)
				return echo(ctx, n, req)
			}).throughConnector(c.platform)
			for i := range 100 {
				c.act(i)
			}
			c.reconnect()
			c.waitForReplies()
			c.waitForReplies()
			c.wantEachOnce()
			c.wantEachAnswered()
		})
	}
}

func (c *chatter) act(i int) {
	switch k := c.rnd.Intn(20); {
	case k < 12:
		c.write(i)
	case k < 15:
		c.editRecent(i)
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

func (c *chatter) write(i int) {
	m := channel.Inbound{
		ID: fmt.Sprint(1000 + i), AuthorID: fmt.Sprint(i % 3), Author: "Ada", Text: fmt.Sprintf("text %d", 1000+i),
		Time: c.start.Add(time.Duration(i) * time.Millisecond), Addressed: c.rnd.Intn(3) == 0, Incomplete: c.rnd.Intn(3) == 0,
	}
	c.platform.mu.Lock()
	c.platform.said = append(c.platform.said, m)
	c.platform.mu.Unlock()
	if c.connected {
		c.deliverMessage(m)
	}
}

// changeRecent changes one of the five newest messages, and returns it as it was; ok is false if there is none.
func (c *chatter) changeRecent(change func(at int)) (m channel.Inbound, ok bool) {
	c.platform.mu.Lock()
	defer c.platform.mu.Unlock()
	if len(c.platform.said) == 0 {
		return m, false
	}
	at := len(c.platform.said) - 1 - c.rnd.Intn(min(len(c.platform.said), 5))
	m = c.platform.said[at]
	change(at)
	return m, true
}

func (c *chatter) editRecent(i int) {
	var text string
	m, ok := c.changeRecent(func(at int) {
		text = fmt.Sprintf("edited %s %d", c.platform.said[at].ID, i)
		c.platform.said[at].Text = text
	})
	if ok && c.connected {
		m.Text, m.Time = text, c.start.Add(time.Hour+time.Duration(i)*time.Millisecond)
		check.NoError(c.t, c.hub.Edit(c.t.Context(), place, m))
	}
}

// deleteRecent deletes a message while the bot is connected: it never hears of other deletions.
func (c *chatter) deleteRecent() {
	if !c.connected {
		return
	}
	if m, ok := c.changeRecent(func(at int) { c.platform.said = slices.Concat(c.platform.said[:at], c.platform.said[at+1:]) }); ok {
		check.NoError(c.t, c.hub.Delete(c.t.Context(), place, m.ID))
	}
}

func (c *chatter) reconnect() {
	c.away()
	check.NoError(c.t, c.hub.CatchUp(c.t.Context(), place, "1"))
	c.connected = true
}

func (c *chatter) wantEachOnce() {
	have := map[string]int{}
	for _, line := range c.transcript() {
		if text, ok := strings.CutPrefix(line, "user: "); ok {
			have[text]++
		}
	}
	for _, m := range c.platform.said {
		n := have[m.Text]
		if n == 0 && strings.HasPrefix(m.Text, "edited") { // the bot does not read edits of known messages that were made while it was away
			for text, k := range have {
				if text == "text "+m.ID || strings.HasPrefix(text, "edited "+m.ID) {
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
	for _, m := range c.platform.said {
		check.That(c.t, !m.Addressed || answered[m.ID], "%s: got no reply", m.ID)
	}
}
