// Fields of a question as people and models write them.

package memory

import (
	"fmt"
	"strings"
	"time"

	"cairn/internal/words"
)

// Fields are the fields of a question besides its words, as written; empty ones say nothing.
type Fields struct{ By, Since, Until, Order string }

// Read returns the question with the fields. Its error is a FieldError.
func (f Fields) Read(q Question, now time.Time) (Question, error) {
	q.By = f.By
	for _, field := range []struct {
		name, text string
		parse      func(string, time.Time) (time.Time, error)
		into       *time.Time
	}{{"since", f.Since, Ago, &q.Since}, {"until", f.Until, Until, &q.Until}} {
		if field.text == "" {
			continue
		}
		at, err := field.parse(field.text, now)
		if err != nil {
			return q, &FieldError{field.name, field.text, `write a day, "2026-05-08", a time, "2026-05-08T15:00Z", or "yesterday", "last week", "7d"`}
		}
		*field.into = at
	}
	order, known := orderWords[strings.ToLower(f.Order)]
	if !known {
		return q, &FieldError{"order", f.Order, "write " + strings.Join(Orders, ", ")}
	}
	q.Order = order
	return q, nil
}

// FieldError says that a field of a question cannot be read.
type FieldError struct {
	Field, Text string
	want        string // what to write instead
}

func (e *FieldError) Error() string { return fmt.Sprintf("%s is %q: %s", e.Field, e.Text, e.want) }

// orderWords are the orders, and other words that small models use for them.
var orderWords = map[string]string{
	"": "", best: best, newest: newest, oldest: oldest,
	"relevance": best, "latest": newest, "recent": newest, "desc": newest, "last": newest, "earliest": oldest, "first": oldest, "asc": oldest,
}

// dateIn returns the period that a text names as people write it: "yesterday", "last week", "3 days".
func dateIn(text string, now time.Time) (words.Span, bool) {
	for _, text := range []string{text, text + " ago"} {
		if found := words.Dates(text, now); len(found) == 1 {
			return found[0], true
		}
	}
	return words.Span{}, false
}
