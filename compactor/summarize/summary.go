// Package summarize makes and judges summaries without a model: the extractive summarizer chooses
// sentences, and facts worth remembering, from the messages; the judge decides by names, numbers
// and words whether a text, whatever wrote it, is acceptable as the summary of its span; the items
// are the span as the judge and a model read it. All of it is pure.
package summarize

// Summary is a summarizer's result for a span.
type Summary struct {
	Text     string
	Tokens   int           // see transcript.Summary.Cost
	Model    string        // the model that wrote it, if not the one in the row; else ""
	Sources  []int64       // of the extractive summarizer, see Extract
	Memories []MemoryDraft // of the extractive summarizer; a worker saves through its job's tool
	Beside   Beside        // what a worker read around the span, for reference
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
