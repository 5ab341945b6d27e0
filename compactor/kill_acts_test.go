package compactor_test

import (
	"context"
	"fmt"

	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// act is an operation of a conversation in steps: each changes the view in one transaction, or not
// at all.
type act struct {
	name    string  // of the conversation; empty: terminal:test
	stack   float64 // the stack's budget; 0: the default
	window  int     // of the steps; 0: spacious, as before them
	words   int     // of a summary; 0: 100
	before  func(l *killRig)
	steps   []func(l *killRig)
	changes int            // how many of the steps change the view
	between string         // in the view during a step; empty: no such view
	kind    compactor.Kind // of a row in the final stack; empty: any
}

const (
	spacious     = 100_000
	channelAbove = "terminal:server/channel"
)

func addNotes(n, size int) func(l *killRig) {
	return func(l *killRig) {
		for range n {
			l.deliverNotes(fmt.Sprintf("note %d %s", len(l.said), filler(size)))
		}
	}
}

// summedUp is a conversation in which some notes were summarized.
func summedUp(l *killRig) {
	addNotes(12, 60)(l)
	compact(l)
}

func compact(l *killRig) {
	l.free.Store(true)
	l.c.Compact(compactor.OnManual, "")
	l.waitIdle()
	l.free.Store(false)
}

func waitUntilIdle(l *killRig) { l.waitIdle() }

func runRepairs(l *killRig) {
	l.free.Store(true)
	l.restart() // rejected work is retried
	l.waitIdle()
	l.free.Store(false)
}

var acts = map[string]act{
	"taking up, and a turn's outcome": {
		before: addNotes(3, 20),
		steps: []func(*killRig){
			func(l *killRig) { l.deliver("question 3 what is it?", true) },
			func(l *killRig) { l.answer(l.said[len(l.said)-1], "one result", "another one") },
		},
		changes: 2,
	},
	"a summary with its memories": {before: addNotes(12, 60), steps: []func(*killRig){compact}, changes: 1, kind: compactor.Leaf},
	"a summary and the fold that makes room for it": {
		stack: 0.02,
		words: 600,
		before: func(l *killRig) {
			for range 3 {
				addNotes(10, 400)(l)
				compact(l)
			}
			addNotes(10, 400)(l)
		},
		steps: []func(*killRig){compact}, changes: 1, kind: compactor.Rollup,
	},
	"a summary that splits the marker over it": {
		before: func(l *killRig) {
			addNotes(12, 60)(l)
			row := compactor.Compaction{Kind: compactor.Leaf, By: compactor.ByWorker, Trigger: compactor.OnBackground, Span: compactor.Span{From: 4, To: 6}, Messages: 3}
			j := check.Must(memory.Of(l.conv).Records().Begin(context.Background(), row))(l.t)
			check.NoError(l.t, check.ErrorOf(j.Store(context.Background(), summarize.Summary{Text: "Four to six.", Tokens: 20})))
			storetest.Hide(l.t, l.conv, 1, 9)
		},
		steps: []func(*killRig){waitUntilIdle}, changes: 1, kind: compactor.Leaf,
	},
	"a heal": {
		before: func(l *killRig) { addNotes(12, 60)(l); storetest.Hide(l.t, l.conv, 1, 7) }, steps: []func(*killRig){runRepairs}, changes: 1, kind: compactor.Leaf,
		between: "messages #1 to #7, 1 January 2026\n1 January 2026:\n", // of the extractive summarizer
	},
	"an emergency": {window: 1500, before: addNotes(12, 120), steps: []func(*killRig){waitUntilIdle}, changes: 1, kind: compactor.Placeholder},
	"a new segment": {
		before:  func(l *killRig) { summedUp(l); addNotes(3, 20)(l) },
		steps:   []func(*killRig){func(l *killRig) { l.startSession(); l.waitIdle() }},
		changes: 1,
	},
	"an undo": {
		before: summedUp,
		steps: []func(*killRig){func(l *killRig) {
			check.NoError(l.t, check.ErrorOf(l.c.Undo(context.Background())))
			waitUntilIdle(l)
		}},
		changes: 1,
	},
	"a pin": {before: summedUp, steps: []func(*killRig){pin}, changes: 1},
	"an edit, and what it makes be done anew": {
		before: func(l *killRig) { summedUp(l); pin(l) },
		steps: []func(*killRig){func(l *killRig) {
			l.edit(2, "edited 1 it is otherwise")
			waitUntilIdle(l)
		}, runRepairs},
		changes: 1, // until it is repaired the summary keeps its words
	},
	"a deletion, and what it makes be done anew": {
		before: func(l *killRig) { summedUp(l); pin(l) },
		steps: []func(*killRig){func(l *killRig) {
			check.NoError(l.t, check.ErrorOf(l.removeWithoutNotice(2)))
			l.apply(2)
			waitUntilIdle(l)
		}, runRepairs},
		changes: 2,
		between: "Ada: note 0", // the extractive summarizer fills the placeholder before the worker repairs it
	},
	"a thread that inherits": {
		name: channelAbove + "/m5",
		before: func(l *killRig) {
			l.close()
			thread := l.name
			l.name = channelAbove
			l.open()
			summedUp(l)
			l.close()
			l.name, l.said = thread, nil
			l.open()
		},
		steps:   []func(*killRig){func(l *killRig) { l.deliver("note 0 what do you think?", false) }},
		changes: 1,
	},
}

func pin(l *killRig) {
	check.NoError(l.t, check.ErrorOf(l.conv.Transcript().Pin(context.Background(), 2, "Ada")))
	l.c.Reread()
	l.c.Check(context.Background())
}

// saveMemories is a worker that saves one memory and then summarizes, in words that depend only on
// the span.
func saveMemories(req llm.Request, words int) llm.Response {
	span := spanOf(req)
	var from, to int
	if _, err := fmt.Sscanf(span, "messages #%d to #%d", &from, &to); err == nil && savesMemories(req) && len(req.Messages) == 2 {
		return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"content": fmt.Sprintf("Ada spoke of %d to %d.", from, to), "kind": "fact", "messages": []int{to}}))
	}
	return summary(fmt.Sprintf("Of %s. %s", span, filler(words)))
}
