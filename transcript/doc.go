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
// A span is summarized in three steps: Begin (begin.go) puts the job's row into the State,
// Prepare (begin.go) stores its result, and Cover (cover.go) applies it: the summary takes
// the place of its span. Whatever changes a message that a job reads ends the job's row, so
// no operation compares versions. Undo (undo.go) undoes the latest applied set.
//
// A State holds only what the prompt can show: the messages of the session that no summary
// covers, the applied summaries, and what is being prepared. What else an operation needs
// is an argument: see CoverNeeds and UndoNeeds.
//
// The package has no I/O, locks, goroutines, globals or clock, and imports nothing of this
// module.
package transcript
