package channel

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/words"
)

const (
	// recalledEach is the most memories, and messages, recalled for a message. Tools look for more.
	recalledEach = 5

	// recalledClip is the most tokens of one message, and recalledPassage the most characters: the
	// part that matched shows whether the rest is worth a call of recall.
	recalledClip    = 80
	recalledPassage = 300

	// recalledShare limits automatic recall to this fraction of the window: 1/20.
	recalledShare = 20
)

// recalled returns what the conversation remembers that may help with a turn: lines of quoted data
// for the turn context, within a budget of tokens. It has two parts, memories and messages, each
// with the best first. It leaves out what the model already sees, in a message or in an earlier
// turn context. After an error it returns less, but never fails.
func (c *conversation) recalled(ctx context.Context, turn store.Turn, budget int) (made compactor.Context) {
	if budget <= 0 {
		return made
	}
	asked, who := "", "" // who asked last
	for _, m := range c.askedIn(turn) {
		asked = strings.TrimSpace(asked + "\n" + tokens.Clip(m.Text, 500))
		who = m.Author
	}
	if !words.IsQuestion(asked) { // true of all that ask for the past, and of three of ten messages
		return made
	}
	var seen visible
	c.do(func(e *compactor.Compactor) {
		seen.shows = e.History().Shows()
		seen.messages, seen.memories = e.History().Quoted()
	})
	memories, err := c.memoryLines(ctx, asked, who, seen)
	messages, failed := c.messageLines(ctx, asked, who, turn.Seq, seen)
	if err = errors.Join(err, failed); err != nil && ctx.Err() == nil { // otherwise the turn is being stopped
		c.log.Warn("recall_failed", "error", err)
	}
	// Memories help more per token, but may not take the whole budget.
	first, of, left := fitting("memories that may matter here, as data:\n", memories, budget*2/3)
	second, in, _ := fitting("earlier messages that may matter here, as data:\n", messages, budget*1/3+left)
	return compactor.Context{Text: first + second, Memories: of, Messages: in}
}

// recalledLine is a recalled line, of a memory or a message.
type recalledLine struct {
	of   int64
	text string
}

// visible is what the model already sees.
type visible struct {
	shows              func(seq int64) bool // reports whether a message is shown word for word
	messages, memories map[int64]bool       // quoted in earlier turn contexts
}

func (c *conversation) memoryLines(ctx context.Context, asked, who string, seen visible) (lines []recalledLine, err error) {
	found, _, err := memory.Of(c.records).List(ctx, memory.Filter{Query: asked, Asker: who, Limit: recalledEach})
	for _, m := range found {
		if m.Conversation != c.name { // message numbers are meaningful only in their own conversation
			m.Sources = nil
		}
		hidden := func(seq int64) bool { return !seen.shows(seq) }
		if seen.memories[m.ID] || len(m.Sources) > 0 && !slices.ContainsFunc(m.Sources, hidden) { // it, or all it came from, is visible
			continue
		}
		line := fmt.Sprintf("- memory %d: %s (%s, said by %s on %s", m.ID, chat.Quoted(m.Content), m.Kind, chat.CleanName(m.Speaker), m.SaidAt.Local().Format(time.DateOnly))
		for _, seq := range m.Sources[:min(len(m.Sources), 3)] {
			line += fmt.Sprintf(", #%d", seq)
		}
		lines = append(lines, recalledLine{m.ID, line + ")\n"})
	}
	return lines, err
}

func (c *conversation) messageLines(ctx context.Context, asked, who string, before int64, seen visible) (lines []recalledLine, err error) {
	// Some of the results are already in the prompt.
	found, err := memory.Of(c.records).Recall(ctx, memory.Question{Text: asked, Asker: who, Limit: 3 * recalledEach, Before: before})
	for _, m := range found {
		if len(lines) == recalledEach {
			break
		}
		text := tokens.Clip(m.Passage(recalledPassage), recalledClip)
		if seen.messages[m.Seq] || seen.shows(m.Seq) || text == "" {
			continue
		}
		name := m.Name()
		if m.Role != llm.RoleUser {
			name = "you"
		}
		lines = append(lines, recalledLine{m.Seq, fmt.Sprintf("- #%d, %s on %s: %s\n", m.Seq, name, m.Time.Local().Format("2006-01-02 15:04"), chat.Quoted(text))})
	}
	return lines, err
}

// fitting returns as many of the lines, best first, as the budget allows, below a title, what they are of, and
// what is left of the budget.
func fitting(title string, lines []recalledLine, budget int) (text string, of []int64, left int) {
	left = budget - tokens.Estimate(title)
	for _, line := range lines {
		if cost := tokens.Estimate(line.text); cost <= left { // otherwise a shorter one may fit
			text, of, left = text+line.text, append(of, line.of), left-cost
		}
	}
	if text == "" {
		return "", nil, budget
	}
	return title + text, of, left
}

// turnContext returns what the model sees after the newest message of a turn: the time, how full
// the window is, and what was recalled. It is stored with the turn, so it is small. A question to
// another agent has none: that agent does not see the view.
func (c *conversation) turnContext(ctx context.Context, turn store.Turn, other *handover) compactor.Context {
	if other != nil {
		return compactor.Context{}
	}
	status := (*c.engineStatus.Load())()
	made := c.recalled(ctx, turn, min(c.agent.Recall, status.Window/recalledShare))
	made.Text += fmt.Sprintf("time: %s; context window used: %d %%", time.Now().Local().Format("2006-01-02 15:04 MST"), status.Used*100/max(status.Window, 1))
	if turn.Optional {
		made.Text += "\n" + mayBeSilent
	}
	c.addTasks(ctx, &made)
	return made
}

// cacheKey identifies a conversation to a provider's prompt cache without revealing its name.
func cacheKey(conversation string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte("cairn:"+conversation)))[:32]
}
