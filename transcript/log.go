package transcript

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Log is a sequence of messages, ordered by seq. A change returns a new Log and leaves the old
// one as it was; an append shares the array, so it costs the same however long the log is. The
// zero value is empty.
type Log struct {
	messages []Message // never written to; see Append
}

// Len returns the number of messages.
func (l Log) Len() int { return len(l.messages) }

// First returns the oldest message; ok is false if there is none.
func (l Log) First() (m Message, ok bool) {
	if len(l.messages) == 0 {
		return m, false
	}
	return l.messages[0], true
}

// Last returns the newest message; ok is false if there is none.
func (l Log) Last() (m Message, ok bool) {
	if len(l.messages) == 0 {
		return m, false
	}
	return l.messages[len(l.messages)-1], true
}

// All yields the messages, oldest first.
func (l Log) All() iter.Seq[Message] { return slices.Values(l.messages) }

// In yields the messages of a span, oldest first.
func (l Log) In(sp Span) iter.Seq[Message] { return slices.Values(l.in(sp)) }

// Count returns how many messages lie in a span.
func (l Log) Count(sp Span) int { return len(l.in(sp)) }

func (l Log) in(sp Span) []Message {
	from, to := l.at(sp.From), l.at(sp.To+1)
	return l.messages[from:max(from, to)]
}

// Append returns the log with messages at its end. It writes behind the last message of the
// array, unless another log has its messages there.
func (l Log) Append(messages ...Message) Log {
	n := len(l.messages)
	if n < cap(l.messages) && l.messages[:n+1][n].Seq != 0 {
		l.messages = slices.Clip(l.messages)
	}
	return Log{append(l.messages, messages...)}
}

// Without returns the log without the messages of a span.
func (l Log) Without(sp Span) Log {
	from, gone := l.at(sp.From), l.Count(sp)
	switch {
	case gone == 0:
		return l
	case from == 0:
		return Log{l.messages[gone:]}
	}
	return Log{slices.Concat(l.messages[:from], l.messages[from+gone:])}
}

// Insert returns the log with messages, which are not in it, at their places.
func (l Log) Insert(messages []Message) Log {
	if len(messages) == 0 {
		return l
	}
	all := slices.Concat(l.messages, messages)
	slices.SortFunc(all, func(a, b Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return Log{all}
}

// at returns the index of the first message at seq or after it.
func (l Log) at(seq int64) int {
	i, _ := slices.BinarySearchFunc(l.messages, seq, func(m Message, seq int64) int { return cmp.Compare(m.Seq, seq) })
	return i
}

func (l Log) check() error {
	for i, m := range l.messages {
		if i > 0 && m.Seq <= l.messages[i-1].Seq {
			return fmt.Errorf("message %d follows message %d", m.Seq, l.messages[i-1].Seq)
		}
	}
	return nil
}
