// Package transcript is the algebra of a conversation's messages and summaries: what
// covers what, what a summary replaces, what an undo brings back, and what an edit or a
// deletion invalidates.
//
// A State is an immutable value. Each operation on it is a pure function that returns a
// Change; With returns the State after that change and shares everything that stayed the
// same. The store writes the same Change. So a conversation's owner computes a change,
// commits it, and then publishes the new State:
//
//	change, stale, wait := state.Cover(ids, 0, nil)
//	err := store.Commit(ctx, change) // the caller's
//	state = state.With(change)
//
// A span is summarized in three steps: Begin adds the job's row to the State, Prepare stores its
// result (both in steps.go), and Cover (cover.go) applies it: the summary replaces its span. An
// edit or deletion of a message changes every summary over it, as Summary.Edited and Without say;
// a job becomes stale, so no operation compares versions. Undo undoes what was applied
// last.
//
// A State has only what the prompt can show: the messages of the session that no summary
// covers, the applied summaries, and what is being prepared. What else an operation needs
// is an argument: see Stretch and Undoable.
//
// Head and Snapshot are what a store has of a conversation. View is what its prompt shows: the head, and the
// verbatim messages with the turn contexts behind them, in a Shape. It is a value like State: each change returns the next
// one. Rendering makes requests of views, each of which extends the last one until the head changes.
//
// The package has no I/O, locks, goroutines, globals or clock.
package transcript
