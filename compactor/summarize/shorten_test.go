package summarize

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/words"
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

func TestLeastImportantSectionIsShortenedFirst(t *testing.T) {
	check.SkipUnderRace(t)
	text := strings.TrimSpace(sectioned(14))
	before := []string{"Facts", "Preferences", "People", "Goals", "Decisions", "Open questions"}
	whole := tokens.Estimate(text)
	for limit := whole - 1; limit > 40; limit -= 13 {
		short := ShortenSummary(text, limit)
		if n := tokens.Estimate(short); n > limit || n < limit-60 && limit > 100 {
			t.Fatalf("got %d tokens, want at most %d", n, limit)
		}
		check.Require(t, utf8.ValidString(short) && strings.Contains(short, shortened), "at %d tokens: got %q", limit, short)
		gone := true // a section loses something only if those before it have nothing left
		for _, section := range before {
			left := strings.Count(short, section+" ")
			if left > 0 && left < 14 && !gone {
				t.Fatalf("at %d tokens of %s %d are left while a less important section has some:\n%s", limit, section, left, short)
			}
			gone = gone && left == 0
		}
		for line := range strings.Lines(short) {
			if !strings.Contains(text, strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(strings.TrimSpace(line), " "+shortened), shortened+" "))) && strings.TrimSpace(line) != shortened {
				t.Fatalf("at %d tokens a sentence is cut: %q", limit, line)
			}
		}
		if limit > 120 && !strings.Contains(short, "Open questions item 13") {
			t.Fatalf("at %d tokens the newest open question is gone:\n%s", limit, short)
		}
	}
}

func TestTranslatedSectionsHaveTheirImportance(t *testing.T) {
	for _, text := range []string{
		"## Entscheidungen\n- Ada kauft das Boot.\n## Fakten\n" + strings.Repeat("- Im Tal hat es wieder geregnet.\n", 20),
		"## 决定\n- 王芳买船。\n## 事实\n" + strings.Repeat("- 山谷里又下雨了。\n", 20),
	} {
		decided := strings.Split(text, "\n")[1]
		if short := ShortenSummary(text, tokens.Estimate(text)/2); !strings.Contains(short, decided) {
			t.Errorf("%q is gone:\n%s", decided, short)
		}
	}
}

func TestSummaryWithoutHeadingsIsShortenedInMiddle(t *testing.T) {
	for _, sentence := range []string{"Ada moved house %d times.", "王芳第%d次去了成都。"} {
		var all []string
		for i := range 60 {
			all = append(all, fmt.Sprintf(sentence, i))
		}
		text := strings.Join(all, " ")
		short := ShortenSummary(text, tokens.Estimate(text)/2)
		got := words.Sentences(strings.ReplaceAll(short, shortened, "\n"+shortened+"\n"))
		if got[0] != all[0] || got[len(got)-1] != all[59] || strings.Count(short, shortened) != 1 || tokens.Estimate(short) > tokens.Estimate(text)/2 {
			t.Errorf("got %q", short)
		}
		for _, s := range got {
			check.That(t, s == shortened || strings.Contains(text, s), "a sentence is cut: %q", s)
		}
	}
}
