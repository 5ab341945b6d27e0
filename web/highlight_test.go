package web

import (
	"strings"
	"testing"

	"cairn/testkit/check"
)

func TestCodeIsColoredByClasses(t *testing.T) {
	const code = "func main() { println(\"<b>\") } // " + hostile
	page := rendered(t, markdownView("```go\n"+code+"\n```\n"))
	check.Contains(t, "page", page, `<div class="language">go</div>`, `<span class="kd">func</span>`, "&lt;script&gt;")
	check.Lacks(t, "page", page, "style=", "<script>", "<b>")
	for claim, text := range map[string]string{
		"a language that nobody knows": "```<script>alert(1)</script>\n" + code + "\n```\n",
		"none":                         "```\n" + code + "\n```\n",
		"indented":                     "    " + code + "\n",
		"far too much":                 "```go\n" + strings.Repeat(code+"\n", 400) + "```\n",
	} {
		page := rendered(t, markdownView(text))
		check.Contains(t, claim, page, "<pre", "func main()")
		check.Lacks(t, claim, page, `<span class="kd">`, "<script>", "<b>")
	}
	page = rendered(t, markdownView(strings.Repeat("```go\nfunc a()\n```\n", maxBlocks+1)))
	check.Equal(t, "coloured blocks", strings.Count(page, `<span class="kd">func</span>`), maxBlocks)
	check.Contains(t, "a task list", rendered(t, markdownView("- [x] dig\n- [ ] plant")), `<input type="checkbox" disabled checked aria-label="done"> dig`, `aria-label="not done"> plant`)
}
