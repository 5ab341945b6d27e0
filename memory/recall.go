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
	By     string    // whose messages: a name, or a part of it; a platform ID; "me", the asker; "assistant"; empty: everybody's
	Since  time.Time // only messages of that time or later; zero: all
	Until  time.Time // only messages before that time; zero: all
	Order  string    // one of Orders; empty: best, or, without a word to search for, newest
	Asker  string    // the name of who asks: "I" in Text means them; empty: not known
	Limit  int       // how many messages at most, never more than 1000; 0 or less: none
	Before int64     // only messages with a smaller seq; 0: all
	Now    time.Time // when it is asked: "last week" is the week before it; zero: now
}

// Orders are the orders of messages that answer a question: the best first, or by time.
var Orders = []string{best, newest, oldest}

const (
	best   = "best"
	newest = "newest"
	oldest = "oldest"
)

// IsEmpty reports whether it asks for nothing: neither for words, nor for a person, a time or an order.
func (q Question) IsEmpty() bool {
	return strings.TrimSpace(q.Text) == "" && q.By == "" && q.Since.IsZero() && q.Until.IsZero() && q.Order == ""
}

// SaysMe reports whether By is a word for the person who asks, such as "me".
func SaysMe(by string) bool { return search.SaysMe(by) }

// Memories returns the filter of memories with the same words, person, time and order.
func (q Question) Memories() Filter {
	sort := map[string]string{newest: "said", oldest: "oldest"}[q.Order]
	return Filter{Query: q.Text, Asker: q.Asker, About: q.By, Since: q.Since, Until: q.Until, Sort: sort, Limit: q.Limit}
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
// words and by those just before and after it, and no results of the bot's own memory tools. If q has no word to search for, but a
// person, a time or an order, it returns the messages of that person and time. The cost of a question is bounded, however long the
// conversation is. A PersonError says that nobody has the name in By.
func (ms Memories) Recall(ctx context.Context, q Question) ([]Found, error) {
	if q.Limit <= 0 || q.Before < 0 || q.IsEmpty() {
		return nil, nil
	}
	const limit = 1000 // messages that one question finds
	q.Limit = min(q.Limit, limit)
	query := search.Parse(q.Text, q.Asker, cmp.Or(q.Now, time.Now()).Local())
	return store.View(ctx, ms.c, "recall", func(tx *store.Tx) (found []Found) {
		r := asked{q, query, ms.c.Messages(tx)}
		for _, hit := range r.hits(r.reach(ms.c.People(tx), tx)) {
			for _, m := range r.messages.At(hit.Seq) {
				found = append(found, Found{Message: m, Score: hit.Total, Parts: hit.Parts, query: query})
			}
		}
		return found
	})
}

// asked is a question that is being answered.
type asked struct {
	Question
	query    *search.Query
	messages store.Messages
}

// reach returns which messages the question may find.
func (r asked) reach(people store.People, tx *store.Tx) store.Reach {
	reach := store.Reach{From: 1, To: r.messages.Next() - 1, Since: r.Since, Until: r.Until}
	if r.Before > 0 {
		reach.To = min(reach.To, r.Before-1)
	}
	if r.By != "" {
		var err error
		reach.By, reach.Assistant, err = authorsOf(r.By, r.Asker, people.Named())
		if err != nil {
			tx.Fail(err)
		}
	}
	return r.messages.Within(reach)
}

// hits returns the messages that answer the question, in its order.
func (r asked) hits(reach store.Reach) (hits []search.Hit) {
	isOldest := r.Order == oldest
	if r.query.Wordless() && (reach.By != nil || reach.Assistant || !r.Since.IsZero() || !r.Until.IsZero() || r.Order != "") {
		for _, seq := range r.messages.Sent(reach, isOldest, r.Limit) {
			hits = append(hits, search.Hit{Message: search.Message{Seq: seq}})
		}
		return hits
	}
	var seqs []int64
	if reach.By != nil {
		seqs = r.messages.By(reach, isOldest)
		r.query.Only(seqs)
	}
	limit := r.Limit
	if reach.Assistant {
		limit = max(limit, assistantAmong)
	}
	r.query.In(map[string]search.Order{newest: search.NewestFirst, oldest: search.OldestFirst}[r.Order])
	hits = r.query.Messages(messageIndex{r.messages.Index(reach.To + 1), reach, seqs, isOldest}, reach.From, reach.To, limit)
	return hits[:min(r.Limit, len(hits))]
}

// assistantAmong is among how many of the best messages the bot's own are searched: no index has its messages.
const assistantAmong = 500

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
	scores := query.Scores(in.Index())
	now := time.Now()
	in.Among(slices.Collect(maps.Keys(scores)), f.rows(), f.Sort, func(m store.Memory) {
		w := weighed{id: m.ID}
		w.Add("words", scores[m.ID])
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
