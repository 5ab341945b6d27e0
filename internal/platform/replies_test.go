// Cut replies: where, how long, and that nothing is lost.

package platform

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"cairn/internal/check"
	"cairn/words/wordstest"
)

func TestSplit(t *testing.T) {
	para := strings.Repeat("word ", 160) // 800 characters
	code := strings.Repeat("    indented(line)\n", 150)
	for name, c := range map[string]struct {
		text string
		want []string // how the pieces begin and end, with … between
	}{
		"a short text stays whole":              {"hello\n\n  world", []string{"hello…world"}},
		"nothing is an empty piece":             {" \n\t", []string{"…"}},
		"between paragraphs":                    {"A" + para + "\n\nB" + para + "\n\nC" + para, []string{"A…word", "C…word"}},
		"else between lines":                    {"A" + para + "\nB" + para + "\nC" + para, []string{"A…word", "C…word"}},
		"else between words":                    {"A" + strings.Repeat("word ", 500) + "Z", []string{"A…word", "w…Z"}},
		"or between sentences":                  {strings.Repeat("一二三四五六七八九十。", 300), []string{"一…。", "一…。"}},
		"else where it must":                    {strings.Repeat("x", 4001), []string{"x…x", "x…x", "x…x"}},
		"a code block is opened again":          {"```go\n" + code + "```\nafter", []string{"```go…```", "```go…after"}},
		"with its own number of marks":          {"````md\n" + strings.Repeat("```\n", 700) + "````", []string{"````md…````", "````md…````"}},
		"and not started at the end of a piece": {strings.Repeat("words ", 300) + "\n```go\n" + code[:900] + "```", []string{"words…words", "```go…```"}},
		"a line of code that is too long":       {"```\n" + strings.Repeat("y", 2500) + "\n```", []string{"```…```", "```…```"}},
		"indentation stays":                     {"    four spaces", []string{"    …spaces"}},
		"letters of two units are not parted":   {strings.Repeat("😀", 1500), []string{"😀…😀", "😀…😀"}},
		"nor those of many characters":          {"a" + strings.Repeat("👩🏽‍🚀", 600), []string{"a…👩🏽‍🚀", "👩🏽‍🚀…👩🏽‍🚀", "👩🏽‍🚀…👩🏽‍🚀"}},
		"unless it is but one":                  {"e" + strings.Repeat("\u0301", 4000), []string{"e…\u0301", "\u0301…\u0301", "\u0301…\u0301"}},
		"marks within a line open nothing":      {"```inline``` " + strings.Repeat("z ", 1200), []string{"```inline```…z", "z…z"}},
		"space without end is no piece":         {"a" + strings.Repeat("\n", 5000) + "b", []string{"a…a", "b…b"}},
		"a long line of marks opens nothing":    {strings.Repeat("`", 2500), []string{"```…```", "```…```"}},
		"a long line after marks is text":       {"```" + strings.Repeat("y ", 1200), []string{"```y…y", "y…y"}},
		"a long description of code is cut":     {"```go title=\"internal/platform/split_test.go\" lines\n" + code + "```\n" + para, []string{"```go title…```", "```go…word"}},
		"a code block that is never closed is":  {"```py\n" + strings.Repeat("pass\n", 500), []string{"```py…```", "```py…pass"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := pieces(c.text)
			check.Len(t, "pieces", got, len(c.want))
			for i, p := range got {
				begin, end, _ := strings.Cut(c.want[i], "…")
				check.That(t, strings.HasPrefix(p, begin) && strings.HasSuffix(p, end), "piece %d is %q, want %s", i, p, c.want[i])
			}
			check.NoError(t, checkPieces(discord, c.text))
		})
	}
}

func TestWhatIsCutInACodeBlockLosesNoSpace(t *testing.T) {
	var lines []string
	for i := range 400 {
		lines = append(lines, strings.Repeat(" ", i%9)+fmt.Sprint("line ", i))
	}
	var got []string
	for i, p := range pieces("```\n" + strings.Join(lines, "\n") + "\n```") {
		all := strings.Split(p, "\n")
		check.That(t, all[0] == "```" && all[len(all)-1] == "```", "piece %d is no code block: %q", i, p)
		got = append(got, all[1:len(all)-1]...)
	}
	check.That(t, slices.Equal(got, lines), "the pieces have %d lines, want these %d", len(got), len(lines))
}

var discord = Splitter{Limit: 2000}

// pieces are those of a text as people see them.
func pieces(text string) (all []string) {
	for _, p := range discord.Texts(text, "") {
		all = append(all, strings.TrimRightFunc(p, unicode.IsSpace))
	}
	return all
}

func checkPieces(s Splitter, text string) error {
	pieces := s.Texts(text, "")
	for i, piece := range pieces {
		switch {
		case s.CostOf(piece) > s.Limit:
			return fmt.Errorf("piece %d costs %d of %d", i, s.CostOf(piece), s.Limit)
		case strings.TrimSpace(piece) == "" && (len(pieces) > 1 || strings.TrimSpace(text) != ""):
			return fmt.Errorf("piece %d is empty", i)
		}
	}
	if fit := s.Fit(text); s.CostOf(fit) > s.Limit {
		return fmt.Errorf("what is shortened costs %d of %d", s.CostOf(fit), s.Limit)
	}
	want := strings.ToValidUTF8(text, "\uFFFD")
	if a, b := visible(strings.Join(pieces, "\n")), visible(want); a != b && hasContent(want, "") && !s.cutsMarks(want) {
		return fmt.Errorf("the pieces are not the text: %q, not %q", a, b)
	}
	return nil
}

// cutsMarks reports whether a line with the marks of a code block is so long that it may be cut:
// what remains of it may then be nothing but such marks, and be left out.
func (s Splitter) cutsMarks(text string) bool {
	for line := range strings.Lines(text) {
		if s.CostOf(line) > s.Limit/4 && (strings.Contains(line, "```") || strings.Contains(line, "~~~")) {
			return true
		}
	}
	return false
}

// visible is a text without space, and without the begins and ends of code blocks, of which an empty one may be left out.
func visible(text string) string {
	var kept strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		after := fenceAfter(line, fence)
		if after != fence {
			fence = after
			continue
		}
		kept.WriteString(strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, line))
	}
	return kept.String()
}

func escapedCost(r rune) int {
	switch {
	case r == '&':
		return 5
	case r == '<' || r == '>':
		return 4
	case r > 0xffff:
		return 2
	}
	return 1
}

func FuzzSplit(f *testing.F) {
	for _, text := range []string{
		"", " ", "a", "```", strings.Repeat("word ", 900), strings.Repeat("x", 5000), "```go\n" + strings.Repeat("line()\n", 600) + "```\nafter",
		strings.Repeat("😀", 2500), "\xff" + strings.Repeat("é\n", 1500), strings.Repeat("```\n", 900), strings.Repeat(" ", 3000) + "x",
		"~~~~\na\n~~~\nb\n~~~~ \n" + strings.Repeat("<!here> ", 40), "````\n```\n" + strings.Repeat("y", 400),
		"``````````&&&&&&&&&&&&&&&\n" + strings.Repeat("&", 500),
	} {
		f.Add(text, 1, 2000)
		f.Add(text, 2, 300)
	}
	for _, text := range wordstest.Texts() {
		f.Add(text, 40, 300)
	}
	f.Fuzz(func(t *testing.T, text string, times, limit int) {
		text = strings.Repeat(text, min(max(times, 1), 1+20_000/(len(text)+1)))
		limit = max(300, limit%5000)
		for _, s := range []Splitter{{Limit: limit}, {Limit: limit, Cost: escapedCost}} {
			check.NoError(t, checkPieces(s, text))
		}
	})
}
