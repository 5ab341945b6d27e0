// Package summarize makes and judges summaries without a model: the extractive summarizer
// chooses among the sentences that were said, and the facts worth remembering; the judge
// decides by names, numbers and words whether a text, whoever wrote it, may stand for its
// span; the items are the span as both of them, and a model, read it. All of it is pure.
package summarize

// Summary is a summarizer's result for a span.
type Summary struct {
	Text     string
	Tokens   int           // see TokensOfCompaction
	Model    string        // that wrote it, if not the one the row names; else empty
	Sources  []int64       // of the extractive summarizer, see Compaction
	Memories []MemoryDraft // of the extractive summarizer; a worker saves through its job's tool
	Beside   Beside        // what a worker read beside the span, for reference
}

// Beside is what surrounds a span and was read with it.
type Beside struct {
	Rows     []int64 // ids of compactions
	Messages []int64 // seqs
}

// MemoryDraft is a memory that a summarizer proposes.
type MemoryDraft struct {
	ID         int64   // given by the store when it is saved
	Kind       string  // identity, goal, decision, todo, preference, fact, event, observation
	Content    string  // stands alone, names who it is about
	Importance float64 // 0 to 1; 0 takes the kind's default
	Messages   []int64 // seqs it was taken from, inside the span
	About      string  // a speaker of the conversation, by name; empty: whoever said it
}
