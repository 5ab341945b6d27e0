// How much of an answer is read: a server that sends without end must neither fill memory nor hold a conversation.

package provider

import (
	"time"

	"cairn/llm"
)

// A text of n tokens may have bytesPerToken*n bytes, several times the usual, and always leastText: a server that ignores
// the limit must not flood a channel. All tool calls of an answer together may have as many bytes, and its reasoning and
// fields of the provider's own at least leastReasoning: some servers do not count reasoning as part of an answer.
const (
	leastText      = 64 << 10
	leastReasoning = 1 << 20
	bytesPerToken  = 32
)

// maxCalls limits the tool calls of an answer: OpenAI accepts 128 tools.
const maxCalls = 128

// maxEmpty limits the events and comments of a stream that add nothing to its answer. Some servers send one for each
// token of reasoning that they hide; models have up to 128 000 of them.
const maxEmpty = 200_000

// longestQuiet limits how long such events show that the server is still working; after that they are silence.
const longestQuiet = 5 * time.Minute

// limits bound one answer, and count what has arrived.
type limits struct {
	all       quota // everything that is kept
	calls     quota // tool calls: ids, names and arguments
	reasoning quota // and fields of the provider's own
	skipped   quota // reasoning that is not kept
	maxText   int   // bytes

	content int       // bytes of content, kept or not
	empty   int       // events without content
	heard   time.Time // when content arrived
	over    error     // the first limit that was exceeded
}

// quota counts bytes up to a maximum.
type quota struct {
	what      string // the bytes, in an error message
	max, used int
}

// bound sets the limits of an answer of at most this many tokens, 0 for no such limit, and at most bytes.
func (l *limits) bound(tokens, bytes int) {
	share := func(least int) int {
		if tokens <= 0 || tokens > bytes/bytesPerToken {
			return bytes
		}
		return min(max(least, tokens*bytesPerToken), bytes)
	}
	l.maxText = share(leastText)
	l.all = quota{what: "bytes", max: bytes}
	l.calls = quota{what: "bytes of tool calls", max: share(leastText)}
	l.reasoning = quota{what: "bytes of reasoning", max: share(leastReasoning)}
	l.skipped = l.reasoning
	l.heard = time.Now()
}

// Count counts bytes of reasoning, and of fields of the provider's own.
func (l *limits) Count(n int) {
	l.take(&l.reasoning, n)
	l.keep(n)
}

// Pass counts bytes of reasoning that are not kept.
func (l *limits) Pass(n int) {
	l.take(&l.skipped, n)
	l.content += n
}

// CountCall counts bytes of tool calls: ids, names and arguments.
func (l *limits) CountCall(n int) {
	l.take(&l.calls, n)
	l.keep(n)
}

// keep counts bytes that are kept, whatever they are.
func (l *limits) keep(n int) {
	l.take(&l.all, n)
	l.content += n
}

func (l *limits) take(q *quota, n int) {
	q.used += n
	if q.used > q.max {
		l.exceed(q.max, q.what)
	}
}

// exceed records that a limit was exceeded: the answer is given up after the current event.
func (l *limits) exceed(limit int, what string) {
	if l.over == nil {
		l.over = llm.TooLong(limit, what)
	}
}

// countEvent counts an event that is read; before are the bytes of content without it.
func (l *limits) countEvent(before int) {
	if l.content > before {
		l.heard = time.Now()
		return
	}
	l.empty++
	if l.empty > maxEmpty {
		l.exceed(maxEmpty, "events without content")
	}
}

// whenWorking returns alive, which then does nothing once no content has come for longestQuiet.
func (l *limits) whenWorking(alive func()) func() {
	if alive == nil {
		return nil
	}
	return func() {
		if time.Since(l.heard) < longestQuiet {
			alive()
		}
	}
}
