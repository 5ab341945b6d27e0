package summarize

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/testkit/check"
	"cairn/testkit/wordstest"
	"cairn/transcript"
)

func sectioned(each int) string {
	var b strings.Builder
	for _, section := range []string{"Goals", "**Decisions**", "## People", "Preferences:", "Facts", "Open questions"} {
		fmt.Fprintf(&b, "%s\n", section)
		for i := range each {
			fmt.Fprintf(&b, "- %s item %d: Ada said that the thing number %d matters to Bob. ß界\n", strings.Trim(section, "#* :"), i, i)
		}
	}
	return b.String()
}

// checkWholeLines fails if a text has a line that is not in any of the others, or a heading without lines.
func checkWholeLines(t *testing.T, text string, others ...string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	all := strings.Split(strings.Join(others, "\n"), "\n")
	for i, line := range lines {
		if heading().MatchString(line) || line == Quoted {
			check.Require(t, i+1 < len(lines) && !heading().MatchString(lines[i+1]) && lines[i+1] != transcript.Shortened, "a heading without lines in:\n%s", text)
			continue
		}
		check.Require(t, line == transcript.Shortened || slices.Contains(all, line), "line %q is not whole in:\n%s", line, text)
	}
}

func TestHeadedSummaryIsShortenedByLines(t *testing.T) {
	check.SkipUnderRace(t)
	text := strings.TrimSpace(sectioned(14))
	for limit := tokens.Estimate(text) - 1; limit > 40; limit -= 13 {
		short := ShortenSummary(text, limit)
		n := tokens.Estimate(short)
		check.Require(t, n <= limit && n >= limit-60, "got %d tokens, want at most %d", n, limit)
		check.Require(t, utf8.ValidString(short) && strings.HasSuffix(short, "\n"+transcript.Shortened), "at %d tokens: got %q", limit, short)
		checkWholeLines(t, short, text)
		earlier := 0 // lines of headings that are dropped before
		for _, under := range []string{"Facts", "Preferences", "People", "Goals", "Decisions", "Open questions"} {
			n := strings.Count(short, "- "+under+" item")
			check.Require(t, n == 14 || earlier <= 1, "at %d tokens lines of %s are dropped, but not those before:\n%s", limit, under, short) // a short one may fit
			check.Require(t, n <= 1 || strings.Contains(short, fmt.Sprintf("- %s item 13", under)), "at %d tokens the newest of %s is gone:\n%s", limit, under, short)
			earlier += n
		}
	}
	const long = "## Facts\n- "
	check.That(t, tokens.Estimate(ShortenSummary(long+strings.Repeat("word ", 500), 50)) <= 50, "a line that does not fit is not clipped")
}

// earlierRows are the texts of three summaries by a model, oldest first.
var earlierRows = []string{
	"## Goals\n- Ines wants to sail to Madeira in August 2024 (#2).\n## Decisions\n- Ines and Paul buy the boat Mulligan for 12,000 EUR (#4, #9).\n" +
		"- The start of the regatta is moved to 9 May 2024 (#12).\n## Facts\n- The hull needs two coats of paint (#6).\n## Open questions\n- Tom asked on 3 March 2024 who pays the deposit of 1,200 EUR (#17).\n- Who feeds the cat? (#20)",
	"## Decisions\n- The start of the regatta is moved to 16 May 2024 (#31).\n- Ines pays the deposit of 1,200 EUR (#33).\n## People\n- Paul is a nurse in Braga (#35).\n" +
		"## Facts\n- The hull needs two coats of paint (#40).\n  - The first is blue (#41).",
	"## Preferences\n- Paul drinks green tea (#52).\n## Open questions\n- Which harbour lets them winter the boat? (#55)",
}

// rows returns the texts as a fold reads them.
func rows(texts ...string) (messages []chat.Message) {
	for i, text := range texts {
		row := rowOf(text)
		row.FromTime = monday.AddDate(0, 0, i)
		messages = append(messages, WrittenOf(row))
	}
	return messages
}

func TestFoldKeepsLinesUnderTheirHeadings(t *testing.T) {
	whole := Extract(rows(earlierRows...), 2000, 0, "")
	check.Equal(t, "fold", whole.Text, "## Goals\n- Ines wants to sail to Madeira in August 2024 (#2).\n## Decisions\n- Ines and Paul buy the boat Mulligan for 12,000 EUR (#4, #9).\n"+
		"- The start of the regatta is moved to 9 May 2024 (#12).\n- The start of the regatta is moved to 16 May 2024 (#31).\n- Ines pays the deposit of 1,200 EUR (#33).\n"+
		"## People\n- Paul is a nurse in Braga (#35).\n## Preferences\n- Paul drinks green tea (#52).\n## Facts\n- The hull needs two coats of paint (#6, #40).\n  - The first is blue (#41).\n"+
		"## Open questions\n- Who feeds the cat? (#20)\n- Which harbour lets them winter the boat? (#55)")
	check.EqualAll(t, "sources", whole.Sources, []int64{0})
	check.Equal(t, "a fold of folds", Extract(rows(whole.Text), 2000, 0, "").Text, whole.Text)
}

func TestFoldDropsInTheOrderOfThePrompts(t *testing.T) {
	order := []string{"The hull needs", "Paul drinks", "Paul is a nurse", "sail to Madeira", "9 May", "boat Mulligan", "16 May", "pays the deposit", "Who feeds", "Which harbour"}
	whole := tokens.Estimate(Extract(rows(earlierRows...), 2000, 0, "").Text)
	for target := whole - 1; target > 30; target-- {
		text := Extract(rows(earlierRows...), target, 0, "").Text
		check.Require(t, tokens.Estimate(text) <= target && text != "", "%d tokens for %d: %q", tokens.Estimate(text), target, text)
		early := 0
		for i, line := range order {
			if strings.Contains(text, line) {
				early++
				continue
			}
			check.Require(t, early <= 1, "at %d tokens %q is dropped before one of %q:\n%s", target, line, order[:i], text)
		}
	}
	text := Extract(rows(earlierRows...), 60, 0, "hull paint").Text
	check.Contains(t, "a fold with a focus", text, "The hull needs two coats")
}

func TestMixedFoldKeepsBothForms(t *testing.T) {
	messages := slices.Concat(rows(earlierRows[0]), harbour, rows(earlierRows[2]))
	got := Extract(messages, 300, 0, "")
	lines, sentences, found := strings.Cut(got.Text, "\n"+Quoted+"\n")
	check.Require(t, found && strings.HasPrefix(lines, "## Goals\n"), "got %s", got.Text)
	checkWholeLines(t, lines, earlierRows...)
	check.HasPrefix(t, "sentences", sentences, "4 March 2024:\nInes: ")
	check.That(t, got.Sources[0] == 0 && slices.Contains(got.Sources, 3), "got sources %v", got.Sources)
	check.Equal(t, "joined", JoinParts([]string{got.Text}), got.Text)
	for limit := tokens.Estimate(got.Text) - 1; limit > 40; limit -= 5 {
		short := ShortenSummary(got.Text, limit)
		check.Require(t, tokens.Estimate(short) <= limit, "%d tokens for %d", tokens.Estimate(short), limit)
		checkWholeLines(t, short, got.Text)
	}
	again := Extract(rows(got.Text), 300, 0, "").Text // of a copy, whose messages are elsewhere
	check.Contains(t, "fold of a mixed text", again, lines, Quoted+"\n4 March 2024:\nInes: ")
	check.Lacks(t, "fold of a mixed text", again, "assistant:")
}

func TestFoldOfTextsWithoutHeadings(t *testing.T) {
	const worker = "Caroline said that she bought a boat on 3 March 2024 (#3).\nMelanie paints it (#5)."
	check.Equal(t, "a worker's text", Extract(rows(worker), 200, 0, "").Text, worker)
	extract := Extract(harbour, 200, 0, "").Text
	again := Extract(rows(extract), 200, 0, "").Text
	check.HasPrefix(t, "chosen sentences", again, "4 March 2024:\nInes: ")
	check.Lacks(t, "chosen sentences", again, "assistant")
	check.Contains(t, "what a person writes", Extract(said("Ada: Facts:\nI sold the boat Mulligan."), 200, 0, "").Text, "Facts")
}

func FuzzFold(f *testing.F) {
	for _, text := range append(wordstest.Texts(), earlierRows...) {
		f.Add(text, earlierRows[0], 80)
	}
	f.Add("## Goals\n```\n## Facts\n```\n  - a\n[shortened]\n## Messages\n1 May 2024:\na: b", "Facts:", 20)
	f.Fuzz(func(t *testing.T, one, other string, target int) {
		target %= 1000
		messages := append(rows(one, other), harbour[:4]...)
		for _, messages := range [][]chat.Message{messages, messages[:2]} {
			s := Extract(messages, target, 0, "boat")
			check.Require(t, tokens.Estimate(s.Text) <= max(target, 0), "%d tokens for %d: %q", tokens.Estimate(s.Text), target, s.Text)
		}
		joined := JoinParts([]string{one, other})
		check.Equal(t, "joined again", JoinParts([]string{joined}), joined)
		short := ShortenSummary(joined, max(target, 20))
		check.Require(t, tokens.Estimate(short) <= max(target, 20), "%d tokens for %d", tokens.Estimate(short), target)
	})
}
