package transcript

import (
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
