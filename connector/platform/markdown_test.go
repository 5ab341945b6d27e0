// What models write, as platforms can show it.

package platform

import (
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/testkit/check"
	"cairn/testkit/wordstest"
)

var little = Markdown{Underline: true} // as Discord

func TestMarkdownThatAPlatformDoesNotKnow(t *testing.T) {
	for text, want := range map[string]string{
		"__bold__ and **bold**":                       "**bold** and **bold**",
		"**a __b__ c**":                               "**a **b** c**",
		"`__code__` and\n```\n__x__ | y\n--|--\n```":  "`__code__` and\n```\n__x__ | y\n--|--\n```",
		"`a` __b__":                                   "`a` **b**",
		"__init__.py and __call__() stay":             "__init__.py and __call__() stay",
		"snake__case__name":                           "snake__case__name",
		"https://x.dev/__a__ stays":                   "https://x.dev/__a__ stays",
		"### three\n#### Four **x** ##\n###### 6\n":   "### three\n**Four x**\n**6**\n",
		"- [ ] open\n- [x] done\n1. [X] too":          "- ☐ open\n- ☑ done\n1. ☑ too",
		"see[^1]\n\n[^1]: the source":                 "see[1]\n\n[1] the source",
		"a<br>b<br/>\nc":                              "a\nb\nc",
		"<b>x</b> <i>y</i> <u>z</u> <kbd>Ctrl</kbd>":  "**x** *y* __z__ `Ctrl`",
		"Vec<b> and a < b":                            "Vec<b> and a < b",
		"<details><summary>More</summary>x</details>": "Morex",
	} {
		check.Equal(t, text, little.Convert(text), want)
	}
	all := "| a | b |\n|---|---|\n| 1 | 2 |\n#### Four\n- [ ] __open__\n"
	check.Equal(t, "what it knows", Markdown{Tables: true, Headings: true, Tasks: true}.Convert(all), all)
}

func TestATableBecomesAnAlignedCodeBlockOrAList(t *testing.T) {
	wide := strings.Repeat("wide ", 12) + "end"
	for text, want := range map[string]string{
		"Prices:\n\n| Item | Price |\n|:-----|------:|\n| **Pen** | 3 |\n| `a|b` \\| c | 12.50 |\n\nafter": "Prices:\n\n```\nItem    │ Price\n────────┼──────\nPen     │     3\na|b | c │ 12.50\n```\n\nafter",
		"語 | b\n--- | :-:\n語彙表 | x\na":                                                "```\n語     │ b\n───────┼──\n語彙表 │ x\n```\na",
		"| a | b |\n|---|---|\n| 1 |":                                                 "```\na │ b\n──┼──\n1 │\n```\n",
		"| Name | About |\n|---|---|\n| __x__ | " + wide + " |\n| y | " + wide + " |": "- Name: **x**\n  - About: " + wide + "\n- Name: y\n  - About: " + wide + "\n",
		"| A | B |\n|---|---|\n| [x](https://x.dev) | |":                              "- A: [x](https://x.dev)\n",
		"> | A | B |\n> |---|---|\n> | 1 | 2 |":                                       "> - A: 1\n>   - B: 2\n",
		"a | b\nno table":                                                             "a | b\nno table",
		"| a | b |\n|---|\n| 1 | 2 |":                                                 "| a | b |\n|---|\n| 1 | 2 |",
	} {
		got := little.Convert(text)
		check.Equal(t, text, got, want)
	}
}

func FuzzConvert(f *testing.F) {
	for _, text := range wordstest.Texts() {
		f.Add(text)
	}
	for _, text := range []string{"| a |\n|-|\n| __b__ |", "__<u>__</u>`", "| `a | b\n|-|-|\n\\|", "[^1]: [^2]<br>", "#### \n- [x] ", "__a *b__ c*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		got := little.Convert(text)
		check.That(t, utf8.ValidString(got), "%q becomes %q", text, got)
		if !strings.ContainsAny(text, "_|<[#") {
			check.Equal(t, "plain text", got, text)
		}
	})
}
