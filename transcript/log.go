package transcript

import (
	"cmp"
	"slices"
)

// Log is a sequence of messages, ordered by seq. Nothing in it is ever written to: a change returns
// a new Log, and an append shares the array, so it costs the same however long the log is.
type Log []Message

// In returns the messages of a span.
func (l Log) In(sp Span) Log {
	from, to := l.at(sp.From), l.at(sp.To+1)
	return l[from:max(from, to)]
}

// Append returns the log with messages at its end. It writes behind the last message of the
// array, unless another log has its messages there.
func (l Log) Append(messages ...Message) Log {
	n := len(l)
	if n < cap(l) && l[:n+1][n].Seq != 0 {
		l = slices.Clip(l)
	}
	return append(l, messages...)
}

// Without returns the log without the messages of a span.
func (l Log) Without(sp Span) Log {
	from, gone := l.at(sp.From), len(l.In(sp))
	switch {
	case gone == 0:
		return l
	case from == 0:
		return l[gone:]
	}
	return slices.Concat(l[:from], l[from+gone:])
}

// Insert returns the log with messages, which are not in it, at their places.
func (l Log) Insert(messages []Message) Log {
	if len(messages) == 0 {
		return l
	}
	all := slices.Concat(l, messages)
	slices.SortFunc(all, func(a, b Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}

func (l Log) at(seq int64) int {
	i, _ := slices.BinarySearchFunc(l, seq, func(m Message, seq int64) int { return cmp.Compare(m.Seq, seq) })
	return i
}
