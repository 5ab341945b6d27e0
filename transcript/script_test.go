package transcript_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/transcript"
)

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

// begin starts a job and returns the summary it will make.
func (c *conversation) begin(j job) transcript.Summary {
	c.t.Helper()
	sum := transcript.Summary{
		Kind: transcript.Leaf, By: cmp.Or(j.by, transcript.Worker), Trigger: j.trigger, Children: j.children,
		Span: transcript.Span{From: j.from, To: j.to},
	}
	if j.children != nil {
		sum.Kind, sum.Level = transcript.Rollup, 1
	}
	c.must(c.s.Begin(sum))
	return c.s.Running[len(c.s.Running)-1]
}

// prepare adds a prepared summary and returns its ID.
func (c *conversation) prepare(j job) int64 {
	c.t.Helper()
	sum := c.begin(j)
	sum.Text, sum.Tokens = fmt.Sprintf("what %d to %d say", j.from, j.to), 10
	c.must(c.s.Prepare(sum))
	return sum.ID
}

// cover applies prepared summaries, and returns which became stale and which wait.
func (c *conversation) cover(ids ...int64) (stale, wait []int64) {
	c.t.Helper()
	change, stale, wait := c.s.Cover(ids, 0, c.count(c.s.CoverNeeds(ids)))
	c.applyCover(change)
	return stale, wait
}

// summarize prepares and applies one summary, and returns its id.
func (c *conversation) summarize(j job) int64 {
	c.t.Helper()
	id := c.prepare(j)
	if stale, wait := c.cover(id); len(stale)+len(wait) > 0 {
		c.t.Fatalf("summary %d over %d to %d: stale %v, wait %v", id, j.from, j.to, stale, wait)
	}
	return id
}
