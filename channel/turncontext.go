package channel

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/llm/clean"
	"cairn/memory"
	"cairn/prompts"
	"cairn/store"
)

const (
	recalledEach  = 5  // the most memories, and messages, recalled for a message; tools look for more
	recalledShare = 20 // automatic recall takes at most 1/20 of the window

	recalledClip    = 80  // the most tokens of one message: the part that matched shows whether the rest is worth a call of recall
	recalledPassage = 300 // the same in characters
)

// shownToModel returns what the model was shown in a turn that is not on disk: its prompt, and the results of tools, without those of
// memory_save, which repeat what the model wrote.
func (c *conversation) shownToModel() string {
	texts := []string{c.agent.system()}
	c.do(func(e *compactor.Compactor) {
		view := e.View()
		for seq := c.turnSeq(); seq < view.Next; seq++ {
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
	owner
	site
	turn  store.Turn
	shown *published
}

// write returns what the model sees after the newest message of the turn, with at most recall tokens of quotes, and the version of
// the head that it was made for. It is stored, so it is small.
func (w *turnContext) write(ctx context.Context, recall int) (made compactor.Context, version int64) {
	status := w.shown.status()
	made, version = w.recalled(ctx, min(recall, status.Effective/recalledShare))
	made.Text += fmt.Sprintf("time: %s; context window used: %d %%", chat.ZonedTime(time.Now().Local()), status.Used*100/max(status.Window, 1))
	if w.turn.Optional {
		made.Text += "\n" + mayBeSilent
	}
	w.addTasks(ctx, &made)
	return made, version
}

// mayBeSilent is the line of the turn context that lets the model skip a turn; the system prompt explains it.
const mayBeSilent = "nobody addressed you: with nothing to add, answer only " + clean.NoReply

// recalled returns lines of quoted data for the turn context, within a budget of tokens: memories, then messages,
// each with the best first, without what the model already sees. After an error it returns less, but never fails.
// version is that of the head of which this is true.
func (w *turnContext) recalled(ctx context.Context, budget int) (made compactor.Context, version int64) {
	q := recall{name: w.name, records: w.records, before: w.turn.Seq}
	for _, m := range askedIn(w, w.turn.Seq) {
		q.question = strings.TrimSpace(q.question + "\n" + tokens.Clip(m.Text, 500))
		q.asker = m.Author
	}
	if budget <= 0 || !words.IsQuestion(q.question) { // a question: true of all that ask for the past, and of three of ten messages
		return made, compactor.AnyVersion
	}
	w.do(func(e *compactor.Compactor) {
		view := e.View()
		q.shows = view.Shows
		q.messages, q.memories = view.Quoted()
		version = view.Head.Version
	})
	// Memories help more per token, but may not take the whole budget.
	memories := quotes{title: "memories that may matter here, as data:\n", left: budget * 2 / 3}
	err := q.quoteMemories(ctx, &memories)
	messages := quotes{title: "earlier messages that may matter here, as data:\n", left: budget/3 + memories.left}
	err = errors.Join(err, q.quoteMessages(ctx, &messages))
	if err != nil && ctx.Err() == nil { // otherwise the turn is being stopped
		w.log.Warn("recall_failed", "error", err)
	}
	return compactor.Context{Text: memories.text + messages.text, Quotes: llm.Quotes{Messages: messages.of, Memories: memories.of}}, version
}

// addTasks adds the open tasks to a turn context.
func (w *turnContext) addTasks(ctx context.Context, made *compactor.Context) {
	open, err := w.records.Tasks().Open(ctx)
	if err != nil && ctx.Err() == nil {
		w.log.Warn("read_tasks_failed", "error", err)
	}
	for _, task := range open {
		made.Text += fmt.Sprintf("\nopen task %d of %s, started after #%d: %s", task.Number, task.Agent, task.Began, chat.Quoted(tokens.Clip(task.Text, taskTextShown)))
		made.Messages = append(made.Messages, task.Sources...)
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
	name     string // of the conversation
	records  *store.Conversation
	question string
	asker    string // who asked last
	before   int64  // seq of the first message that belongs to the question

	shows              func(seq int64) bool // reports whether a message is shown word for word
	messages, memories map[int64]bool       // quoted in earlier turn contexts
}

func (q *recall) quoteMemories(ctx context.Context, into *quotes) error {
	found, _, err := memory.Of(q.records).List(ctx, memory.Filter{Query: q.question, Asker: q.asker, Limit: recalledEach})
	for _, m := range found {
		if m.Conversation != q.name { // message numbers are meaningful only in their own conversation
			m.Sources = nil
		}
		hidden := func(seq int64) bool { return !q.shows(seq) }
		if q.memories[m.ID] || len(m.Sources) > 0 && !slices.ContainsFunc(m.Sources, hidden) { // it, or all it came from, is visible
			continue
		}
		line := fmt.Sprintf("- memory %d: %s (%s, said by %s on %s", m.ID, chat.Quoted(m.Content), m.Kind, chat.CleanName(m.Speaker), m.SaidAt.Local().Format(time.DateOnly))
		for _, seq := range m.Sources[:min(len(m.Sources), 3)] {
			line += fmt.Sprintf(", #%d", seq)
		}
		into.add(m.ID, line+")\n")
	}
	return err
}

func (q *recall) quoteMessages(ctx context.Context, into *quotes) error {
	// Some of the results are already in the prompt.
	found, err := memory.Of(q.records).Recall(ctx, memory.Question{Text: q.question, Asker: q.asker, Limit: 3 * recalledEach, Before: q.before})
	for _, m := range found {
		text := tokens.Clip(m.Passage(recalledPassage), recalledClip)
		if len(into.of) == recalledEach || q.messages[m.Seq] || q.shows(m.Seq) || text == "" {
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

// contextCall is a call of the tool `context`, which changes no setting.
type contextCall struct {
	Op         string         `json:"op"`
	Focus      string         `json:"focus"`
	Keep       *int           `json:"keep_last_n"`
	Compaction map[string]any `json:"compaction"`
	Topic      string         `json:"topic"`
}

// The most settings that op "self" lists, and the most tokens of each: the whole result takes at most about 300.
const selfSettings, selfClip = 6, 25

// toolset returns the tools the model may call. The first request and every Status count the same tools.
func (a Agent) toolset(records *store.Conversation, o memory.ToolOptions, look func(ctx context.Context, w contextCall) (string, error), others []llm.Tool) []llm.Tool {
	own := llm.Tool{
		Name:        "context",
		Description: "Your context window. self: who you are, how full the window is, the rules for compacting, usage. compact: have the older messages summarized in the background, keeping focus. help: how Cairn works, by topic.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"op":{"type":"string","enum":["self","compact","help"]},"focus":{"type":"string"},"keep_last_n":{"type":"integer"},"compaction":{"type":"object","description":"other settings of this compaction, by key"},"topic":{"type":"string"}},"required":["op"]}`),
		Run: func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
			var w contextCall
			if err := strictly(arguments, &w); err != nil {
				return llm.Result{}, fmt.Errorf(`the arguments are {"op": "self"}, {"op": "compact", "focus": "what to keep", "keep_last_n": 10} or {"op": "help", "topic": "compaction"}, and nothing else (%w): settings are for people to change`, err)
			}
			text, err := look(ctx, w)
			return llm.Result{Text: text}, err
		},
	}
	return slices.Concat(memory.Of(records).Tools(o), []llm.Tool{own}, others)
}

// answerContextCall answers a call of the `context` tool.
func (c *conversation) answerContextCall(ctx context.Context, w contextCall) (string, error) {
	switch w.Op {
	case "self", "status": // "status" is its old name
		return asJSON(c.self(ctx))
	case "compact":
		settings := map[string]any{}
		maps.Copy(settings, w.Compaction)
		if w.Keep != nil {
			settings["keep_last_n"] = float64(*w.Keep)
		}
		with, err := PatchOf(settings)
		if err != nil {
			return "", err
		}
		began, err := c.compact(ctx, compactor.Requested{Trigger: compactor.OnSelf, Focus: w.Focus, With: with})
		if began.State == compactor.EventNoop {
			return asJSON(map[string]any{"started": false, "reason": began.Error}, err)
		}
		return asJSON(map[string]any{
			"started": true, "from_seq": began.From, "to_seq": began.To,
			"note": "it works in the background; the messages stay in view until the summary takes their place, and self tells if it failed",
		}, err)
	case "help":
		help := prompts.In(c.language()).Help
		if text, known := help[w.Topic]; known {
			return text, nil
		}
		return "The topics are " + strings.Join(slices.Sorted(maps.Keys(help)), ", ") + ".", nil
	}
	return "", errors.New(`op is "self", "compact" or "help"`)
}

func asJSON(answer any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(answer)
	return string(text), err
}

// self is what the model reads about itself.
type self struct {
	Agent     string `json:"agent"`
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model"`
	Reasoning string `json:"reasoning,omitempty"`
	MaxOutput int    `json:"max_output_tokens"`
	report.Fill
	Failed    string   `json:"last_failure,omitempty"` // since the last compaction
	Summaries int      `json:"summaries"`              // in the <kept> block
	Requests  int64    `json:"requests"`               // so far, including those for summaries
	Cost      float64  `json:"cost,omitempty"`
	Policy    []string `json:"policy"` // differences from the built-in policy, and where each is set
}

func (c *conversation) self(ctx context.Context) (self, error) {
	g := c.status()
	s := self{
		Agent: c.agent.ID, Provider: c.agent.Provider, Model: c.agent.Model.Name(), Reasoning: c.agent.Reasoning, MaxOutput: c.agent.MaxOutput,
		Fill: report.FillOf(g, sentences.Speaker{}), Summaries: len(g.Stack), Policy: []string{},
	}
	if f := g.Failed; f.State != "" {
		s.Failed = fmt.Sprintf("messages #%d to #%d (%s): %s", f.From, f.To, f.Trigger, f.Error)
	}
	spent, err := ReadSpending(ctx, c.records, c.agent, c.hub.access.Rules().Money)
	if err != nil {
		return s, err
	}
	s.Requests = spent.Total.Requests
	s.Cost = spent.Total.Cost
	all, _, err := report.ReadSettings(ctx, c.records, c.agent.Policy(), c.agent.Origin)
	for _, set := range all {
		if !set.IsDefault() {
			text := chat.OneLine(tokens.Clip(set.Text(sentences.Speaker{}), selfClip))
			s.Policy = append(s.Policy, strings.TrimPrefix(text, report.SettingsTable))
		}
	}
	if more := len(s.Policy) - selfSettings; more > 0 {
		s.Policy = append(s.Policy[:selfSettings], fmt.Sprintf("and %d more; /settings shows them", more))
	}
	return s, err
}

// ToolNames returns the names of the tools that every agent has.
func ToolNames() (names []string) {
	for _, tool := range (Agent{}).weighed() {
		names = append(names, tool.Name)
	}
	return names
}
