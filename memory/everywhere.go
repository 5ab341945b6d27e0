// One search through several conversations.

package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"cairn/llm"
	"cairn/memory/search"
	"cairn/store"
)

// FoundElsewhere is a message that a search through several conversations found.
type FoundElsewhere struct {
	Found
	In     *store.Conversation
	Source llm.Elsewhere // for Quotes of other conversations
}

// Everywhere searches the conversations that the person of a direct message may read. checked is false if some were left out because
// their platform did not answer.
type Everywhere func(ctx context.Context, q Question) (found []FoundElsewhere, checked bool, err error)

// maxSearched is how many conversations one question searches: the first ones.
const maxSearched = 200

// RecallFrom returns the messages of several conversations that answer a question, in its order; of equally good ones those of earlier
// conversations first. Before applies to the first conversation alone. Who may read them is decided by the caller.
func RecallFrom(ctx context.Context, s *store.Store, in []*store.Conversation, q Question) (found []FoundElsewhere, err error) {
	if q.Limit <= 0 || len(in) == 0 || q.IsEmpty() {
		return nil, nil
	}
	in = in[:min(len(in), maxSearched)]
	q.Now = cmp.Or(q.Now, time.Now())
	err = s.View(ctx, func(tx *store.Tx) {
		pool := &search.Pool{}
		var next []int64 // seqs
		for _, c := range in {
			messages := c.Messages(tx)
			next = append(next, messages.Next())
			pool.Add(q.parse(), messages.Index(next[len(next)-1]))
		}
		for i, c := range in {
			query := q.parse()
			query.Among(pool)
			q.Before = q.before(next[i])
			here, err := recall(c, tx, q, query)
			if _, isUnknown := errors.AsType[*PersonError](err); err != nil && !isUnknown { // a person need not speak everywhere
				tx.Fail(err)
			}
			for _, f := range here {
				found = append(found, FoundElsewhere{f, c, tx.Elsewhere(c, f.Seq)})
			}
			q.Before = 0
		}
	})
	slices.SortStableFunc(found, func(x, y FoundElsewhere) int {
		switch {
		case q.Order == oldest:
			return x.Time.Compare(y.Time)
		case q.Order == newest || q.parse().Wordless():
			return y.Time.Compare(x.Time)
		}
		return cmp.Compare(y.Score, x.Score)
	})
	return found[:min(len(found), q.Limit)], store.Fail("search several conversations", err)
}

func (b toolbox) recallEverywhere(ctx context.Context, q Question) (llm.Result, error) {
	found, checked, err := b.Everywhere(ctx, q)
	if err != nil {
		return llm.Result{}, err
	}
	type elsewhere struct {
		result
		Place string `json:"place,omitempty"` // the conversation, if it is another one; only messages of this one have a seq
	}
	answer := struct {
		Messages []elsewhere `json:"messages"`
		Note     string      `json:"note,omitempty"`
	}{Messages: []elsewhere{}}
	if !checked {
		answer.Note = "some conversations could not be searched now"
	}
	for _, f := range found {
		e := elsewhere{result: resultOf(f.Message, f.Passage(maxPassage))}
		if f.In.Name() != b.c.Name() {
			e.Seq = 0
			e.Place, err = f.In.Transcript().Called(ctx)
			if err != nil {
				return llm.Result{}, err
			}
		}
		answer.Messages = append(answer.Messages, e)
	}
	text, err := fitting(b.Budget, &answer.Messages, func() any { return answer })
	var quotes llm.Quotes
	for i, f := range found[:len(answer.Messages)] {
		if answer.Messages[i].Place == "" {
			quotes.Messages = append(quotes.Messages, f.Seq)
		} else {
			quotes.Elsewhere = append(quotes.Elsewhere, f.Source)
		}
	}
	return llm.Result{Text: text, Quotes: quotes}, err
}
