// Tools: how a model searches a conversation's memory, and adds to it.

package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/store"
)

const (
	foundByDefault = 10
	maxFound       = 50
	maxPassage     = 600 // characters of a message, and of a file, that recall shows
)

// SearchShare limits the answer of a search to this fraction of the window: 1/16.
const SearchShare = 16

// ToolOptions say for which turn the tools run.
type ToolOptions struct {
	Turn     func() int64  // seq of the running turn; called at each tool call
	Budget   func() int    // most tokens of a search's answer; nil: no limit
	Prompt   func() string // what the model was shown that no message on disk has: memories may name whom it names; nil: nothing
	OnMemory func(Memory)  // called for each new memory; may be nil

	Everywhere Everywhere // searches other conversations, too; nil: recall does not offer that
}

// toolbox has the tools of a conversation.
type toolbox struct {
	c *store.Conversation
	ToolOptions
}

// Tools returns memory_search, recall, expand and memory_save. None of them reaches another conversation.
func (ms Memories) Tools(o ToolOptions) []llm.Tool {
	b := toolbox{ms.c, o}
	everywhere := ""
	if o.Everywhere != nil {
		everywhere = `"everywhere":{"type":"boolean","description":"search all other conversations that this person may read, too"},`
	}
	return []llm.Tool{
		{
			Name:        "memory_search",
			Description: "Search what you have kept in mind from this conversation: facts, preferences, decisions, plans. An empty query gives the newest.",
			Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
				`"query":{"type":"string","description":"words to search for"},`+
				`"kind":{"type":"string","enum":%s},`+
				`"limit":{"type":"integer","minimum":1,"maximum":%d}},"required":["query"]}`, kindsJSON(), maxFound)),
			Run: b.search,
		},
		{
			Name:        "recall",
			Description: "Search the transcript of this conversation for what was said, word for word, however long ago, files and captions too. Of long ones the part that fits is shown.",
			Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
				`"query":{"type":"string","description":"words to search for"},`+everywhere+
				`"limit":{"type":"integer","minimum":1,"maximum":%d}},"required":["query"]}`, maxFound)),
			Run: b.recall,
		},
		{
			Name:        "expand",
			Description: "Read messages of this conversation word for word: those a summary stands for, by their numbers, or by the compaction's id. Long ranges come in pages: go on from next.",
			Parameters: json.RawMessage(`{"type":"object","properties":{` +
				`"from":{"type":"integer","description":"number of the first message"},` +
				`"to":{"type":"integer","description":"number of the last message"},` +
				`"compaction":{"type":"integer","description":"id, in place of a range"}}}`),
			Run: b.expand,
		},
		saveTool(false, b.save),
	}
}

// searchArguments are a model's arguments of memory_search and recall.
type searchArguments struct {
	Query string `json:"query"`
	Kind  string `json:"kind"`
	Limit int    `json:"limit"`

	Everywhere bool `json:"everywhere"`

	turn  int64  // in which it is asked
	asker string // the name of the last person who asked in it, because a model repeats their words; empty: no person did
}

func (b toolbox) readSearch(ctx context.Context, arguments json.RawMessage) (s searchArguments, err error) {
	if err := json.Unmarshal(arguments, &s); err != nil {
		return s, fmt.Errorf("the arguments cannot be read (%w): query and kind are texts, limit is an integer", err)
	}
	if s.Limit < 0 {
		return s, fmt.Errorf("limit is %d: it must be from 1 to %d", s.Limit, maxFound)
	}
	s.Limit = min(cmp.Or(s.Limit, foundByDefault), maxFound)
	s.turn = b.Turn()
	s.asker, err = store.View(ctx, b.c, "look for who asked", func(tx *store.Tx) string {
		return b.c.Messages(tx).Asker(s.turn)
	})
	return s, err
}

func (b toolbox) search(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
	s, err := b.readSearch(ctx, arguments)
	if err != nil {
		return llm.Result{}, err
	}
	found, total, err := Of(b.c).List(ctx, Filter{Query: s.Query, Asker: s.asker, Kind: s.Kind, Limit: s.Limit})
	if err != nil {
		return llm.Result{}, err
	}
	type memory struct {
		ID       int64   `json:"id"`
		Kind     string  `json:"kind"`
		Content  string  `json:"content"`
		Who      string  `json:"who"`
		When     string  `json:"when"`
		Messages []int64 `json:"messages,omitempty"` // of this conversation
		From     string  `json:"from,omitempty"`     // another conversation, whose messages are out of reach
	}
	answer := struct {
		Memories []memory `json:"memories"`
		Total    int      `json:"total"`
	}{[]memory{}, total}
	for _, m := range found {
		one := memory{ID: m.ID, Kind: m.Kind, Content: m.Content, Who: m.Speaker, When: chat.Time(m.SaidAt.Local()), Messages: m.Sources}
		if m.Conversation != b.c.Name() {
			one.Messages = nil
			one.From = m.Conversation
		}
		answer.Memories = append(answer.Memories, one)
	}
	text, err := fitting(b.Budget, &answer.Memories, func() any { return answer })
	result := llm.Result{Text: text}
	for _, m := range answer.Memories {
		result.Quotes.Memories = append(result.Quotes.Memories, m.ID)
		result.Quotes.Messages = append(result.Quotes.Messages, m.Messages...)
	}
	return result, err
}

func (b toolbox) recall(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
	s, err := b.readSearch(ctx, arguments)
	if err != nil {
		return llm.Result{}, err
	}
	q := Question{Text: s.Query, Asker: s.asker, Limit: s.Limit, Before: s.turn}
	if s.Everywhere && b.Everywhere != nil {
		return b.recallEverywhere(ctx, q)
	}
	found, err := Of(b.c).Recall(ctx, q)
	if err != nil {
		return llm.Result{}, err
	}
	answer := struct {
		Messages []result `json:"messages"`
	}{[]result{}}
	for _, m := range found {
		answer.Messages = append(answer.Messages, resultOf(m.Message, m.Passage(maxPassage)))
	}
	text, err := fitting(b.Budget, &answer.Messages, func() any { return answer })
	return llm.Result{Text: text, Quotes: quotesOf(answer.Messages)}, err
}

// result is a message as a model sees it.
type result struct {
	Seq   int64    `json:"seq,omitzero"`
	Who   string   `json:"who"`
	When  string   `json:"when"`
	Text  string   `json:"text"`
	Calls []string `json:"calls,omitempty"` // tools the assistant called, with their arguments
}

func resultOf(m chat.Message, text string) result {
	return result{Seq: m.Seq, Who: who(m), When: chat.Time(m.Time.Local()), Text: text}
}

func quotesOf(messages []result) (q llm.Quotes) {
	for _, m := range messages {
		q.Messages = append(q.Messages, m.Seq)
	}
	return q
}

// fitting returns an answer with as many of its results, best first, as fit the budget, but at least one: search results must not
// push the conversation out of a small window.
func fitting[T any](budget func() int, results *[]T, answer func() any) (string, error) {
	for {
		text, err := plainJSON(answer())
		n := len(*results)
		if err != nil || budget == nil || n <= 1 {
			return text, err
		}
		over := tokens.Estimate(text) - budget()
		if over <= 0 {
			return text, nil
		}
		drop := max(1, n*over/(over+budget()))
		*results = (*results)[:max(n-drop, 1)]
	}
}

func who(m chat.Message) string {
	switch {
	case m.Role == llm.RoleAssistant:
		return "assistant"
	case m.Role == llm.RoleTool:
		return "tool " + m.Tool
	}
	return m.Author
}

// plainJSON leaves <, > and & as they are: a model reads it, not a browser.
func plainJSON(value any) (string, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// save immediately saves what the model wants to keep while it talks, by default from people's messages in the turn.
func (b toolbox) save(ctx context.Context, d draft) (llm.Result, error) {
	d.By = byAssistant
	if b.Prompt != nil {
		d.prompt = b.Prompt()
	}
	if len(d.Sources) == 0 {
		sources, err := b.c.Turns().Messages(ctx, b.Turn())
		if err != nil {
			return llm.Result{}, err
		}
		d.Sources = seqsOf(sources)
		if len(sources) == 0 { // all of them were deleted
			return llm.Result{}, errUnsaid
		}
	}
	s, answer, err := remember(b.c, ctx, d)
	if err == nil && s.Fresh && b.OnMemory != nil {
		b.OnMemory(s.Memory)
	}
	return answer, err
}

// saveTool returns memory_save: for the worker, which names the messages it read, or for a conversation. save saves one memory.
func saveTool(worker bool, save func(context.Context, draft) (llm.Result, error)) llm.Tool {
	required := `"content","kind"`
	if worker {
		required += `,"messages"`
	}
	return llm.Tool{
		Name: "memory_save",
		Description: "Keep facts, preferences, decisions and plans in mind beyond this conversation's window. Send all of them in one call; " +
			"each is one fact, with names and dates written out.",
		Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"memories":{"type":"array","items":{"type":"object","properties":{`+
			`"content":{"type":"string","maxLength":%d,"description":"one sentence that stands alone and names who it is about"},`+
			`"kind":{"type":"string","enum":%s},`+
			`"importance":{"type":"number","minimum":0,"maximum":1},`+
			`"messages":{"type":"array","items":{"type":"integer"},"description":"numbers of the messages that say it"},`+
			`"about":{"type":"string","description":"the speaker it is about, by name"},`+
			`"supersedes":{"type":"integer","description":"id of the memory this one takes the place of"},`+
			`"expires":{"type":"string","description":"when it will not matter any more: a day as 2026-05-08, a time as 2026-05-08T15:00Z, `+
			`or a while from when it was said, as 36h, 3d or 2w; leave it out for what lasts"}},"required":[%s]}}},"required":["memories"]}`,
			maxContent, kindsJSON(), required)),
		Run: func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
			return saveItems(ctx, readItems(arguments), save)
		},
	}
}

// saveItems saves the memories of a call. The answer says what became of each, by its place in the call; if some were refused it
// is an error, so that the model corrects these.
func saveItems(ctx context.Context, items []item, save func(context.Context, draft) (llm.Result, error)) (all llm.Result, err error) {
	var refused []string
	answers := make([]string, len(items))
	for i, it := range items {
		answer := llm.Result{}
		err := it.err
		if err == nil {
			answer, err = save(ctx, it.draft)
		}
		switch {
		case ctx.Err() != nil:
			return all, ctx.Err()
		case err != nil && len(items) == 1:
			return all, err
		case err != nil:
			answer.Text = "Refused: " + err.Error()
			refused = append(refused, strconv.Itoa(i+1))
		}
		answers[i] = answer.Text
		all.Quotes.Memories = append(all.Quotes.Memories, answer.Quotes.Memories...)
	}
	switch len(items) {
	case 0:
		all.Text = "There was no memory in the list, so nothing was saved."
		return all, nil
	case 1:
		all.Text = answers[0]
		return all, nil
	}
	for i := range answers {
		answers[i] = fmt.Sprintf("%d. %s", i+1, answers[i])
	}
	all.Text = strings.Join(answers, "\n")
	if len(refused) > 0 {
		return all, fmt.Errorf("of %d memories, these are not saved: number %s. The rest needs no repetition.\n%s", len(items), strings.Join(refused, ", number "), all.Text)
	}
	return all, nil
}

func kindsJSON() string { return `["` + strings.Join(Kinds, `","`) + `"]` }
