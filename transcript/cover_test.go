package transcript_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn/testkit/check"
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
	// Old tool results are cleared with it, and only with it.
	c := said(t, 4)
	change, _, _ := c.s.Cover(nil, 4, nil)
	check.That(t, change.Empty(), "got %+v", change)
	change, _, _ = c.s.Cover([]int64{c.prepare(job{from: 1, to: 2})}, 4, nil)
	c.applyCover(change)
	check.Equal(t, "cleared", c.s.ClearedTo, 4)
	check.NoError(t, c.undo())
	check.Equal(t, "cleared after an undo", c.s.ClearedTo, 0)
}

func TestCoverRepairs(t *testing.T) {
	run(t, `
		a repair takes the place of a placeholder: say 8; hide 6; sum a 1-6 repair => leaf 1-6, 7, 8
		one of its newest messages leaves one for the rest: say 8; hide 6; sum a 4-6 repair => placeholder 1-3, leaf 4-6, 7, 8
		none where all were deleted: say 8; hide 6; remove 1 2 3; sum a 4-6 repair => leaf 4-6, 7, 8
		one of its middle leaves one on each side: say 7; hide 6; sum a 3-4 repair => placeholder 1-2, leaf 3-4, placeholder 5-6, 7
		two divide it: say 6; hide 6; prep a 2-3 repair; prep b 4-5 repair; cover a b => placeholder 1-1, leaf 2-3, leaf 4-5, placeholder 6-6
		a worker's replaces an extractive one: say 6; hide 6; sum a 1-6 extractive repair; sum b 1-6 repair => leaf 1-6 | b applied
		not the reverse: say 6; hide 6; sum b 1-6 repair; prep c 1-6 extractive repair; cover c => leaf 1-6 | b applied, c stale
		one of what was undone is stale: say 4; sum a 1-2 extractive; prep b 1-2 repair; undo => 1, 2, 3, 4 | b stale
		a summary of a span truncated meanwhile repairs it: say 8; prep a 1-3; hide 6; cover a => leaf 1-3, placeholder 4-6, 7, 8
	`)
}

func TestCoverRollups(t *testing.T) {
	run(t, `
		a rollup takes the place of its children: say 5; sum a 1-2; sum b 3-4; sum c 1-4 of a b => rollup 1-4, 5 | a rolled_up, b rolled_up
		it is applied with its children: say 5; prep a 1-2; prep b 3-4; prep c 1-4 of a b; cover c a b => rollup 1-4, 5
		also across deleted messages: say 9; hide 6; remove 1 4; sum a 2-3 repair; sum b 5-6 repair; sum x 7-7; sum c 2-6 of a b => rollup 2-6, leaf 7-7, 8, 9
		it absorbs a placeholder that it did not know: say 8; sum a 1-2; hide 4; sum b 5-6; sum c 1-6 of a b => rollup 1-6, 7, 8
		it is stale with a child: say 4; sum a 1-2 extractive; sum b 3-4; prep c 1-4 of a b; sum d 1-2 repair; cover c => leaf 1-2, leaf 3-4 | c stale
		it is stale if a message of its span is verbatim: say 6; sum a 1-2; prep b 1-4 of a; cover b => leaf 1-2, 3, 4, 5, 6 | b stale
	`)
	// A repair of a rollup takes its place and its children.
	c := newConversation(t)
	check.NoError(t, c.play("say 5; sum a 1-2; sum b 3-4; sum c 1-4 extractive of a b; sum d 1-4 repair of a b"))
	check.EqualAll(t, "prompt", c.shown(), []string{"rollup 1-4", "5"})
	check.EqualAll(t, "children", c.summaries[c.names["d"]].Children, c.ids([]string{"a", "b"}))
}

func TestUndo(t *testing.T) {
	run(t, `
		the latest first: say 6; sum a 1-2; sum b 3-4; undo => leaf 1-2, 3, 4, 5, 6 | a applied, b undone
		then the one before: say 6; sum a 1-2; sum b 3-4; undo; undo => 1, 2, 3, 4, 5, 6 | a undone
		a fold since then is undone with it, and gives its other children back: say 6; sum a 1-2; sum b 3-4; sum c 1-4 of a b; undo => leaf 1-2, 3, 4, 5, 6 | a applied, b undone, c undone
		a fold of a fold, too: say 8; sum a 1-2; sum b 3-4; sum c 5-6; sum d 3-6 of b c; sum e 1-6 of a d; undo => leaf 1-2, leaf 3-4, 5, 6, 7, 8 | d undone, e undone
		a fold beside it stays: say 8; sum a 1-2; sum b 3-4; sum c 5-6; sum d 1-4 of a b; undo => rollup 1-4, 5, 6, 7, 8 | c undone, d applied
		a repair since then is undone with it: say 6; sum a 1-2; sum b 3-4 extractive; sum c 3-4 repair; undo => leaf 1-2, 3, 4, 5, 6 | b undone, c undone
		a repair beside it stays: say 6; sum a 1-2 extractive; sum b 3-4; sum c 1-2 repair; undo => leaf 1-2, 3, 4, 5, 6 | b undone, c applied
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

// run runs scenarios, one per line: a claim, steps, what the prompt shows then, and the states of summaries.
func run(t *testing.T, scenarios string) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(scenarios)) {
		claim, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		steps, rest, _ := strings.Cut(rest, " => ")
		shows, states, _ := strings.Cut(rest, " | ")
		t.Run(claim, func(t *testing.T) {
			c := newConversation(t)
			check.NoError(t, c.play(steps))
			check.Equal(t, "prompt", strings.Join(c.shown(), ", "), shows)
			for is := range strings.SplitSeq(states, ", ") {
				if name, want, ok := strings.Cut(is, " "); ok {
					c.status(c.names[name], transcript.Status(want))
				}
			}
		})
	}
}

// play takes steps, separated by semicolons, and returns the error of the last. "say N" says N messages, each a turn of its
// own. "prep a 1-2" prepares a summary with a name, "sum a 1-2" applies it too; "extractive" and "repair" may follow, and "of
// b c", which makes it a rollup. "cover a b" applies what is prepared. The others are "hide N", "new", "undo", "edit N", and
// "remove N M".
func (c *conversation) play(steps string) (err error) {
	c.t.Helper()
	for step := range strings.SplitSeq(steps, "; ") {
		check.NoError(c.t, err)
		do, rest, _ := strings.Cut(step, " ")
		words := strings.Fields(rest)
		var n []int64
		for _, word := range words {
			number, _ := strconv.ParseInt(word, 10, 64)
			n = append(n, number)
		}
		switch do {
		case "say":
			c.say(int(n[0]))
		case "prep":
			c.names[words[0]] = c.prepare(c.job(words[1:]))
		case "sum":
			c.names[words[0]] = c.summarize(c.job(words[1:]))
		case "cover":
			c.cover(c.ids(words)...)
		case "hide":
			c.truncate(n[0])
		case "edit":
			c.edit(n[0])
		case "remove":
			c.remove(n...)
		case "new":
			c.must(c.s.NewSession(true))
		case "undo":
			err = c.undo()
		default:
			c.t.Fatalf("there is no step %q", step)
		}
	}
	return err
}

func (c *conversation) ids(names []string) (ids []int64) {
	for _, name := range names {
		ids = append(ids, c.names[name])
	}
	return ids
}

// job describes a summary to start; the zero value is a worker's leaf.
type job struct {
	from, to int64
	by       transcript.By
	trigger  transcript.Trigger
	children []int64 // then it is a rollup
}

// job reads what follows the name of a summary in a step.
func (c *conversation) job(words []string) (j job) {
	_, err := fmt.Sscanf(words[0], "%d-%d", &j.from, &j.to)
	check.NoError(c.t, err)
	if i := slices.Index(words, "of"); i > 0 {
		j.children = c.ids(words[i+1:])
	}
	if slices.Contains(words, "extractive") {
		j.by = transcript.Extractive
	}
	if slices.Contains(words, "repair") {
		j.trigger = transcript.OnRepair
	}
	return j
}

func (c *conversation) begin(j job) transcript.Summary {
	c.t.Helper()
	sum := transcript.Summary{
		Kind: transcript.Leaf, By: cmp.Or(j.by, transcript.Worker), Trigger: j.trigger, Children: j.children,
		Span: transcript.Span{From: j.from, To: j.to},
	}
	if j.children != nil {
		sum.Kind = transcript.Rollup
		sum.Level = 1
		sum.Trigger = cmp.Or(j.trigger, transcript.OnRollup)
	}
	c.must(c.s.Begin(sum))
	return c.s.Running[len(c.s.Running)-1]
}

func (c *conversation) prepare(j job) int64 {
	c.t.Helper()
	sum := c.begin(j)
	sum.Text = fmt.Sprintf("## Facts\n- what %d to %d say (#%d)\n- and a guess", j.from, j.to, j.from)
	sum.Lines = []transcript.Line{{At: 1, Seqs: []int64{j.from}}, {At: 2}}
	sum.Tokens = 10
	c.must(c.s.Prepare(sum))
	return sum.ID
}

func (c *conversation) cover(ids ...int64) (stale, wait []int64) {
	c.t.Helper()
	change, stale, wait := c.s.Cover(ids, 0, c.count)
	c.applyCover(change)
	return stale, wait
}

func (c *conversation) summarize(j job) int64 {
	c.t.Helper()
	id := c.prepare(j)
	stale, wait := c.cover(id)
	check.Require(c.t, len(stale)+len(wait) == 0, "summary %d over %d to %d: stale %v, wait %v", id, j.from, j.to, stale, wait)
	return id
}
