// expand: the messages of a summary or a range, word for word.

package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/store"
)

func (b toolbox) expand(ctx context.Context, arguments json.RawMessage) (string, error) {
	var a struct{ From, To, Compaction int64 }
	if err := json.Unmarshal(arguments, &a); err != nil {
		return "", fmt.Errorf("the arguments cannot be read (%w): from, to and compaction are integers", err)
	}
	if a.From < 0 || a.To < 0 || a.Compaction < 0 || a.Compaction == 0 && (a.From == 0 || a.To < a.From) {
		return "", errors.New(`name a range of messages, {"from": 3, "to": 40}, or a compaction, {"compaction": 12}`)
	}
	page, next, last, err := b.page(ctx, a.Compaction, a.From, a.To)
	if err != nil {
		return "", err
	}
	var results []shown
	for _, m := range page {
		e := shownAs(m, m.Body())
		for _, call := range m.Calls {
			e.Calls = append(e.Calls, call.Name+" "+call.Arguments)
		}
		results = append(results, e)
	}
	if len(results) == 0 {
		return "", errors.New("no messages stand there, or they were deleted")
	}
	if b.Budget != nil { // one alone must fit too
		results[0].Text = tokens.Clip(results[0].Text, max(b.Budget()-40, 40))
		if calls := strings.Join(results[0].Calls, "\n"); calls != "" {
			results[0].Calls = []string{tokens.Clip(calls, max(b.Budget()-40-tokens.Estimate(results[0].Text), 20))}
		}
	}
	return fitting(b.Budget, &results, func() any {
		full := struct {
			Messages []shown `json:"messages"`
			Next     int64   `json:"next,omitempty"` // where the next page starts
			To       int64   `json:"to,omitempty"`
		}{Messages: results, Next: next}
		if n := len(results); n < len(page) {
			full.Next = page[n].Seq
		}
		if full.Next != 0 {
			full.To = last
		}
		return full
	})
}

// page reads one page of the messages of a compaction, from from on if that is given, or of [from, to]. next is where the next
// page starts, 0 if there is none, and last the end of the range.
func (b toolbox) page(ctx context.Context, compaction, from, to int64) (page []chat.Message, next, last int64, err error) {
	err = b.c.Store().View(ctx, func(tx *store.Tx) {
		if compaction > 0 {
			row := b.c.In(tx).Compaction(compaction) // in any state: the model may have seen it earlier
			from, to = max(from, row.From), row.To
		}
		const most = 200 // messages on a page
		page, next = b.c.In(tx).Page(from, to, most)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("there is no compaction %d in this conversation", compaction)
	}
	return page, next, to, err
}
