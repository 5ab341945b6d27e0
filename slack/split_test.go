// Cutting.

package slack

import (
	"strings"
	"testing"

	"cairn/words/wordstest"
)

func TestSplit(t *testing.T) {
	word := strings.Repeat("word ", 3000) // 15 000 characters
	for claim, c := range map[string]struct {
		text string
		want func(pieces []string) bool
	}{
		"a short text is one piece":          {"hello", func(p []string) bool { return equal(p, []string{"hello"}) }},
		"an empty text is one piece too":     {"", func(p []string) bool { return equal(p, []string{""}) }},
		"a long text is cut after a word":    {word, func(p []string) bool { return len(p) == 2 && strings.Join(p, "") == word }},
		"better after a line":                {word[:10_000] + "\n" + word[:5000], func(p []string) bool { return len(p) == 2 && p[1] == word[:5000] }},
		"best after a paragraph":             {word[:8000] + "\n\n" + word[:3000] + "\n" + word[:5000], func(p []string) bool { return len(p) == 2 && p[1] == word[:3000]+"\n"+word[:5000] }},
		"characters are counted, not bytes":  {strings.Repeat("語", 12_000), func(p []string) bool { return len(p) == 1 }},
		"those of two units count twice":     {strings.Repeat("🗿", 6001), func(p []string) bool { return len(p) == 2 && strings.Join(p, "") == strings.Repeat("🗿", 6001) }},
		"indentation stays":                  {word[:11_900] + "\n    indented " + word[:100], func(p []string) bool { return len(p) == 2 && strings.HasPrefix(p[1], "    indented") }},
		"nothing but space is never a piece": {"a" + strings.Repeat("\n", 30_000), func(p []string) bool { return len(p) == 1 && strings.HasPrefix(p[0], "a\n") }},
	} {
		t.Run(claim, func(t *testing.T) {
			if pieces := split(c.text, maxMarkdown, markdownCost); !c.want(pieces) {
				t.Errorf("%d pieces: %.200q", len(pieces), pieces)
			}
		})
	}
}

func TestSplitClosesAndOpensCodeBlocks(t *testing.T) {
	code := strings.Repeat("x := 1\n", 3000)
	text := "Look:\n```go\n" + code + "```\nThat is all."
	pieces := split(text, maxMarkdown, markdownCost)
	if len(pieces) < 2 {
		t.Fatalf("%d pieces", len(pieces))
	}
	var joined strings.Builder
	for i, p := range pieces {
		if strings.Count(p, "```")%2 != 0 {
			t.Errorf("piece %d leaves a code block open: %.40q … %.40q", i, p, p[len(p)-40:])
		}
		if i > 0 {
			p = strings.TrimPrefix(p, "```go\n")
		}
		if i < len(pieces)-1 {
			p = strings.TrimSuffix(p, "```")
		}
		joined.WriteString(p)
	}
	if joined.String() != text {
		t.Error("the pieces are not the text")
	}
}

// What is sent takes no more characters than Split counted.
func FuzzCost(f *testing.F) {
	for _, text := range append(wordstest.Texts(), "hello", strings.Repeat("<!here> ", 40), strings.Repeat("🗿", 60)+"\xff\xfe") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if sent := len([]rune(defuseMentions(text))); costOf(text, markdownCost) < sent {
			t.Errorf("%d characters are sent for %d that were counted", sent, costOf(text, markdownCost))
		}
	})
}
