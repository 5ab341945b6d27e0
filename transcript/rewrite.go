// A person rewrites a line of a summary.

package transcript

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/chat"
)

// MaxLine is the maximum number of characters of a line that a person writes.
const MaxLine = 500

// The reasons why a line cannot be rewritten.
var (
	ErrNotApplied = errors.New("the summary is not shown")
	ErrNoLine     = errors.New("the summary has no such line")
	ErrOnlyLine   = errors.New("the summary has no other line")
	ErrLongLine   = fmt.Errorf("a line has at most %d characters", MaxLine)
)

// Writer is the person who writes a line.
type Writer struct {
	Name string // never empty
	ID   string // on the platform, or in the dashboard
}

// Rewrite replaces the text of the line with index at of an applied summary, in a new version of the summary: a row with the
// same span, kind and children, which an undo takes back like a compaction. The new line rests on the word of its
// writer. An empty text removes the line; a text that is already there and theirs changes nothing. What is being made from the
// old row becomes stale. text becomes one line, in the form of a list item. ErrNotApplied, ErrNoLine, ErrOnlyLine, ErrLongLine: nothing can
// be changed.
func (s *State) Rewrite(id int64, at int, text string, by Writer) (Change, error) {
	i := indexOf(s.Summaries, id)
	if i < 0 {
		return s.none(), ErrNotApplied
	}
	old := s.Summaries[i]
	row, err := old.rewritten(at, text, by)
	if err != nil || row.Text == old.Text && slices.EqualFunc(row.Lines, old.Lines, Line.equals) {
		return s.none(), err
	}
	row.Trigger = OnRewrite
	row.Error = ""
	d := s.draft()
	old.State = Replaced
	d.put(old)
	d.add(row)
	for _, job := range slices.Concat(d.Prepared, d.Running) {
		if job.Overlaps(row.Span) {
			d.put(job.retire(Stale))
		}
	}
	return d.headChange(), nil
}

func (l Line) equals(other Line) bool {
	return l.At == other.At && l.Beside == other.Beside && l.Earlier == other.Earlier && l.By == other.By && l.ByID == other.ByID && slices.Equal(l.Seqs, other.Seqs)
}

// rewritten returns the summary with another text in one of its lines.
func (sum Summary) rewritten(at int, text string, by Writer) (Summary, error) {
	claims := sum.Claims()
	if !slices.ContainsFunc(claims, func(c Claim) bool { return c.At == at }) {
		return sum, ErrNoLine
	}
	lines := strings.Split(sum.Text, "\n")
	_, content := cutMarker(WithoutMarks(oneLine(text)))
	switch {
	case utf8.RuneCountInString(content) > MaxLine:
		return sum, ErrLongLine
	case content != "":
		sum = sum.rewroteLine(at, content, by)
		marker, _ := cutMarker(lines[at])
		if strings.TrimSpace(marker) == "" {
			marker = "- " // what people write is no heading
		}
		lines[at] = marker + content
		sum.Lines = withLine(sum.Lines, Line{At: at, By: by.Name, ByID: by.ID})
	case len(claims) == 1 && sum.Kind != Placeholder:
		return sum, ErrOnlyLine
	default:
		sum = sum.rewroteLine(at, "", by)
		lines = slices.Delete(lines, at, at+1)
		sum.Lines = slices.DeleteFunc(slices.Clone(sum.Lines), func(l Line) bool { return l.At == at })
		sum.Lines = moved(sum.Lines, at+1, -1)
		if len(sum.Lines) == 0 {
			sum.Lines = nil // as it is read from the store
		}
	}
	sum.Text = strings.Join(lines, "\n")
	sum.Tokens = sum.Cost()
	return sum, nil
}

// rewroteLine returns the summary with the old text of a line among its dropped lines, unless a person wrote that. What is written
// now is not among them.
func (sum Summary) rewroteLine(at int, now string, by Writer) Summary {
	i := slices.IndexFunc(sum.Lines, func(l Line) bool { return l.At == at })
	_, was := cutMarker(strings.Split(sum.Text, "\n")[at])
	if (i < 0 || !sum.Lines[i].isPersons()) && withoutCitations(was) != withoutCitations(now) {
		why := by.Name + " rewrote it"
		if now == "" {
			why = by.Name + " removed it"
		}
		sum = sum.Dropping(DroppedLine{Text: was, Why: why, By: by.Name, ByID: by.ID})
	}
	sum.DroppedLines = slices.DeleteFunc(slices.Clone(sum.DroppedLines), func(l DroppedLine) bool { return withoutCitations(l.Text) == withoutCitations(now) })
	return sum
}

// oneLine returns a text on one line, without characters that control a terminal.
func oneLine(text string) string {
	return chat.OneLine(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
}
