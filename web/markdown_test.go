package web

import (
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/words/wordstest"
)

func rendered(t *testing.T, m chat.Record) string {
	t.Helper()
	var page strings.Builder
	check.NoError(t, messageView(here, m, "").Render(&page))
	return page.String()
}

func TestMarkdownOfTheAssistantIsRendered(t *testing.T) {
	const text = "# Plan\nWater **daily**,\nat `06:00`.\n\n- roses\n- tulips\n\n```sh\nls <dir>\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n[shop](https://example.com/?a=1&b=2) ![bed](https://example.com/bed.png)"
	page := rendered(t, chat.Record{Role: "assistant", Text: text})
	check.Contains(t, "page", page,
		"<p><b>Plan</b></p>", "<strong>daily</strong>,<br>", "<code>06:00</code>", "<li>roses</li>", "ls &lt;dir&gt;", "<td>1</td>", `<td align="right">2</td>`,
		`<a href="https://example.com/?a=1&amp;b=2">shop</a>`, `<a href="https://example.com/bed.png">picture bed</a>`)
	check.Lacks(t, "page", page, "<img", "<h1", "style=")
	check.Contains(t, "message of a person", rendered(t, chat.Record{Role: "user", Text: "**daily**"}), "**daily**")
}

func TestMarkdownRunsNothing(t *testing.T) {
	for _, text := range append(wordstest.Texts(), hostile, "<b>bold</b>", "<div>\n"+hostile+"\n</div>", "[x](javascript:alert(1))", "![x](javascript:alert(1))",
		`[x](<" onclick=alert(1) x=">)`, `![x](<" onerror=alert(1) x=">)`, "<javascript:alert(1)>", "[x]: javascript:alert(1)\n\n[x]", "```\" onload=alert(1)\nx\n```", "&lt;script&gt;", "![<img src=x>](data:text/html,x)") {
		page := rendered(t, chat.Record{Role: "assistant", Text: text})
		check.Lacks(t, text, page, "<script", "<img", "<svg", "<div>", "<b>bold", `href="javascript`, `href="data`, " style=", `" on`, "omitted")
	}
	check.Contains(t, "page", rendered(t, chat.Record{Role: "assistant", Text: "Use <b>this</b>\n\n<div>\nand that\n</div>"}), "&lt;b&gt;this&lt;/b&gt;", "&lt;div&gt;", "&lt;/div&gt;")
	check.Contains(t, "deep", rendered(t, chat.Record{Role: "assistant", Text: strings.Repeat("> ", 30) + "**x**"}), "**x**")
}

func TestMarkdownIsRenderedFast(t *testing.T) {
	check.SkipUnderRace(t)
	for _, part := range []string{">", "[", "*a ", "![", "- ", "`", "|a|\n|-|\n", "<", "1. ", "**_", "[a](", "&", "\\", "\n\n    ", "~~", "[a]: b\n", "[a]", "***", "_a*", "a|", "* a\n", "<!--", "a\n> ", "- a\n> ", "> 1. ", "+ > ", "](", "```\n"} {
		began := time.Now()
		rendered(t, chat.Record{Role: "assistant", Text: strings.Repeat(part, 65_536/len(part)) + strings.Repeat("\n\n"+strings.Repeat(part, 900/len(part)), 30)})
		check.That(t, time.Since(began) <= 2*time.Second, "%q: %v", part, time.Since(began))
	}
}

// A row of a table has a cell for each column, and a link has the whole address that it refers to.
func TestMarkdownOfASmallTextIsSmall(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("|a", 1000) + "\n" + strings.Repeat("|-", 1000) + "\n" + strings.Repeat("|\n", 1000),
		"[a]: /" + strings.Repeat("x", 3000) + "\n\n" + strings.Repeat("[a]", 900),
	} {
		page := rendered(t, chat.Record{Role: "assistant", Text: text})
		check.That(t, len(page) <= 10*len(text), "%d bytes of a text of %d", len(page), len(text))
	}
	check.Contains(t, "page", rendered(t, chat.Record{Role: "assistant", Text: "|a|b|c|\n|-|-|-|\n" + strings.Repeat("|1|2|3|\n", 500)}), "<table>")
	check.Contains(t, "a reference", rendered(t, chat.Record{Role: "assistant", Text: "See [1].\n\n[1]: https://example.com"}), "See [1].", "[1]: https://example.com")
}
