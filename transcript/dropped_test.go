package transcript_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/transcript"
)

// droppedOf returns the dropped lines of a summary, those of people with their names.
func droppedOf(row transcript.Summary) (lines []string) {
	for _, l := range row.DroppedLines {
		lines = append(lines, strings.TrimSpace(l.By+" "+l.Text))
	}
	return lines
}

func TestRewriteKeepsWhatTheLineSaid(t *testing.T) {
	c, old := with(t, transcript.Worker, facts, linesOfFacts()...)
	row := c.rewrites(old.ID, 5, "it leaves at ten")
	check.Equal(t, "dropped", fmt.Sprintf("%+v", row.DroppedLines), fmt.Sprintf("%+v", []transcript.DroppedLine{
		{Text: "it leaves at nine", Why: "Ann rewrote it", By: "Ann", ByID: "1"},
	}))
	row = c.rewrites(row.ID, 1, "")
	check.EqualAll(t, "after another was removed", droppedOf(row), []string{"Ann it leaves at nine", "Ann sail to Elba (#1)"})
	check.Equal(t, "why", row.DroppedLines[1].Why, "Ann removed it")
	for _, shown := range []string{row.Render(), row.RenderInherited(), row.Marked()} {
		check.Lacks(t, "shown to a model", shown, "nine", "Elba")
	}
	row = c.rewrites(row.ID, 3, "sail to Elba")
	check.EqualAll(t, "a line that is written again is there", droppedOf(row), []string{"Ann it leaves at nine", "Ann the boat is red (#2)"})
	row = c.rewrites(row.ID, 4, "")
	check.EqualAll(t, "what a person wrote is not kept", droppedOf(row), []string{"Ann it leaves at nine", "Ann the boat is red (#2)"})
	for range 4 {
		check.NoError(t, c.undo())
	}
	check.That(t, reflect.DeepEqual(c.s.Summaries, []transcript.Summary{old}), "after an undo: %+v", c.s.Summaries)
	row = c.rewrites(old.ID, 4, "the boat is red (#2)")
	check.Len(t, "a line that somebody confirmed", row.DroppedLines, 0)
}

func TestRemovedLinesAreKnownToLaterSummaries(t *testing.T) {
	removed := func(t *testing.T, by transcript.By) (*conversation, transcript.Summary) {
		c, old := with(t, by, facts, linesOfFacts()...)
		return c, c.rewrites(old.ID, 5, "")
	}
	want := []string{"Ann it leaves at nine"}
	t.Run("in a repair", func(t *testing.T) {
		c, _ := removed(t, transcript.Extractive)
		c.summarize(job{from: 1, to: 4, trigger: transcript.OnRepair})
		check.EqualAll(t, "dropped", droppedOf(c.s.Summaries[0]), want)
	})
	t.Run("in a repair of a part, and the rest of it", func(t *testing.T) {
		c, _ := removed(t, transcript.Extractive)
		c.summarize(job{from: 3, to: 4, trigger: transcript.OnRepair})
		check.EqualAll(t, "the rest", droppedOf(c.s.Summaries[0]), want)
		check.EqualAll(t, "the part", droppedOf(c.s.Summaries[1]), want)
	})
	t.Run("in a fold, but not what was only judged", func(t *testing.T) {
		c, child := removed(t, transcript.Worker)
		second := c.begin(job{from: 5, to: 6})
		second.Text = "- fine"
		second = second.Dropping(transcript.DroppedLine{Text: "- wrong", Why: "there is no message #99"})
		c.must(c.s.Prepare(second))
		c.cover(second.ID)
		c.summarize(job{from: 1, to: 6, trigger: transcript.OnRollup, children: []int64{child.ID, second.ID}})
		check.EqualAll(t, "dropped", droppedOf(c.s.Summaries[0]), want)
	})
	t.Run("an edit and a deletion of a message forget them", func(t *testing.T) {
		for _, by := range []transcript.By{transcript.Worker, transcript.Extractive} {
			for name, change := range map[string]func(*conversation){"edit": func(c *conversation) { c.edit(2) }, "deletion": func(c *conversation) { c.remove(2) }} {
				c, _ := removed(t, by)
				change(c)
				check.Len(t, string(by)+", "+name, c.s.Summaries[0].DroppedLines, 0)
			}
		}
	})
}

func TestDroppedLinesAreFew(t *testing.T) {
	var row transcript.Summary
	for i := range 20 {
		row = row.Dropping(transcript.DroppedLine{Text: fmt.Sprint("judged ", i), Why: "wrong"}, transcript.DroppedLine{Text: "judged 0", Why: "wrong"})
	}
	check.Len(t, "of a judge", row.DroppedLines, transcript.MaxDropped)
	check.Equal(t, "the first", row.DroppedLines[0].Text, "judged 0")
	for i := range 20 {
		row = row.Dropping(transcript.DroppedLine{Text: fmt.Sprint("removed ", i), Why: "x", By: "Ann"})
		check.That(t, len(row.DroppedLines) == transcript.MaxDropped, "%d", len(row.DroppedLines))
	}
	check.EqualAll(t, "of people the newest", droppedOf(row)[:2], []string{"Ann removed 8", "Ann removed 9"})
	row = transcript.Summary{}.Dropping(transcript.DroppedLine{Text: strings.Repeat("ä", 900), Why: strings.Repeat("ö ", 900)})
	check.That(t, len([]rune(row.DroppedLines[0].Text+row.DroppedLines[0].Why)) < 750, "%+v", row)
	row = row.Dropping(row.DroppedLines...)
	check.Len(t, "the same again", row.DroppedLines, 1)
	theirs := transcript.DroppedLine{Text: "a", Why: "Ann removed it", By: "Ann"}
	row = transcript.Summary{}.Dropping(theirs).Dropping(transcript.DroppedLine{Text: "a", Why: "wrong"})
	check.Equal(t, "what a person removed stays theirs", fmt.Sprint(row.DroppedLines), fmt.Sprint([]transcript.DroppedLine{theirs}))
}
