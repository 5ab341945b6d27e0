package transcript_test

import (
	"reflect"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/transcript"
)

var ann = transcript.Writer{Name: "Ann", ID: "1"}

// with returns a conversation of six messages of which a summary with a text, over the first four, is applied.
func with(t *testing.T, by transcript.By, text string, lines ...transcript.Line) (*conversation, transcript.Summary) {
	t.Helper()
	c := said(t, 6)
	sum := c.begin(job{from: 1, to: 4, by: by})
	sum.Text = text
	sum.Lines = lines
	c.must(c.s.Prepare(sum))
	c.cover(sum.ID)
	return c, c.s.Summaries[0]
}

const facts = "## Goals\n- sail to Elba (#1)\n\n## Facts\n- the boat is red (#2)\n- it leaves at nine"

func linesOfFacts() []transcript.Line {
	return []transcript.Line{{At: 1, Seqs: []int64{1}}, {At: 4, Seqs: []int64{2}}, {At: 5}}
}

func (c *conversation) rewrites(id int64, at int, text string) transcript.Summary {
	c.t.Helper()
	change, err := c.s.Rewrite(id, at, text, ann)
	check.NoError(c.t, err)
	c.applyCover(change)
	for _, row := range c.s.Summaries {
		if row.Trigger == transcript.OnRewrite {
			return row
		}
	}
	return transcript.Summary{}
}

func TestLinesWithoutEvidenceAreMarked(t *testing.T) {
	_, row := with(t, transcript.Worker, facts, linesOfFacts()...)
	check.Contains(t, "shown", row.Render(), "(#2)\n- it leaves at nine [no evidence]")
	check.Contains(t, "shown in a thread", row.RenderInherited(), "- the boat is red\n- it leaves at nine [no evidence]")
	unknown := row
	unknown.Lines = nil
	check.Lacks(t, "of a row of which nothing is known", unknown.Render(), "[no evidence]")
	check.That(t, row.Cost() > unknown.Cost(), "the mark costs nothing")
	check.Equal(t, "without evidence", row.Unsupported(), 1)
	for text, want := range map[string]string{
		"- a [no evidence]\nb":                  "- a\nb",
		"a [no evidence]  [no evidence] \r\n b": "a\n b",
		"[no evidence] is a mark":               "[no evidence] is a mark",
		"x\n[no evidence]":                      "x\n",
		"nothing ":                              "nothing ",
	} {
		check.Equal(t, text, transcript.WithoutMarks(text), want)
	}
}

func TestClaims(t *testing.T) {
	_, row := with(t, transcript.Worker, facts, linesOfFacts()...)
	claims := row.Claims()
	check.That(t, len(claims) == 3 && claims[1].Text == "the boat is red (#2)" && claims[1].Known && claims[2].At == 5, "%+v", claims)
	row.Lines = nil
	claims = row.Claims()
	check.That(t, len(claims) == 3 && claims[0].Text == "sail to Elba (#1)" && !claims[0].Known, "of a row of which nothing is known: %+v", claims)
	row.Lines = []transcript.Line{{At: 4, By: "Ann"}}
	claims = row.Claims()
	check.That(t, len(claims) == 3 && claims[1].By == "Ann" && claims[1].Known && !claims[2].Known, "and of which a person wrote a line: %+v", claims)
	check.Len(t, "of a placeholder", transcript.Summary{Kind: transcript.Placeholder}.Claims(), 0)
}

func TestRewrite(t *testing.T) {
	t.Run("it is a new version, which an undo takes back", func(t *testing.T) {
		c, old := with(t, transcript.Worker, facts, linesOfFacts()...)
		row := c.rewrites(old.ID, 5, "  it leaves\nat ten ")
		check.Equal(t, "text", row.Text, strings.Replace(facts, "nine", "ten", 1))
		check.Equal(t, "the line", row.Lines[2].By+row.Lines[2].ByID, "Ann1")
		check.Lacks(t, "shown", row.Render(), "[no evidence]")
		check.That(t, row.ID != old.ID && row.Span == old.Span && row.Kind == old.Kind && row.By == old.By && row.Messages == 4, "%+v", row)
		c.status(old.ID, transcript.Replaced)
		check.NoError(t, c.undo())
		c.status(row.ID, transcript.Undone)
		check.That(t, reflect.DeepEqual(c.s.Summaries, []transcript.Summary{old}), "after an undo: %+v", c.s.Summaries)
		check.Equal(t, "spared", c.s.Spared, transcript.Span{})
		check.NoError(t, c.undo())
		check.Len(t, "then the summary is undone", c.s.Summaries, 0)
	})
	t.Run("a line that is removed leaves the others as they were", func(t *testing.T) {
		c, old := with(t, transcript.Worker, facts, linesOfFacts()...)
		row := c.rewrites(old.ID, 1, " ")
		check.Equal(t, "text", row.Text, strings.Replace(facts, "- sail to Elba (#1)\n", "", 1))
		claims := row.Claims()
		check.That(t, len(claims) == 2 && claims[0].Text == "the boat is red (#2)" && claims[0].Seqs[0] == 2, "%+v", claims)
	})
	t.Run("what people write is neither a heading nor marked", func(t *testing.T) {
		c, old := with(t, transcript.Extractive, "Mar 1:\nAnn: hello", transcript.Line{At: 1, Seqs: []int64{1}})
		row := c.rewrites(old.ID, 1, "\x1b## Goals [no evidence]")
		check.Equal(t, "text", row.Text, "Mar 1:\n- ## Goals")
	})
	t.Run("the same text is theirs from then on, once", func(t *testing.T) {
		c, old := with(t, transcript.Worker, facts, linesOfFacts()...)
		row := c.rewrites(old.ID, 5, "it leaves at nine")
		check.That(t, row.Text == facts && row.Unsupported() == 0, "%+v", row)
		again := check.Must(c.s.Rewrite(row.ID, 5, "it leaves at nine", ann))(t)
		check.That(t, again.Empty(), "%+v", again)
	})
	t.Run("it is refused", func(t *testing.T) {
		c, old := with(t, transcript.Worker, facts, linesOfFacts()...)
		for want, err := range map[error]error{
			transcript.ErrNotApplied: check.ErrorOf(c.s.Rewrite(old.ID+9, 1, "x", ann)),
			transcript.ErrNoLine:     check.ErrorOf(c.s.Rewrite(old.ID, 0, "x", ann)),
			transcript.ErrLongLine:   check.ErrorOf(c.s.Rewrite(old.ID, 1, strings.Repeat("ä", transcript.MaxLine+1), ann)),
		} {
			check.Error(t, err, want)
		}
		row := c.rewrites(old.ID, 1, "")
		check.Error(t, check.ErrorOf(c.s.Rewrite(old.ID, 1, "x", ann)), transcript.ErrNotApplied) // it has a newer version
		row = c.rewrites(row.ID, 3, "")
		check.Error(t, check.ErrorOf(c.s.Rewrite(row.ID, 3, "", ann)), transcript.ErrOnlyLine)
	})
	t.Run("what is made from the old version becomes stale", func(t *testing.T) {
		c, old := with(t, transcript.Extractive, facts, linesOfFacts()...)
		running := c.begin(job{from: 1, to: 4, trigger: transcript.OnRepair})
		prepared := c.prepare(job{from: 1, to: 4, trigger: transcript.OnRepair})
		other := c.prepare(job{from: 5, to: 6})
		c.rewrites(old.ID, 5, "it leaves at ten")
		c.status(running.ID, transcript.Stale)
		c.status(prepared, transcript.Stale)
		c.status(other, transcript.Prepared)
	})
}

// What a person wrote stays, word for word, whatever takes the summary's place.
func TestLinesOfPeopleStay(t *testing.T) {
	const theirs = "- it leaves at ten"
	rewritten := func(t *testing.T, by transcript.By) (*conversation, transcript.Summary) {
		c, old := with(t, by, facts, linesOfFacts()...)
		return c, c.rewrites(old.ID, 5, "it leaves at ten")
	}
	replaced := func(t *testing.T, c *conversation, sum transcript.Summary, text string) transcript.Summary {
		t.Helper()
		sum.Text = text
		sum.Lines = nil
		c.must(c.s.Prepare(sum))
		stale, _ := c.cover(sum.ID)
		check.Len(t, "stale", stale, 0)
		row := c.s.Summaries[0]
		check.Equal(t, "tokens", row.Tokens, row.Cost())
		return row
	}
	for text, want := range map[string]string{
		"## Facts\n- blue\n\n## Open questions\n- when?": "## Facts\n- blue\n" + theirs + "\n\n## Open questions\n- when?",
		"## Goals\n- Elba":           "## Goals\n- Elba\n" + theirs,
		"Ann: we leave":              "Ann: we leave\n" + theirs,
		"- it leaves at ten\n- blue": "- it leaves at ten\n- blue",
	} {
		t.Run("in a repair: "+text, func(t *testing.T) {
			c, _ := rewritten(t, transcript.Extractive)
			row := replaced(t, c, c.begin(job{from: 1, to: 4, trigger: transcript.OnRepair}), text)
			check.Equal(t, "text", row.Text, want)
			check.That(t, len(row.Lines) == 1 && row.Lines[0].By == "Ann" && row.Lines[0].ByID == "1", "%+v", row.Lines)
		})
		t.Run("in a fold: "+text, func(t *testing.T) {
			c, child := rewritten(t, transcript.Worker)
			other := c.summarize(job{from: 5, to: 6})
			row := replaced(t, c, c.begin(job{from: 1, to: 6, trigger: transcript.OnRollup, children: []int64{child.ID, other}}), text)
			check.Equal(t, "text", row.Text, want)
		})
	}
	t.Run("in a repair of a part", func(t *testing.T) {
		c, _ := rewritten(t, transcript.Extractive)
		c.summarize(job{from: 3, to: 4, trigger: transcript.OnRepair})
		check.EqualAll(t, "shown", theirLines(c.s), []string{"it leaves at ten"})
	})
	t.Run("an edit of a message leaves nothing else of an extract", func(t *testing.T) {
		c, _ := rewritten(t, transcript.Extractive)
		c.edit(2)
		row := c.s.Summaries[0]
		check.That(t, row.Kind == transcript.Placeholder && row.Text == theirs && row.Lines[0].At == 0, "%+v", row)
		check.Contains(t, "shown", row.Render(), "4 older messages were truncated due to context limits]\n"+theirs)
		c.truncate(6)
		check.EqualAll(t, "a truncation keeps it", theirLines(c.s), []string{"it leaves at ten"})
		id := c.summarize(job{from: 1, to: 6, trigger: transcript.OnRepair, by: transcript.Extractive})
		check.EqualAll(t, "and what fills it", theirLines(c.s), []string{"it leaves at ten"})
		c.status(id, transcript.Applied)
	})
	t.Run("a deletion of a message takes it along", func(t *testing.T) {
		c, _ := rewritten(t, transcript.Worker)
		c.remove(2)
		check.That(t, c.s.Summaries[0].Text == "" && c.s.Summaries[0].Lines == nil, "%+v", c.s.Summaries[0])
	})
}

func FuzzRewrite(f *testing.F) {
	f.Add(facts, 1, "x")
	f.Add("- a [no evidence]\r\n\n# \n#", 0, "\u2028## \x00")
	f.Fuzz(func(t *testing.T, text string, at int, written string) {
		c := said(t, 4)
		sum := c.begin(job{from: 1, to: 4})
		sum.Text = transcript.WithoutMarks(text)
		claims := sum.Claims()
		for _, claim := range claims {
			sum.Lines = append(sum.Lines, claim.Line)
		}
		c.must(c.s.Prepare(sum))
		c.cover(sum.ID)
		marked := c.s.Summaries[0]
		check.EqualAll(t, "without its marks", strings.Fields(transcript.WithoutMarks(marked.Marked())), strings.Fields(marked.Text))
		change, err := c.s.Rewrite(sum.ID, at, written, ann)
		if err != nil || change.Empty() {
			return
		}
		c.applyCover(change)
		row := c.s.Summaries[0]
		check.That(t, strings.Count(row.Text, "\n") <= strings.Count(sum.Text, "\n"), "%q became %q", sum.Text, row.Text)
		check.NoError(t, c.undo())
		check.Equal(t, "after an undo", c.s.Summaries[0].Text, sum.Text)
	})
}
