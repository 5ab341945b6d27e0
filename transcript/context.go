package transcript

import (
	"math"
	"slices"
	"sort"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
)

// contextBlock is a turn context in the form that the view shows.
type contextBlock struct {
	Context
	text   string
	tokens int
}

func blockOf(c Context) contextBlock {
	text := "<now>\n" + c.Text + "\n</now>"
	return contextBlock{Context: c, text: text, tokens: tokens.PerMessage + tokens.Estimate(text)}
}

// ContextTokens estimates what the text of a turn context costs in the prompt.
func ContextTokens(text string) int { return blockOf(Context{Text: text}).tokens }

// ContextCost returns the tokens of all turn contexts.
func (v View) ContextCost() (cost int) {
	for _, c := range v.contexts {
		cost += c.tokens
	}
	return cost
}

// BeginTurn shows ctx behind the newest message of a user until EndTurn, or until the next BeginTurn.
func (v View) BeginTurn(ctx Context) View {
	v = v.DropRunningContext()
	i := lastOfUser(v.Messages)
	v.contextRuns = ctx.Text != "" && i >= 0
	if v.contextRuns {
		ctx.Seq = v.Messages[i].Seq
		v.contexts = appended(v.contexts, blockOf(ctx), func(c contextBlock) bool { return c.text != "" })
	}
	return v
}

// RunningContext returns the context of the running turn, and its cost; runs is false if there is none.
func (v View) RunningContext() (ctx Context, cost int, runs bool) {
	if !v.contextRuns {
		return ctx, 0, false
	}
	last := v.contexts[len(v.contexts)-1]
	return last.Context, last.tokens, true
}

// DropRunningContext ends the context of the running turn.
func (v View) DropRunningContext() View {
	if v.contextRuns {
		v.contexts = v.contexts[:len(v.contexts)-1]
	}
	v.contextRuns = false
	return v
}

// EndTurn ends the running turn. Its context stays, and its reasoning leaves, see Shape.KeepsReasoning. Messages that
// it had to clip are shown as the shape says.
func (v View) EndTurn() View {
	squeezed := v.squeezed
	v.Open = 0
	v.contextRuns = false
	v = v.DropReasoning(math.MaxInt64)
	if squeezed {
		v = v.rework(0, false)
	}
	return v
}

// Quoted returns what the visible contexts quote: messages by seq, and memories by id.
func (v View) Quoted() (messages, memories map[int64]bool) {
	messages = make(map[int64]bool)
	memories = make(map[int64]bool)
	for _, c := range v.contexts {
		for _, seq := range c.Messages {
			messages[seq] = true
		}
		for _, id := range c.Memories {
			memories[id] = true
		}
	}
	return messages, memories
}

// keepContext keeps the running turn's context, unless its message was deleted, or it quotes a message that changed, or a memory,
// which may be what changed. It may have been stored since.
func (v View) keepContext(c contextBlock, changed []int64) View {
	_, visible := v.At(c.Seq)
	n := len(v.contexts)
	stored := n > 0 && v.contexts[n-1].Seq == c.Seq
	quoted := func(seq int64) bool { return slices.Contains(c.Messages, seq) }
	v.contextRuns = stored || visible && len(c.Memories) == 0 && !slices.ContainsFunc(changed, quoted)
	if v.contextRuns && !stored {
		v.contexts = append(slices.Clip(v.contexts), c)
	}
	return v
}

// dropContexts drops the contexts of messages from seq on.
func (v View) dropContexts(seq int64) View {
	n := sort.Search(len(v.contexts), func(i int) bool { return v.contexts[i].Seq >= seq })
	if n == len(v.contexts) {
		return v
	}
	v.contextRuns = false
	v.contexts = slices.Clip(v.contexts[:n])
	return v.changed()
}

// WithoutOldContexts returns the view without the contexts of earlier turns: a new head invalidates the
// provider's cache anyway, so they need not be sent any more. The running turn keeps its context.
func (v View) WithoutOldContexts() View {
	if v.contextRuns {
		v.contexts = slices.Clip(v.contexts[len(v.contexts)-1:])
	} else {
		v.contexts = nil
	}
	return v
}

// EndContexts shows the contexts of earlier turns no more, although the head on disk still has them.
func (v View) EndContexts() View {
	v = v.WithoutOldContexts()
	return v.changed()
}

// A message's reasoning is sent back within its turn, where providers demand it with the results of
// tools. Afterwards it is dropped: it is not shown, counted or stored. A provider that demands it
// longer gets it with the calls, as long as they are shown.

// DropReasoning drops the reasoning that no request needs any more: that of ended turns, and that
// of the running turn's steps before the head changed, whose messages become Deprived. It also drops that of all messages
// from seq on, because it may repeat what people have deleted.
func (v View) DropReasoning(seq int64) View {
	drop := func(m Verbatim) bool {
		return len(m.Native) > 0 && (m.Seq >= seq || !v.Shape.KeepsReasoning(*m.Message))
	}
	n := len(v.Messages)
	if n == 0 || !slices.ContainsFunc(v.Messages[v.IndexOf(v.Messages[n-1].Turn):], drop) { // earlier turns have none
		return v
	}
	messages := slices.Clone(v.Messages)
	for i, m := range messages {
		if drop(m) {
			without := *m.Message
			without.Native = nil
			without.Deprived = v.Open != 0
			messages[i].Message = &without
			messages[i].As.Tokens -= costOfReasoning(*m.Message)
		}
	}
	v.Messages = messages
	v.MessageCost = CostOf(messages)
	v.Revision++
	return v
}

// lastOfUser returns the index of the last message of a user; -1 if there is none.
func lastOfUser(messages []Verbatim) int {
	i := len(messages) - 1
	for i >= 0 && messages[i].Role != llm.RoleUser {
		i--
	}
	return i
}

// Since returns the messages from seq on without their reasoning, which may repeat what people have changed.
func (v View) Since(seq int64) (all []chat.Message) {
	for _, s := range v.Messages[v.IndexOf(seq):] {
		m := *s.Message
		m.Deprived = m.Deprived || len(m.Native) > 0
		m.Native = nil
		all = append(all, m)
	}
	return all
}
