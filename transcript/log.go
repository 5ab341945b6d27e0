package transcript

import (
	"fmt"
	"iter"
	"slices"
	"sort"
)

// chunkSize is how many messages a chunk of a Log has at most.
const chunkSize = 64

// Log is a persistent sequence of messages, ordered by seq. A change returns a new Log that
// shares all chunks but those at its edges, so an append costs microseconds however long
// the log is. The zero value is empty.
type Log struct {
	chunks []*chunk // never written to
	count  int
	tokens int
}

// chunk is a run of messages with the sum of their tokens. It is never empty and never changes.
type chunk struct {
	messages []Message
	tokens   int
}

func newChunk(messages []Message) *chunk {
	c := &chunk{messages: messages}
	for _, m := range messages {
		c.tokens += m.Tokens
	}
	return c
}

func (c *chunk) first() int64 { return c.messages[0].Seq }
func (c *chunk) last() int64  { return c.messages[len(c.messages)-1].Seq }

// Len returns the number of messages.
func (l Log) Len() int { return l.count }

// Tokens returns what the messages cost together.
func (l Log) Tokens() int { return l.tokens }

// First returns the oldest message; ok is false if there is none.
func (l Log) First() (m Message, ok bool) {
	if l.count == 0 {
		return m, false
	}
	return l.chunks[0].messages[0], true
}

// Last returns the newest message; ok is false if there is none.
func (l Log) Last() (m Message, ok bool) {
	if l.count == 0 {
		return m, false
	}
	newest := l.chunks[len(l.chunks)-1]
	return newest.messages[len(newest.messages)-1], true
}

// All yields the messages, oldest first.
func (l Log) All() iter.Seq[Message] { return l.In(Span{1, 1<<63 - 1}) }

// In yields the messages of a span, oldest first.
func (l Log) In(sp Span) iter.Seq[Message] {
	return func(yield func(Message) bool) {
		for i := l.chunkOf(sp.From); i < len(l.chunks) && l.chunks[i].first() <= sp.To; i++ {
			for _, m := range l.chunks[i].messages {
				if sp.Covers(m.Seq) && !yield(m) {
					return
				}
			}
		}
	}
}

// Count returns how many messages lie in a span, and what they cost.
func (l Log) Count(sp Span) (messages, tokens int) {
	for i := l.chunkOf(sp.From); i < len(l.chunks) && l.chunks[i].first() <= sp.To; i++ {
		c := l.chunks[i]
		if (Span{c.first(), c.last()}).Within(sp) {
			messages, tokens = messages+len(c.messages), tokens+c.tokens
			continue
		}
		for _, m := range c.messages {
			if sp.Covers(m.Seq) {
				messages, tokens = messages+1, tokens+m.Tokens
			}
		}
	}
	return messages, tokens
}

// Append returns the log with messages at its end.
func (l Log) Append(messages ...Message) Log {
	return l.splice(Span{1<<63 - 1, 1<<63 - 1}, messages)
}

// Without returns the log without the messages of a span.
func (l Log) Without(sp Span) Log {
	if n, _ := l.Count(sp); n == 0 {
		return l
	}
	return l.splice(sp, nil)
}

// Insert returns the log with messages, which are ordered and not in it, at their places.
func (l Log) Insert(messages []Message) Log {
	for len(messages) > 0 {
		n := len(messages)
		if next := l.chunkOf(messages[0].Seq); next < len(l.chunks) { // as many as come before the next message of the log
			for m := range l.In(Span{messages[0].Seq, 1<<63 - 1}) {
				n = sort.Search(len(messages), func(i int) bool { return messages[i].Seq > m.Seq })
				break
			}
		}
		l = l.splice(Span{messages[0].Seq, messages[n-1].Seq}, messages[:n])
		messages = messages[n:]
	}
	return l
}

// chunkOf returns the index of the first chunk that ends at seq or after it.
func (l Log) chunkOf(seq int64) int {
	return sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i].last() >= seq })
}

// splice returns the log with messages in place of those of a span.
func (l Log) splice(sp Span, messages []Message) Log {
	from := l.chunkOf(sp.From)
	to := from // the first chunk after the span
	for to < len(l.chunks) && l.chunks[to].first() <= sp.To {
		to++
	}
	if from == to && from > 0 && len(l.chunks[from-1].messages) < chunkSize { // it grows before a new one begins
		from--
	}
	rest := l.chunks[from:to]
	edge := make([]Message, 0, chunkSize)
	keep := func(is func(Message) bool) {
		for _, c := range rest {
			if (Span{c.first(), c.last()}).Within(sp) {
				continue
			}
			for _, m := range c.messages {
				if is(m) {
					edge = append(edge, m)
				}
			}
		}
	}
	keep(func(m Message) bool { return m.Seq < sp.From })
	edge = append(edge, messages...)
	keep(func(m Message) bool { return m.Seq > sp.To })
	out := Log{chunks: make([]*chunk, 0, len(l.chunks)-len(rest)+len(edge)/chunkSize+1), count: l.count + len(edge), tokens: l.tokens}
	for _, c := range rest {
		out.count -= len(c.messages)
		out.tokens -= c.tokens
	}
	out.chunks = append(out.chunks, l.chunks[:from]...)
	for run := range slices.Chunk(edge, chunkSize) {
		c := newChunk(slices.Clip(run))
		out.tokens += c.tokens
		out.chunks = append(out.chunks, c)
	}
	out.chunks = append(out.chunks, l.chunks[to:]...)
	return out
}

// check returns what is wrong with the log: order, sums, the sizes of chunks.
func (l Log) check() error {
	count, tokens, last := 0, 0, int64(0)
	for _, c := range l.chunks {
		if len(c.messages) == 0 || len(c.messages) > chunkSize {
			return fmt.Errorf("a chunk has %d messages", len(c.messages))
		}
		sum := 0
		for _, m := range c.messages {
			if m.Seq <= last {
				return fmt.Errorf("message %d follows message %d", m.Seq, last)
			}
			last = m.Seq
			sum += m.Tokens
		}
		if sum != c.tokens {
			return fmt.Errorf("a chunk's messages cost %d tokens, its sum is %d", sum, c.tokens)
		}
		count, tokens = count+len(c.messages), tokens+sum
	}
	if count != l.count || tokens != l.tokens {
		return fmt.Errorf("%d messages of %d tokens, the sums are %d and %d", count, tokens, l.count, l.tokens)
	}
	return nil
}
