// Recall: finding the messages that answer a question, ranking memories by one, and reading messages word for word.

package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory/search"
	"cairn/store"
)

// Question is a search in the conversation's messages.
type Question struct {
	Text   string
	Asker  string    // the name of who asks: "I" in Text means them; empty: not known
	Limit  int       // how many messages at most, never more than 1000; 0 or less: none
	Before int64     // only messages with a smaller seq; 0: all
	Since  time.Time // only messages of that time or later; zero: all
	Now    time.Time // when it is asked: "last week" is the week before it; zero: now
}

// Found is a message that a recall found.
type Found struct {
	chat.Message
	Score float64 // the higher the better; comparable within one answer only
	Parts []Part  // what the score is the sum of

	query *search.Query
}

// Part is what one factor added to a score, or subtracted from it.
type Part = search.Part

// Recall returns the messages about what q asks, best first; of equally good ones the newer first. It finds a message by its own
// words and by those just before and after it, and no results of the bot's own memory tools. The cost of a question is
// bounded, however long the conversation is.
func (ms Memories) Recall(ctx context.Context, q Question) ([]Found, error) {
	if q.Limit <= 0 || q.Before < 0 {
		return nil, nil
	}
	const limit = 1000 // messages that one question finds
	query := search.Parse(q.Text, q.Asker, cmp.Or(q.Now, time.Now()).Local())
	asked := encode(ctx, ms.c, query, q.Text)
	return store.View(ctx, ms.c, "recall", func(tx *store.Tx) (found []Found) {
		from := int64(1)
		messages := ms.c.Messages(tx)
		before := messages.Next()
		if q.Before > 0 {
			before = min(q.Before, before)
		}
		if !q.Since.IsZero() {
			from = messages.Since(q.Since, before)
		}
		query.Resembles(asked.messages(ms.c, messages, before))
		index := messageIndex{messages.Index(before), q.Since}
		for _, hit := range query.Messages(index, from, before-1, min(q.Limit, limit)) {
			for _, m := range messages.At(hit.Seq) {
				found = append(found, Found{Message: m, Score: hit.Total, Parts: hit.Parts, query: query})
			}
		}
		return found
	})
}

// Passage returns the part of the message most relevant to the question, at most most characters of its text, and what came with
// it: names, captions, and as many characters of the contents of the most relevant file. "…" marks what is left out.
func (f Found) Passage(limit int) string {
	text, _ := f.query.Passage(f.Text, limit)
	parts := []string{text}
	best := 0.0
	at := -1
	var contents string
	for i, a := range f.Attachments {
		parts = append(parts, a.Words())
		if part, worth := f.query.Passage(a.Text, limit); worth > best {
			best = worth
			at = i
			contents = part
		}
	}
	if at >= 0 {
		parts[1+at] += "\n" + contents
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// byImportance is the most that importance adds, as a share of the score of the words.
const byImportance = 0.2

// weighed is a memory with its score.
type weighed struct {
	id int64
	search.Score
}

// ranked selects memories by a query, in the order of f.Sort, or best first; of equally good ones the newer first.
func ranked(tx *store.Tx, f Filter) (chosen []weighed) {
	in := tx.MemoriesIn(f.in)
	query := search.Parse(f.Query, f.Asker, time.Now())
	query.Resembles(f.asked.memories(in, f.rows()))
	scores, meaning := query.WithMeaning(query.Scores(in.Index()))
	now := time.Now()
	in.Among(slices.Collect(maps.Keys(scores)), f.rows(), f.Sort, func(m store.Memory) {
		w := weighed{id: m.ID}
		w.Add("words", scores[m.ID])
		w.Add("meaning", meaning[m.ID])
		if query.IsAbout(m.About, m.Speaker) {
			w.Add("speaker", w.Total*(search.BySpeaker-1))
		}
		w.Add("importance", w.Total*byImportance*m.Importance)
		w.Add("age", w.Total*byImportance*(decayed(m, now)-m.Importance)/(1+byImportance*m.Importance))
		chosen = append(chosen, w)
	})
	if f.Sort == "" {
		slices.SortStableFunc(chosen, func(x, y weighed) int { return cmp.Compare(y.Total, x.Total) })
	}
	return chosen
}

// lasting is the share of its importance that a memory keeps at any age.
const lasting = 0.25

// Decayed returns the importance of the memory at a time, at most Importance. It decreases with the time since the memory was
// said: half of what can fade is gone after the half-life of its kind, which grows with each doubling of Confirmed.
// Identities and pinned memories do not fade. Of two memories that differ only in importance, the more important one always
// ranks higher.
func (m Memory) Decayed(now time.Time) float64 { return decayed(m.Memory, now) }

func decayed(m store.Memory, now time.Time) float64 {
	i, err := kindIndex(m.Kind)
	if err != nil || m.Pinned {
		return m.Importance
	}
	halfLife := float64(summarize.MemoryKinds[i].HalfLife) * (1 + math.Log2(float64(max(m.Confirmed, 1))))
	if halfLife == 0 {
		return m.Importance
	}
	age := max(now.Sub(m.SaidAt).Hours()/24, 0)
	return m.Importance * (lasting + (1-lasting)*math.Exp2(-age/halfLife))
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
