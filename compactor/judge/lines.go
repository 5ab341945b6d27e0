package judge

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/compactor/summarize"
	"cairn/internal/facts"
	"cairn/internal/lazy"
	"cairn/internal/tokens"
	"cairn/transcript"
)

// Checked is a text whose lines were judged.
type Checked struct {
	Text    string                   // without the lines that the messages contradict, or that say what a person removed
	Lines   []transcript.Line        // those that claim something
	Unknown []int                    // indexes of lines of Text with a name, number or date that nothing shown to the writer has
	Wrong   []transcript.DroppedLine // those that are not in Text, and why
}

// Check judges each line of a text by the messages of the span. A line that they contradict is left out. The others keep what
// says them: messages, or what else the writer was shown; nothing, if a name, number or date is in neither.
func (j *Judge) Check(text string) (c Checked) {
	var languages []string
	if len(text) >= sureLength {
		languages = facts.Languages(text)
	}
	under := -1
	var kept []string
	for at, line := range strings.Split(text, "\n") {
		if heading := summarize.HeadingOf(line); heading >= 0 {
			under = heading
		} else if claims(line) {
			clipped := tokens.Clip(summarize.Bullet().ReplaceAllString(strings.TrimSpace(line), ""), maxOfLine)
			if by := j.removal(line); by != nil {
				c.Wrong = append(c.Wrong, transcript.DroppedLine{Text: clipped, Why: by.Why, By: by.By, ByID: by.ByID})
				continue
			}
			if l, ok := j.known[at]; ok {
				l.At = len(kept)
				c.Lines = append(c.Lines, l)
				kept = append(kept, line)
				continue
			}
			e := j.evidence()
			x := &comparison{e, e.claimOf(line, under, languages)}
			v := x.judge()
			if v.wrong != "" {
				c.Wrong = append(c.Wrong, transcript.DroppedLine{Text: clipped, Why: v.wrong})
				continue
			}
			if v.unknown {
				c.Unknown = append(c.Unknown, len(kept))
			}
			c.Lines = append(c.Lines, e.lineOf(v, len(kept)))
		}
		kept = append(kept, line)
	}
	if len(c.Lines) == 0 && len(c.Wrong) > 0 && !slices.ContainsFunc(c.Wrong, isJudged) { // a summary of nothing is no summary
		return j.Without(nil).Check(text)
	}
	c.Text = withoutEmptyHeadings(kept, &c)
	return c
}

// Knowing returns the judge of a text of which it is known what some lines rest on: these are not judged.
func (j *Judge) Knowing(lines []transcript.Line) *Judge {
	knowing := *j
	knowing.known = make(map[int]transcript.Line, len(lines))
	for _, l := range lines {
		knowing.known[l.At] = l
	}
	return &knowing
}

// lineOf returns what the line at an index rests on.
func (e *evidence) lineOf(v verdict, at int) transcript.Line {
	l := transcript.Line{At: at, Seqs: v.seqs, By: v.by.Name, ByID: v.by.ID}
	if len(v.on) == 0 || slices.ContainsFunc(v.on, func(i int) bool { return !e.passages[i].beside }) {
		return l
	}
	l.Beside = true
	for _, i := range v.on {
		l.Earlier = cmp.Or(l.Earlier, e.passages[i].row)
	}
	return l
}

// isJudged reports whether the messages contradict a dropped line; otherwise a person removed it.
func isJudged(l transcript.DroppedLine) bool { return l.By == "" }

// sureLength is how long a text must be, in bytes, for its language to be certain.
const sureLength = 240

// maxOfLine is how much of a contradicted line its writer sees again, in tokens.
const maxOfLine = 60

// claims reports whether a line says anything: a line with a day, above the extracts of that day, does not, nor does a citation alone.
func claims(line string) bool {
	trimmed := strings.TrimSpace(line)
	return strings.Trim(summarize.Statement(line), "-*•") != "" && trimmed != transcript.Shortened && trimmed != summarize.Quoted && !dateLine().MatchString(line)
}

// dateLine matches a line with a day, whatever language it is in.
var dateLine = lazy.Pattern(`^\s*\d{1,2} \pL+(?: \d{4})?:$|^\s*\d{4}-\d\d-\d\d:?$`)

var (
	seqIn     = regexp.MustCompile(`#([0-9]+)`)
	seqOrDash = regexp.MustCompile(`[0-9]+|[–-]`)
)

func seqOf(text string) (seq int64, ok bool) {
	seq, err := strconv.ParseInt(text, 10, 64)
	return seq, err == nil
}

// cited returns the numbers of the messages that a line cites, in order.
func cited(line string) (seqs []int64) {
	for _, citation := range transcript.Citations.FindAllString(line, -1) {
		for _, found := range seqIn.FindAllStringSubmatch(citation, -1) {
			if seq, ok := seqOf(found[1]); ok {
				seqs = append(seqs, seq)
			}
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// withoutEmptyHeadings joins lines, without headings under which nothing is left, and moves the judged lines along.
func withoutEmptyHeadings(lines []string, c *Checked) string {
	if len(c.Wrong) == 0 {
		return strings.Join(lines, "\n")
	}
	var kept []string
	moved := map[int]int{}
	for i, line := range lines {
		if summarize.HeadingOf(line) >= 0 && emptyUnder(lines[i+1:]) {
			continue
		}
		moved[i] = len(kept)
		kept = append(kept, line)
	}
	for i := range c.Lines {
		c.Lines[i].At = moved[c.Lines[i].At]
	}
	for i, at := range c.Unknown {
		c.Unknown[i] = moved[at]
	}
	return strings.Join(kept, "\n")
}

// emptyUnder reports whether nothing is before the next heading.
func emptyUnder(lines []string) bool {
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			return summarize.HeadingOf(line) >= 0
		}
	}
	return true
}

// Contradicted is the refusal of a summary with lines that the messages contradict. Its text names none of them, so it may be
// logged.
type Contradicted struct{ Lines []transcript.DroppedLine }

func (c Contradicted) Error() string {
	return fmt.Sprintf("the messages contradict %d lines of the model's summary", len(c.Lines))
}

// Unwrap returns the refusal as one without details.
func (c Contradicted) Unwrap() error { return Refusal(c.Error()) }

// Reasons says which lines are wrong, and why, for the model that wrote them.
func (c Contradicted) Reasons() string {
	const maxReasons = 8
	var reasons []string
	for _, l := range c.Lines[:min(len(c.Lines), maxReasons)] {
		reasons = append(reasons, l.String())
	}
	text := "these lines contradict the messages: " + strings.Join(reasons, "; ")
	if len(c.Lines) > maxReasons {
		text += fmt.Sprintf("; and %d more", len(c.Lines)-maxReasons)
	}
	return text
}
