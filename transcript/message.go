package transcript

import (
	"cmp"
	"slices"
	"time"

	"cairn/chat"
)

// Message is the part of a transcript row that the rules of summaries need; the caller keeps the
// texts.
type Message struct {
	Seq  int64 // place in the conversation, from 1
	Turn int64 // seq of the first message of its turn; its own for a message that gets no answer
	Time time.Time
}

// MessageOf returns this part of a message.
func MessageOf(m chat.Message) Message { return Message{Seq: m.Seq, Turn: m.Turn, Time: m.Time} }

// Span is a range of seqs, both ends included. The zero value is no span.
type Span struct{ From, To int64 }

// Covers reports whether seq lies in the span.
func (sp Span) Covers(seq int64) bool { return sp.From <= seq && seq <= sp.To }

// Overlaps reports whether two spans have a seq in common.
func (sp Span) Overlaps(other Span) bool {
	return sp.To != 0 && other.To != 0 && sp.From <= other.To && other.From <= sp.To
}

// Within reports whether the span lies in other.
func (sp Span) Within(other Span) bool { return other.From <= sp.From && sp.To <= other.To }

func (sp Span) hull(other Span) Span {
	switch {
	case sp.To == 0:
		return other
	case other.To == 0:
		return sp
	}
	return Span{min(sp.From, other.From), max(sp.To, other.To)}
}

// Gaps returns the parts of the span that no row covers. The rows are in order and do not
// overlap.
func (sp Span) Gaps(rows []Summary) (free []Span) {
	from := sp.From
	for _, row := range rows {
		if row.To < from || row.From > sp.To {
			continue
		}
		if row.From > from {
			free = append(free, Span{from, row.From - 1})
		}
		from = row.To + 1
	}
	if from <= sp.To {
		free = append(free, Span{from, sp.To})
	}
	return free
}

// Log is a sequence of messages, ordered by seq. Nothing in it is ever written to: a change returns
// a new Log, and an append shares the array, so it costs the same however long the log is.
type Log []Message

// In returns the messages of a span.
func (l Log) In(sp Span) Log {
	from := l.at(sp.From)
	to := l.at(sp.To + 1)
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
	from := l.at(sp.From)
	n := len(l.In(sp))
	switch {
	case n == 0:
		return l
	case from == 0:
		return l[n:]
	}
	return slices.Concat(l[:from], l[from+n:])
}

// Insert returns the log with messages, which are not in it, at their places.
func (l Log) Insert(messages []Message) Log {
	if len(messages) == 0 {
		return l
	}
	messages = slices.SortedFunc(slices.Values(messages), func(a, b Message) int { return cmp.Compare(a.Seq, b.Seq) })
	all := make(Log, 0, len(l)+len(messages))
	for _, m := range messages {
		at := l.at(m.Seq)
		all = append(all, l[:at]...)
		all = append(all, m)
		l = l[at:]
	}
	return append(all, l...)
}

func (l Log) at(seq int64) int {
	i, _ := slices.BinarySearchFunc(l, seq, func(m Message, seq int64) int { return cmp.Compare(m.Seq, seq) })
	return i
}
