// Package summarize writes summaries without a model: the extractive summarizer selects sentences
// and memories from the messages, and folds summaries by full lines. It also has what any summarizer
// needs: items, which are the span as a model and the judge read it, the form of a summary, and the job
// that is given to a summarizer. All of it is pure.
package summarize

import (
	"cmp"
	"context"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// Job is one compaction in progress.
type Job interface {
	// ID returns the row's id.
	ID() int64
	// Messages returns the messages of each span in turn, without deleted ones, oldest first.
	Messages(ctx context.Context, spans ...transcript.Span) ([]chat.Message, error)
	// Children returns the rows that a rollup folded, oldest first, or those that the job's own row
	// is folding, in their current form.
	Children(ctx context.Context, rollup int64) ([]transcript.Summary, error)
	// Tools returns memory_save, bound to the job: it checks a draft immediately and keeps at most
	// draftLimit drafts, which Store writes.
	Tools(draftLimit int) []llm.Tool
	// Kept returns the number of drafts that Store or Fail would write.
	Kept() int
	// Store writes summary and memories and makes the row prepared, in one transaction. It returns
	// the memories that are new.
	Store(ctx context.Context, summary Summary) ([]MemoryDraft, error)
	// Fail makes the row failed, with the cause in words for people, and writes the drafts that were kept: they passed their own
	// checks. It returns the memories that are new.
	Fail(ctx context.Context, cause string) ([]MemoryDraft, error)
}

// Summary is a summarizer's result for a span.
type Summary struct {
	Text         string
	Lines        []transcript.Line
	Dropped      int // see transcript.Summary.Dropped
	DroppedLines []transcript.DroppedLine
	Tokens       int           // see transcript.Summary.Cost
	Model        string        // the model that wrote it, if not the one in the row; else ""
	Sources      []int64       // of the extractive summarizer, see Extract
	Memories     []MemoryDraft // of the extractive summarizer; a worker saves through its job's tool
	Beside       Beside        // what a worker read around the span, for reference
}

// In returns a row with the text of the summary, and all that belongs to it.
func (s Summary) In(row transcript.Summary) transcript.Summary {
	row.Text = s.Text
	row.Tokens = s.Tokens
	row.Model = cmp.Or(s.Model, row.Model)
	row.Sources = s.Sources
	row.Lines = s.Lines
	row.Dropped = s.Dropped
	row.DroppedLines = s.DroppedLines
	return row
}

// Beside lists what was read around a span.
type Beside struct {
	Rows     []int64 // ids of compactions
	Messages []int64 // seqs
}

// MemoryDraft is a memory that a summarizer proposes.
type MemoryDraft struct {
	ID         int64   // assigned by the store when it is saved
	Kind       string  // identity, goal, decision, todo, preference, fact, event, observation
	Content    string  // understandable alone, names who it is about
	Importance float64 // 0 to 1; 0: the kind's default
	Messages   []int64 // seqs of its sources, inside the span
	About      string  // a speaker of the conversation, by name; "": the author of the messages
}

// MemoryKind is a kind of memory.
type MemoryKind struct {
	Name       string
	Importance float64 // 0 to 1, for memories without their own
	HalfLife   int     // days until half of what can fade has faded; 0: it does not fade
}

// MemoryKinds lists all kinds. More important kinds do not fade faster, so age alone never ranks a
// kind above a more important one.
var MemoryKinds = []MemoryKind{
	{"identity", 1.0, 0},
	{"goal", 0.9, 360},
	{"decision", 0.8, 300},
	{"todo", 0.8, 300},
	{"preference", 0.7, 240},
	{"fact", 0.6, 180},
	{"event", 0.4, 60},
	{"observation", 0.3, 30},
}

// importance is the importance by kind; 0 for "".
var importance = func() map[string]float64 {
	worth := make(map[string]float64)
	for _, k := range MemoryKinds {
		worth[k.Name] = k.Importance
	}
	return worth
}()
