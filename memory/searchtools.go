// The tools that search: memory_search, recall and expand.

package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/store"
)

// searchArguments are a model's arguments of memory_search and recall.
type searchArguments struct {
	Query string
	Kind  string
	Limit int

	By, About, Since, Until, Order loose

	Everywhere bool `json:"everywhere"`

	turn  int64        // in which it is asked
	asker store.Person // the last person who asked in it, because a model repeats their words; empty: no person did
}

func (b toolbox) readSearch(ctx context.Context, arguments json.RawMessage) (s searchArguments, err error) {
	if err := json.Unmarshal(arguments, &s); err != nil {
		return s, fmt.Errorf("the arguments cannot be read (%w): limit is an integer, all others are texts", err)
	}
	for _, field := range []*loose{&s.By, &s.About, &s.Since, &s.Until} {
		if saysNothing[strings.ToLower(string(*field))] {
			*field = ""
		}
	}
	if s.Limit < 0 {
		return s, fmt.Errorf("limit is %d: it must be from 1 to %d", s.Limit, maxFound)
	}
	s.Limit = min(cmp.Or(s.Limit, foundByDefault), maxFound)
	s.turn = b.Turn()
	s.asker, err = store.View(ctx, b.c, "look for who asked", func(tx *store.Tx) store.Person {
		return b.c.Messages(tx).Asker(s.turn)
	})
	return s, err
}

// saysNothing are words that small models write in place of leaving a field out.
var saysNothing = words.Set("none null any anyone anybody all everyone everybody anytime always")

// question returns what the model asks for.
func (s searchArguments) question() (Question, error) {
	q := Question{Text: s.Query, Asker: s.asker.Name, AskerID: s.asker.ID, Limit: s.Limit, Before: s.turn}
	return Fields{string(s.By), string(s.Since), string(s.Until), string(s.Order)}.Read(q, time.Now())
}

func (b toolbox) search(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
	s, err := b.readSearch(ctx, arguments)
	if err != nil {
		return llm.Result{}, err
	}
	q, err := s.question()
	if err != nil {
		return llm.Result{}, err
	}
	filter := q.Memories()
	filter.Kind = s.Kind
	filter.About = cmp.Or(string(s.About), filter.About)
	found, total, err := Of(b.c).List(ctx, filter)
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
		Since    string  `json:"since,omitempty"`
		Until    string  `json:"until,omitempty"`
		Note     string  `json:"note,omitempty"` // see Memory.Doubt
	}
	answer := struct {
		Memories []memory `json:"memories"`
		Total    int      `json:"total"`
	}{[]memory{}, total}
	for _, m := range found {
		one := memory{ID: m.ID, Kind: m.Kind, Content: m.Content, Who: m.Speaker, When: chat.Time(m.SaidAt.Local()), Messages: m.Sources}
		one.Since = m.Since
		one.Until = cmp.Or(m.Ended, m.Until)
		one.Note = m.Doubt()
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
	q, err := s.question()
	if err == nil && q.IsEmpty() {
		err = errors.New(`send words to search for in query, or a person in by, or a time in since: {"query": "hotel"}, {"query": "", "by": "Ada", "since": "yesterday"}`)
	}
	if err != nil {
		return llm.Result{}, err
	}
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

func (b toolbox) expand(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
	var a struct{ From, To, Compaction int64 }
	if err := json.Unmarshal(arguments, &a); err != nil {
		return llm.Result{}, fmt.Errorf("the arguments cannot be read (%w): from, to and compaction are integers", err)
	}
	if a.From < 0 || a.To < 0 || a.Compaction < 0 || a.Compaction == 0 && (a.From == 0 || a.To < a.From) {
		return llm.Result{}, errors.New(`name a range of messages, {"from": 3, "to": 40}, or a compaction, {"compaction": 12}`)
	}
	var page []chat.Message
	var next int64 // where the next page starts; 0: there is none
	err := b.c.Store().View(ctx, func(tx *store.Tx) {
		if a.Compaction > 0 {
			row := b.c.Summaries(tx).Get(a.Compaction) // in any state: the model may have seen it earlier
			a.From = max(a.From, row.From)
			a.To = row.To
		}
		const limit = 200 // messages on a page
		page, next = b.c.Messages(tx).Page(a.From, a.To, limit)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("there is no compaction %d in this conversation", a.Compaction)
	}
	if err != nil {
		return llm.Result{}, err
	}
	var results []result
	for _, m := range page {
		e := resultOf(m, m.Body())
		for _, call := range m.Calls {
			e.Calls = append(e.Calls, call.Name+" "+call.Arguments)
		}
		results = append(results, e)
	}
	if len(results) == 0 {
		return llm.Result{}, errors.New("there are no such messages, or they were deleted")
	}
	if b.Budget != nil { // one alone must fit too
		results[0].Text = tokens.Clip(results[0].Text, max(b.Budget()-40, 40))
		if calls := strings.Join(results[0].Calls, "\n"); calls != "" {
			results[0].Calls = []string{tokens.Clip(calls, max(b.Budget()-40-tokens.Estimate(results[0].Text), 20))}
		}
	}
	text, err := fitting(b.Budget, &results, func() any {
		full := struct {
			Messages []result `json:"messages"`
			Next     int64    `json:"next,omitempty"` // where the next page starts
			To       int64    `json:"to,omitempty"`
		}{Messages: results, Next: next}
		if n := len(results); n < len(page) {
			full.Next = page[n].Seq
		}
		if full.Next != 0 {
			full.To = a.To
		}
		return full
	})
	return llm.Result{Text: text, Quotes: quotesOf(results)}, err
}
