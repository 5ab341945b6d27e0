package transcript_test

import (
	"testing"

	"cairn/internal/check"
	"cairn/transcript"
)

func TestCover(t *testing.T) {
	run(t, `
		a summary takes the place of its span: say 5; sum a 1-3 => leaf 1-3, 4, 5 | a applied
		several apply together, in the order of their spans: say 6; prep a 1-2; prep b 3-4; cover b a => leaf 1-2, leaf 3-4, 5, 6
		one behind a verbatim message waits, as its rollup: say 5; prep a 3-4; prep b 3-4 of a; cover a b => 1, 2, 3, 4, 5 | a prepared, b prepared
		of two over the same messages the second is stale: say 4; prep a 1-2; prep b 1-2; cover a b => leaf 1-2, 3, 4 | b stale
		one of deleted messages covers nothing: say 4; remove 3 4; prep a 3-4; cover a => 1, 2 | a stale
		a late one is applied in its session: say 4; prep a 1-2; new; say 1; cover a => leaf 1-2, placeholder 3-4, 5
	`)
	t.Run("old tool results are cleared with it, and only with it", func(t *testing.T) {
		c := said(t, 4)
		change, _, _ := c.s.Cover(nil, 4, nil)
		check.That(t, change.Empty(), "got %+v", change)
		change, _, _ = c.s.Cover([]int64{c.prepare(job{from: 1, to: 2})}, 4, nil)
		c.applyCover(change)
		check.Equal(t, "cleared", c.s.ClearedTo, 4)
		check.NoError(t, c.undo())
		check.Equal(t, "cleared after an undo", c.s.ClearedTo, 0)
	})
}

func TestCoverRepairs(t *testing.T) {
	run(t, `
		a repair takes the place of a placeholder: say 8; hide 6; sum a 1-6 repair => leaf 1-6, 7, 8
		one of its newest messages leaves one for the rest: say 8; hide 6; sum a 4-6 repair => placeholder 1-3, leaf 4-6, 7, 8
		also where all were deleted: say 8; hide 6; remove 1 2 3; sum a 4-6 repair => placeholder 1-3, leaf 4-6, 7, 8
		one of its middle leaves one on each side: say 7; hide 6; sum a 3-4 repair => placeholder 1-2, leaf 3-4, placeholder 5-6, 7
		two divide it: say 6; hide 6; prep a 2-3 repair; prep b 4-5 repair; cover a b => placeholder 1-1, leaf 2-3, leaf 4-5, placeholder 6-6
		a worker's replaces an extractive one: say 6; hide 6; sum a 1-6 extractive repair; sum b 1-6 repair => leaf 1-6 | b applied
		not the reverse: say 6; hide 6; sum b 1-6 repair; prep c 1-6 extractive repair; cover c => leaf 1-6 | b applied, c stale
		one of what was undone is stale: say 4; sum a 1-2 extractive; prep b 1-2 repair; undo => 1, 2, 3, 4 | b stale
		a summary of a span truncated meanwhile repairs it: say 8; prep a 1-3; hide 6; cover a => leaf 1-3, placeholder 4-6, 7, 8
	`)
	t.Run("a repair of a part is stale if nobody counted the rest", func(t *testing.T) {
		c := newConversation(t)
		check.NoError(t, c.play("say 8; hide 6; prep a 3-4 repair"))
		_, stale, _ := c.s.Cover(c.ids([]string{"a"}), 0, nil)
		check.EqualAll(t, "stale", stale, c.ids([]string{"a"}))
	})
}

func TestCoverRollups(t *testing.T) {
	run(t, `
		a rollup takes the place of its children: say 5; sum a 1-2; sum b 3-4; sum c 1-4 of a b => rollup 1-4, 5 | a rolled_up, b rolled_up
		it is applied with its children: say 5; prep a 1-2; prep b 3-4; prep c 1-4 of a b; cover c a b => rollup 1-4, 5
		it absorbs a placeholder that it did not know: say 8; sum a 1-2; hide 4; sum b 5-6; sum c 1-6 of a b => rollup 1-6, 7, 8
		it is stale with a child: say 4; sum a 1-2 extractive; sum b 3-4; prep c 1-4 of a b; sum d 1-2 repair; cover c => leaf 1-2, leaf 3-4 | c stale
		it is stale if a message of its span is verbatim: say 6; sum a 1-2; prep b 1-4 of a; cover b => leaf 1-2, 3, 4, 5, 6 | b stale
	`)
	t.Run("a repair of a rollup takes its place and its children", func(t *testing.T) {
		c := newConversation(t)
		check.NoError(t, c.play("say 5; sum a 1-2; sum b 3-4; sum c 1-4 extractive of a b; sum d 1-4 repair of a b"))
		c.wants("rollup 1-4", "5")
		check.EqualAll(t, "children", c.summaries[c.names["d"]].Children, c.ids([]string{"a", "b"}))
	})
}

func TestUndo(t *testing.T) {
	run(t, `
		the latest first: say 6; sum a 1-2; sum b 3-4; undo => leaf 1-2, 3, 4, 5, 6 | a applied, b undone
		then the one before: say 6; sum a 1-2; sum b 3-4; undo; undo => 1, 2, 3, 4, 5, 6 | a undone
		a rollup gives its children back: say 6; sum a 1-2; sum b 3-4; sum c 1-4 of a b; undo => leaf 1-2, leaf 3-4, 5, 6
		a set with its own rollup is undone whole: say 5; prep a 1-2; prep b 3-4; prep c 1-4 of a b; cover a b c; undo => 1, 2, 3, 4, 5 | a undone
		a repair gives back what it replaced, whole: say 8; hide 6; sum a 4-6 repair; undo => placeholder 1-6, 7, 8
		a newer summary waits then: say 6; sum a 1-2 extractive; prep c 3-4; undo; cover c => 1, 2, 3, 4, 5, 6 | c prepared
	`)
	c := newConversation(t)
	check.NoError(t, c.play("say 4; sum a 1-2; undo"))
	check.Equal(t, "spared", c.s.Spared, transcript.Span{From: 1, To: 2})
	for steps, want := range map[string]error{
		"say 4; sum a 1-2; edit 2": transcript.ErrChangedSince, "say 4; sum a 1-2; remove 2": transcript.ErrChangedSince,
		"say 6; sum a 1-2; hide 4":                transcript.ErrHiddenSince,
		"say 8; hide 6; sum a 1-3 repair; hide 7": transcript.ErrChangedSince, // its placeholder is hidden with what follows
	} {
		t.Run("it is refused after "+steps, func(t *testing.T) { check.Error(t, newConversation(t).play(steps+"; undo"), want) })
	}
}
