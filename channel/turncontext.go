package channel

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/channel/task"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/llm/clean"
	"cairn/memory"
	"cairn/store"
)

const (
	recalledEach  = 10 // the most memories, and messages, recalled for a message; tools look for more
	recalledShare = 20 // automatic recall takes at most 1/20 of the window

	recalledClip    = 80  // the most tokens of one message: the part that matched shows whether the rest is worth a call of recall
	recalledPassage = 300 // the same in characters
)

// shownToModel returns what the model of an agent was shown in a turn that is not on disk: its prompt, and the results of tools,
// without those of memory_save, which repeat what the model wrote.
func shownToModel(in *loop, turn int64, agent Agent) string {
	texts := []string{agent.system()}
	in.do(func(e *compactor.Compactor) {
		view := e.View()
		for seq := turn; seq < view.Next; seq++ {
			m, ok := view.At(seq)
			if ok && m.Role == llm.RoleTool && m.Tool != "memory_save" {
				texts = append(texts, m.Text)
			}
		}
	})
	return strings.Join(texts, "\n")
}

// turnContext writes the turn context of one turn.
type turnContext struct {
	*loop
	*site
	turn store.Turn
}

// write returns what the model sees after the newest message of the turn, with at most recall tokens of quotes, and the version of
// the head that it was made for. It is stored, so it is small.
func (w *turnContext) write(ctx context.Context, recall int) (made compactor.Context, version int64) {
	status := w.status()
	made, version = w.recalled(ctx, min(recall, status.Effective/recalledShare))
	made.Text += fmt.Sprintf("time: %s; context window used: %d %%", chat.ZonedTime(time.Now().Local()), status.Used*100/max(status.Window, 1))
	if w.turn.Optional {
		made.Text += "\n" + mayBeSilent
	}
	w.addTasks(ctx, &made)
	if recall > 0 {
		version = w.addLinked(ctx, &made, version)
	}
	return made, version
}

// mayBeSilent is the line of the turn context that lets the model skip a turn; the system prompt explains it.
const mayBeSilent = "nobody addressed you: with nothing to add, answer only " + clean.NoReply

// recalled returns what a turn quotes of the past within a budget of tokens, without what the model already sees. After an error it returns
// less, but never fails. version is that of the head of which this is true.
func (w *turnContext) recalled(ctx context.Context, budget int) (made compactor.Context, version int64) {
	q := recall{records: w.records, question: memory.Question{Before: w.turn.Seq}}
	for _, m := range w.addressed(w.turn.Seq) {
		q.question.Text = strings.TrimSpace(q.question.Text + "\n" + tokens.Clip(m.Said(), 500))
		q.question.Asker = m.Author
	}
	if budget <= 0 || !words.IsQuestion(q.question.Text) { // a question: true of all that ask for the past, and of three of ten messages
		return made, compactor.AnyVersion
	}
	w.do(func(e *compactor.Compactor) {
		view := e.View()
		q.shows = view.Shows
		q.messages, q.memories = view.Quoted()
		version = view.Head.Version
	})
	made, err := q.quote(ctx, RecallLimits{Memories: recalledEach, Messages: recalledEach, Tokens: budget})
	if err != nil && ctx.Err() == nil { // otherwise the turn is being stopped
		w.log.Warn("recall_failed", "error", err)
	}
	return made, version
}

// RecallLimits are the most memories, messages and tokens that are quoted for a question.
type RecallLimits struct{ Memories, Messages, Tokens int }

// ReadRecalled returns what the context of a turn that asks a question quotes, if the model sees nothing of the conversation.
func ReadRecalled(ctx context.Context, records *store.Conversation, question memory.Question, most RecallLimits) (compactor.Context, error) {
	q := recall{records: records, question: question, shows: func(int64) bool { return false }}
	return q.quote(ctx, most)
}

// addTasks adds the open tasks to a turn context.
func (w *turnContext) addTasks(ctx context.Context, made *compactor.Context) {
	open, err := w.records.Tasks().Open(ctx)
	if err != nil && ctx.Err() == nil {
		w.log.Warn("read_tasks_failed", "error", err)
	}
	for _, t := range open {
		made.Text += fmt.Sprintf("\nopen task %d of %s, started after #%d: %s", t.Number, t.Agent, t.Began, chat.Quoted(tokens.Clip(t.Text, task.ShownTokens)))
		made.Messages = append(made.Messages, t.Sources...)
	}
}

// quotes are lines of memories or messages below a title, the best first, within a budget of tokens.
type quotes struct {
	title, text string
	of          []int64
	left        int
}

// add adds a line if the budget allows; otherwise a shorter one may fit.
func (q *quotes) add(of int64, line string) {
	if q.text == "" {
		line = q.title + line
	}
	if cost := tokens.Estimate(line); cost <= q.left {
		q.text = q.text + line
		q.of = append(q.of, of)
		q.left = q.left - cost
	}
}

// recall looks for what a question may be about, without what the model already sees.
type recall struct {
	records  *store.Conversation
	question memory.Question // from the asker, about what was said before it

	shows              func(seq int64) bool // reports whether a message is shown word for word
	messages, memories map[int64]bool       // quoted in earlier turn contexts
}

// quote returns lines of quoted data: memories, then messages, each with the best first. With an error it returns what it has.
func (q *recall) quote(ctx context.Context, most RecallLimits) (compactor.Context, error) {
	// Memories help more per token, but may not take the whole budget.
	memories := quotes{title: "memories that may matter here, as data:\n", left: most.Tokens * 2 / 3}
	err := q.quoteMemories(ctx, most.Memories, &memories)
	messages := quotes{title: "earlier messages that may matter here, as data:\n", left: most.Tokens - most.Tokens*2/3 + memories.left}
	err = errors.Join(err, q.quoteMessages(ctx, most.Messages, &messages))
	return compactor.Context{Text: memories.text + messages.text, Quotes: llm.Quotes{Messages: messages.of, Memories: memories.of}}, err
}

func (q *recall) quoteMemories(ctx context.Context, most int, into *quotes) error {
	if most == 0 {
		return nil
	}
	found, _, err := memory.Of(q.records).List(ctx, memory.Filter{Query: q.question.Text, Asker: q.question.Asker, State: "known", Limit: most})
	for _, m := range found {
		if m.Conversation != q.records.Name() { // message numbers are meaningful only in their own conversation
			m.Sources = nil
		}
		hidden := func(seq int64) bool { return !q.shows(seq) }
		sameValue := m.State == "superseded" && m.Ended == ""                                               // one that knows more of its time is there
		if sameValue || q.memories[m.ID] || len(m.Sources) > 0 && !slices.ContainsFunc(m.Sources, hidden) { // it, or all it came from, is visible
			continue
		}
		line := fmt.Sprintf("- memory %d: %s (%s, %ssaid by %s on %s", m.ID, chat.Quoted(m.Content), m.Kind, m.Period(), chat.CleanName(m.Speaker), m.SaidAt.Local().Format(time.DateOnly))
		for _, seq := range m.Sources[:min(len(m.Sources), 3)] {
			line += fmt.Sprintf(", #%d", seq)
		}
		into.add(m.ID, line+")\n")
	}
	return err
}

func (q *recall) quoteMessages(ctx context.Context, most int, into *quotes) error {
	question := q.question
	question.Limit = 3 * most // some of the results are already in the prompt
	found, err := memory.Of(q.records).Recall(ctx, question)
	for _, m := range found {
		text := tokens.Clip(m.Passage(recalledPassage), recalledClip)
		if len(into.of) == most || q.messages[m.Seq] || q.shows(m.Seq) || text == "" {
			continue
		}
		name := m.Name()
		if m.Role != llm.RoleUser {
			name = "you"
		}
		into.add(m.Seq, fmt.Sprintf("- #%d, %s on %s: %s\n", m.Seq, name, chat.Time(m.Time.Local()), chat.Quoted(text)))
	}
	return err
}

// cacheKey identifies a conversation to a provider's prompt cache without revealing its name.
func cacheKey(conversation string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte("cairn:"+conversation)))[:32]
}
