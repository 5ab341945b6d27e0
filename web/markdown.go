// Markdown of the messages that models write, as HTML.

package web

import (
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	gtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/chat"
)

// Priorities of goldmark's parsers of HTML.
const htmlBlock, htmlInline = 900, 400

// markdown renders what models write. HTML stays text, and so do links by reference, which can repeat a
// long address many times.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	without := func(all []util.PrioritizedValue, priority int) []util.PrioritizedValue {
		return slices.DeleteFunc(all, func(v util.PrioritizedValue) bool { return v.Priority == priority })
	}
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(without(parser.DefaultBlockParsers(), htmlBlock)...),
			parser.WithInlineParsers(without(parser.DefaultInlineParsers(), htmlInline)...),
		)),
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough, extension.TaskList),
		goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(tame{}, 1))),
	)
})

// tame renders headings as bold lines, because they are none of the page's, and pictures as links,
// because a page loads nothing from elsewhere. Its boxes of task lists have a name for those who do not see them.
type tame struct{}

func (tame) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	around := func(begin func(ast.Node) string, end string) renderer.NodeRendererFunc {
		return func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
			text := end
			if entering {
				text = begin(n)
			}
			_, err := w.WriteString(text)
			return ast.WalkContinue, err
		}
	}
	r.Register(ast.KindHeading, around(func(ast.Node) string { return "<p><b>" }, "</b></p>\n"))
	r.Register(ast.KindFencedCodeBlock, codeBlock)
	r.Register(ast.KindCodeBlock, codeBlock)
	r.Register(east.KindTaskCheckBox, around(func(n ast.Node) string {
		if n.(*east.TaskCheckBox).IsChecked {
			return `<input type="checkbox" disabled checked aria-label="done"> `
		}
		return `<input type="checkbox" disabled aria-label="not done"> `
	}, ""))
	r.Register(ast.KindImage, around(func(n ast.Node) string {
		to := util.URLEscape(n.(*ast.Image).Destination, true)
		if html.IsDangerousURL(to) {
			to = nil
		}
		return `<a href="` + string(util.EscapeHTML(to)) + `">picture `
	}, "</a>"))
}

// partialHTML renders a text that is being written, again and again: without colours of code, which take time.
func partialHTML(text string) string {
	var out strings.Builder
	if markdownNode(text, false).Render(&out) != nil {
		return ""
	}
	return out.String()
}

func markdownView(text string) g.Node { return markdownNode(text, true) }

func markdownNode(text string, colors bool) g.Node {
	if chat.Tangled(text) {
		return longText("", text)
	}
	var out strings.Builder
	source := []byte(text)
	document := markdown().Parser().Parse(gtext.NewReader(source))
	if !colors {
		document.OwnerDocument().Meta()[coloredKey] = &coloredSoFar{blocks: maxBlocks}
	}
	if markdown().Renderer().Render(&out, source, document) != nil {
		return longText("", text)
	}
	return h.Div(h.Class("markdown"), h.Dir("auto"), g.Raw(out.String())) // the renderer escapes its input
}
