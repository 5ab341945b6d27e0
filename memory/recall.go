// Recall: finding the messages that answer a question.

package memory

import (
	"cmp"
	"context"
	"strings"
	"time"

	"cairn/chat"
	"cairn/memory/search"
	"cairn/store"
)

// Question is a search in the conversation's messages.
type Question struct {
	Text  string
	By    string    // whose messages: a name, or a part of it; a platform ID; "me", the asker; "assistant"; empty: everybody's
	Since time.Time // only messages of that time or later; zero: all
	Until time.Time // only messages before that time; zero: all
	Order string    // one of Orders; empty: best, or, without a word to search for, newest
	Asker string    // the name of who asks: "I" in Text means them; empty: not known
	// AskerID is their platform ID, by which "me" means them and nobody else of that name; empty: not known.
	AskerID string
	Limit   int       // how many messages at most, never more than 1000; 0 or less: none
	Before  int64     // only messages with a smaller seq; 0: all
	Now     time.Time // when it is asked: "last week" is the week before it; zero: now
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

// Memories returns the filter of memories with the same words, person, time and order: those that are recalled, and what was true before.
func (q Question) Memories() Filter {
	sort := map[string]string{newest: "said", oldest: "oldest"}[q.Order]
	return Filter{Query: q.Text, Asker: q.Asker, AskerID: q.AskerID, About: q.By, State: "known", Since: q.Since, Until: q.Until, Sort: sort, Limit: q.Limit}
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
	query := q.parse()
	meaning := encode(ctx, ms.c, query, q.Text, q.Asker)
	return store.View(ctx, ms.c, "recall", func(tx *store.Tx) []Found {
		q.Before = q.before(ms.c.Messages(tx).Next())
		query.Resembles(meaning.messages(ms.c, ms.c.Vectors(tx), q.Before))
		found, err := recall(ms.c, tx, q, query)
		tx.Fail(err)
		return found
	})
}

func (q Question) parse() *search.Query {
	return search.Parse(q.Text, q.Asker, cmp.Or(q.Now, time.Now()).Local())
}

// before returns the seq before which the question searches a conversation whose next message gets the seq next.
func (q Question) before(next int64) int64 {
	if q.Before > 0 {
		return min(q.Before, next)
	}
	return next
}

// recall returns the messages of a conversation that answer q, which is parsed as query. q.Before is set.
func recall(c *store.Conversation, tx *store.Tx, q Question, query *search.Query) (found []Found, err error) {
	const limit = 1000 // messages that one question finds
	q.Limit = min(q.Limit, limit)
	messages := c.Messages(tx)
	reach, err := q.reach(messages, c.People(tx))
	if err != nil {
		return nil, err
	}
	hits := q.hits(query, messages, reach)
	var seqs []int64
	for _, hit := range hits {
		seqs = append(seqs, hit.Seq)
	}
	at := make(map[int64]chat.Message)
	for _, m := range messages.At(seqs...) {
		at[m.Seq] = m
	}
	for _, hit := range hits {
		if m, is := at[hit.Seq]; is {
			found = append(found, Found{Message: m, Score: hit.Total, Parts: hit.Parts, query: query})
		}
	}
	return found, nil
}

// reach returns which messages the question may find. A PersonError says that nobody has the name in By.
func (q Question) reach(messages store.Messages, people store.People) (within store.Reached, err error) {
	reach := store.Reach{From: 1, To: q.Before - 1, Since: q.Since, Until: q.Until}
	if q.By != "" {
		reach.By, reach.Assistant, err = authorsOf(q.By, asker{q.Asker, q.AskerID}, people.Named())
	}
	return messages.Within(reach), err
}

// hits returns the messages within reach that answer the question, in its order.
func (q Question) hits(query *search.Query, messages store.Messages, within store.Reached) (hits []search.Hit) {
	isOldest := q.Order == oldest
	if query.Wordless() && (within.By != nil || within.Assistant || !q.Since.IsZero() || !q.Until.IsZero() || q.Order != "") {
		for _, seq := range within.Sent(isOldest, q.Limit) {
			hits = append(hits, search.Hit{Message: search.Message{Seq: seq}})
		}
		return hits
	}
	if within.By != nil {
		query.Only(within.ByAuthors(isOldest))
	}
	limit := q.Limit
	if within.Assistant {
		limit = max(limit, assistantAmong)
	}
	query.In(map[string]search.Order{newest: search.NewestFirst, oldest: search.OldestFirst}[q.Order])
	index := messageIndex{messages.Index(within.To + 1), within.Reach, isOldest}
	hits = query.Messages(index, within.From, within.To, limit)
	return hits[:min(q.Limit, len(hits))]
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
