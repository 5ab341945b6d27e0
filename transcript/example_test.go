package transcript_test

import (
	"fmt"

	"cairn/chat"
	"cairn/transcript"
)

// A summary replaces a conversation's oldest messages, and an undo brings them back.
func Example() {
	state := transcript.New()
	change, _ := state.Append(make([]transcript.Message, 5)...)
	state = state.With(change) // the store wrote the change before this

	change, _ = state.Begin(transcript.Summary{Kind: transcript.Leaf, By: transcript.Worker, Span: transcript.Span{From: 1, To: 3}})
	state = state.With(change)
	summary := state.Running[0]
	summary.Text = "Ada and Bob meet at nine." // a worker's summary of messages 1 to 3
	change, _ = state.Prepare(summary)
	state = state.With(change)
	change, _, _ = state.Cover([]int64{summary.ID}, 0, nil)
	state = state.With(change)
	fmt.Printf("%q and %d messages\n", state.Summaries[0].Text, len(state.Messages))

	hidden := []chat.Message{{Seq: 1, Turn: 1}, {Seq: 2, Turn: 2}, {Seq: 3, Turn: 3}} // read from the store
	change, _ = transcript.Undoable{Steps: []transcript.Step{{Rows: state.Summaries, Freed: hidden}}}.Undo(state)
	state = state.With(change)
	fmt.Printf("%d summaries and %d messages\n", len(state.Summaries), len(state.Messages))
	// Output:
	// "Ada and Bob meet at nine." and 2 messages
	// 0 summaries and 5 messages
}
