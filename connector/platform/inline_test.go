// What is bold, quoted, hidden or linked stays so where a reply is split.

package platform

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"cairn/testkit/check"
)

func TestMarksAreClosedAndOpenedAgain(t *testing.T) {
	words := strings.Repeat("word ", 50) // 250 characters
	s := Splitter{Limit: 300, Spoilers: true}
	for claim, c := range map[string][]string{ // the text, and how its pieces begin and end, with … between
		"bold text":                      {"**" + words + words + "end**", "**word…word**", "**word…end**"},
		"italic text in bold text":       {"**a *" + words + words + "end* b**", "**a *word…word***", "***word…end* b**"},
		"a spoiler":                      {"||" + words + words + "end||", "||word…word||", "||word…end||"},
		"struck text":                    {"~~" + words + words + "end~~", "~~word…word~~", "~~word…end~~"},
		"code":                           {"``" + words + words + "e`d``", "``word…word``", "``word…e`d``"},
		"a link stays whole":             {words + "some more words until [a label of many words](https://example.com/a/b/c) end", "word…until", "[a…end"},
		"so does an address":             {words + "some more words https://example.com/" + strings.Repeat("a", 60), "word…words", "https…a"},
		"a short mark goes over":         {words + "some more words and **a few bold words to keep together** end", "word…and", "**a…end"},
		"bold text that is not finished": {"**" + words + words, "**word…word**", "**word…word"},
		"a quote":                        {"> " + words + words + "end", "> word…word", "> word…end"},
		"bold text in a quote":           {"> **" + words + words + "end**", "> **word…word**", "> **word…end**"},
		"over lines":                     {"> **" + words + "\n> " + words + "end**", "> **word…word**", "> **word…end**"},
		"what ends there is not opened":  {"**" + strings.Repeat("x", 296) + "** " + words, "**x…x**", "word…word"},
		"stars that are no marks":        {strings.Repeat("2 * 3 ", 60), "2…", "…3"},
		"names with underscores":         {strings.Repeat("snake_case_name ", 25), "snake…name", "snake…name"},
		"marks of two paragraphs":        {"**" + words + "\n\n" + words + "**", "**word…word", "word…**"},
	} {
		var got []string
		for _, p := range s.Texts(c[0], "") {
			got = append(got, strings.TrimSpace(p))
		}
		check.Len(t, claim+": pieces", got, len(c)-1)
		for i, p := range got {
			begin, end, _ := strings.Cut(c[i+1], "…")
			check.That(t, strings.HasPrefix(p, begin) && strings.HasSuffix(p, end), "%s: piece %d is %q, want %s", claim, i, p, c[i+1])
		}
	}
}

// writer writes random Markdown, in which marks are nothing but marks.
type markdownWriter struct{ *rand.Rand }

func (w markdownWriter) inline(depth int) string {
	var b strings.Builder
	for range 1 + w.IntN(12) {
		switch n := w.IntN(14); {
		case n == 0 && depth < 3:
			b.WriteString("**" + strings.TrimSpace(w.inline(depth+10)) + "**")
		case n == 1 && depth < 30:
			b.WriteString("||" + strings.TrimSpace(w.inline(depth+30)) + "||")
		case n == 2 && depth < 30:
			b.WriteString("~~" + strings.TrimSpace(w.inline(depth+30)) + "~~")
		case n == 3:
			b.WriteString("`" + w.words(1+w.IntN(20)) + "`")
		case n == 4:
			b.WriteString("[" + w.words(1+w.IntN(4)) + "](https://example.com/" + fmt.Sprint(w.IntN(1e9)) + ")")
		default:
			b.WriteString(w.words(1 + w.IntN(30)))
		}
		b.WriteString(" ")
	}
	return strings.TrimSpace(b.String())
}

func (w markdownWriter) words(n int) string {
	var all []string
	for range n {
		all = append(all, []string{"alpha", "be", "gamma-ray", "delta,", "語彙", "naïve", "😀", "zeta."}[w.IntN(8)])
	}
	return strings.Join(all, " ")
}

func (w markdownWriter) document() string {
	var blocks []string
	for range 1 + w.IntN(8) {
		switch w.IntN(6) {
		case 0:
			blocks = append(blocks, "> "+w.inline(0)+"\n> "+w.inline(0))
		case 1:
			blocks = append(blocks, "- "+w.inline(0)+"\n- "+w.inline(0)+"\n  - "+w.inline(0))
		case 2:
			blocks = append(blocks, "```go\n"+strings.ReplaceAll(w.words(w.IntN(200)), ". ", "\n")+"\n```")
		case 3:
			blocks = append(blocks, "## "+w.words(4))
		default:
			blocks = append(blocks, w.inline(0))
		}
	}
	return strings.Join(blocks, "\n\n")
}

var (
	wholeLink = regexp.MustCompile(`\[[^\[\]]*\]\(https://example\.com/\d+\)`)
	allMarks  = regexp.MustCompile("[*_|~`>\\s]")
)

// unbalanced returns a mark that opens without an end in a piece, or the other way round; empty if there is none.
func unbalanced(piece string) string {
	fence := ""
	text := ""
	for line := range strings.Lines(piece) {
		after := fenceAfter(line, fence)
		if fence == "" && after == "" {
			text += line
		}
		fence = after
	}
	if fence != "" {
		return fence
	}
	for _, m := range []string{"**", "||", "~~", "`"} {
		if strings.Count(text, m)%2 != 0 {
			return m
		}
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			if strings.Contains(paragraph, m+m) {
				return "empty " + m
			}
		}
	}
	if rest := wholeLink.ReplaceAllString(text, ""); strings.ContainsAny(rest, "[]()") {
		return "link"
	}
	return ""
}

func TestEachPieceOfAReplyIsBalanced(t *testing.T) {
	check.SkipUnderRace(t)
	plain := func(text string) string {
		return strings.ReplaceAll(allMarks.ReplaceAllString(text, ""), "go", "")
	}
	for seed := range uint64(300) {
		w := markdownWriter{rand.New(rand.NewPCG(seed, 1))}
		text := w.document()
		for _, s := range []Splitter{{Limit: 300, Spoilers: true}, {Limit: 2000, Spoilers: true}, {Limit: 400, Cost: escapedCost, Spoilers: true}} {
			pieces := s.Texts(text, "")
			for i, p := range pieces {
				check.Require(t, s.CostOf(p) <= s.Limit, "seed %d: piece %d costs %d", seed, i, s.CostOf(p))
				check.Require(t, unbalanced(p) == "", "seed %d, limit %d: piece %d has an unbalanced %s: %q", seed, s.Limit, i, unbalanced(p), p)
			}
			got := plain(strings.Join(pieces, "\n"))
			want := plain(text)
			check.Require(t, got == want, "seed %d: the pieces are %q, not %q", seed, got, want)
		}
		shown := text[:strings.LastIndexByte(text[:len(text)/2+1], ' ')+1] // while it is streamed
		for i, p := range (Splitter{Limit: 300, Spoilers: true}).Texts(strings.ToValidUTF8(shown, ""), "") {
			check.Require(t, discord.CostOf(p) <= 300, "seed %d: piece %d of what is streamed costs %d", seed, i, discord.CostOf(p))
		}
	}
}
