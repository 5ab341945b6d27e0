package transcript_test

import (
	"fmt"
	"testing"

	"cairn/testkit/check"
	"cairn/transcript"
)

// numbered returns the lines of a summary as people count them.
func numbered(row transcript.Summary) (texts []string) {
	for _, c := range row.Claims() {
		texts = append(texts, c.Text)
	}
	return texts
}

// The number of a line may be typed long after it was shown, so writing another line must not change it.
func TestNumbersOfLinesStay(t *testing.T) {
	const text = "## Facts\n- it rains\n- the boat is red\n\nopen tasks:\n- none"
	for name, lines := range map[string][]transcript.Line{
		"each line was judged":           {{At: 1}, {At: 2, Seqs: []int64{2}}, {At: 5}},
		"one line was judged":            {{At: 2, Seqs: []int64{2}}},
		"nothing is known":               nil,
		"there are no lines in the list": {},
		"a person wrote one":             {{At: 1, By: "Bob", ByID: "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, row := with(t, transcript.Worker, text, lines...)
			want := numbered(row)
			check.EqualAll(t, "numbered", want, []string{"it rains", "the boat is red", "none"})
			for i := range want {
				want[i] = fmt.Sprint("as Ann says, ", i)
				row = c.rewrites(row.ID, row.Claims()[i].At, want[i])
				check.EqualAll(t, fmt.Sprint("after line ", i+1, " was written"), numbered(row), want)
			}
			row = c.rewrites(row.ID, row.Claims()[1].At, "")
			check.EqualAll(t, "after the second was removed", numbered(row), []string{want[0], want[2]})
		})
	}
}

func TestLinesThatClaimNothingHaveNoNumber(t *testing.T) {
	row := transcript.Summary{Text: "Facts:\n12 May:\nAda: hello\n- a list:\n  \n## Messages\n[shortened]\n事实：\n#1 is pinned"}
	check.EqualAll(t, "numbered", numbered(row), []string{"Ada: hello", "a list:", "#1 is pinned"})
	row.Lines = []transcript.Line{{At: 0, Seqs: []int64{1}}}
	check.Equal(t, "one that was judged", numbered(row)[0], "Facts:")
}
