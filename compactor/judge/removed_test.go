package judge

import (
	"fmt"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/words"
	"cairn/testkit/check"
	"cairn/transcript"
)

func TestRemovedLinesAreLeftOutAgain(t *testing.T) {
	removed := func(text string) []transcript.DroppedLine {
		return []transcript.DroppedLine{{Text: text, Why: "Ada removed it", By: "Ada", ByID: "a"}}
	}
	for _, c := range []struct {
		removed, line string
		again         bool
	}{
		{"The boat is red", "- The boat is red", true},
		{"The boat is red (#2)", "* the Boat is red (#2, #3)", true},
		{"Ada decides to paint the kitchen walls green (#3)", "- Ada decided to paint the walls of the kitchen green", true},
		{"Ada decides to paint the kitchen walls green next week", "- Ada paints the kitchen walls green", false}, // it may be another plan
		{"Ada decides to paint the kitchen walls green", "- Ada decides to paint the kitchen walls blue", false},
		{"Ada decides to paint the kitchen walls", "- Ben decides to paint the kitchen walls", false},
		{"Ada paints the kitchen walls", "- Ada does not paint the kitchen walls", false},
		{"The loan costs 4 percent over 20 years", "- The loan costs 5 percent over 20 years", false},
		{"The loan costs 4 percent over 20 years", "- The loan costs four percent over 20 years", true},
		{"Ben talks to the bank on 9 March", "- Ben talks to the bank on 19 March", false},
		{"Ben talks to the bank", "- Ben talks to the bank on 9 March", false},
		{"Das Boot ist rot", "- Das Boot ist nicht rot", false},
		{"船は赤い", "- 船は赤い", true},
		{"船は赤い", "- 船は赤くない", false},
		{"Christina decides", "- Christian decides", false},
		{"(#4)", "- (#4)", false},
	} {
		t.Run(c.removed+" | "+c.line, func(t *testing.T) {
			judge := Of(summarize.ItemsOf(hall(), summarize.MaxMessage)).Without(removed(c.removed))
			got := judge.Check("- Ben likes doors\n" + c.line)
			again := len(got.Wrong) > 0 && got.Wrong[0].By == "Ada"
			check.Equal(t, "left out", again, c.again)
			if again {
				check.Equal(t, "text", got.Text, "- Ben likes doors")
				check.Equal(t, "why", got.Wrong[0].Why, "Ada removed it")
			}
		})
	}
	all := Of(summarize.ItemsOf(hall(), summarize.MaxMessage)).Without(removed("Ben likes doors")).Check("## Facts\n- Ben likes doors")
	check.That(t, all.Text == "## Facts\n- Ben likes doors" && len(all.Wrong) == 0, "a summary of which nothing else is left stays: %+v", all)
	for _, line := range []string{"- ", "* (#3)", "(#3, #4)", "-\t"} {
		check.Equal(t, line+" says nothing", fmt.Sprintf("%+v", Of(summarize.ItemsOf(hall(), summarize.MaxMessage)).Check(line).Lines), "[]")
	}
	check.Equal(t, "a heading of that text stays", fmt.Sprint(Of(nil).Without(removed("Facts")).Check("## Facts\n- x").Wrong), "[]")
}

func FuzzRemovedLine(f *testing.F) {
	f.Add("The boat is red (#2)", "- the boat is not red")
	f.Add("9 March, 4 %", "* ２ \u2028 [no evidence]")
	judge := Of(summarize.ItemsOf(hall(), summarize.MaxMessage))
	f.Fuzz(func(t *testing.T, a, b string) {
		check.Equal(t, "the other way round", judge.repeatsLine(a, b), judge.repeatsLine(b, a))
		check.That(t, words.Fold(a) == "" || judge.repeatsLine(a, a), "%q does not repeat itself", a)
	})
}
