// Renders Markdown as rows of a terminal.

package terminal

import (
	"fmt"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"cairn/chat"
)

// markdownParser leaves links by reference as text: they can repeat a long address many times.
var markdownParser = sync.OnceValue(func() parser.Parser {
	p := parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...), parser.WithInlineParsers(parser.DefaultInlineParsers()...))
	return goldmark.New(goldmark.WithParser(p), goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser()
})

// Escape sequences that start and end a style. Each pair can be nested in the others.
var (
	bold   = [2]string{"\x1b[1m", "\x1b[22m"}
	italic = [2]string{"\x1b[3m", "\x1b[23m"}
	struck = [2]string{"\x1b[9m", "\x1b[29m"}
	cyan   = [2]string{"\x1b[36m", "\x1b[39m"}
)

// renderMarkdown renders source in rows of at most width columns, without a final newline. Only
// words that do not fit a row are cut. Source must be Printable.
func renderMarkdown(source string, width int, color bool) string {
	if chat.Tangled(source) {
		return wrap(expandTabs(source), width)
	}
	p := page{source: []byte(source)}
	if color {
		p.code = cyan
	}
	return p.blocks(markdownParser().Parse(text.NewReader(p.source)), max(width, 8))
}

type page struct {
	source []byte
	code   [2]string // style of code
}

// blocks renders the children of a node, separated by an empty row except in a tight list.
func (p page) blocks(parent ast.Node, width int) string {
	var out []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, p.block(n, width))
	}
	list, isList := parent.(*ast.List)
	if !isList {
		list, isList = parent.Parent().(*ast.List)
	}
	between := "\n\n"
	if isList && list.IsTight {
		between = "\n"
	}
	return strings.Join(out, between)
}

func (p page) block(n ast.Node, width int) string {
	switch n := n.(type) {
	case *ast.Heading:
		return wrap(styled(bold, p.inline(n)), width)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		rows := strings.Split(strings.TrimRight(expandTabs(p.lines(n)), "\n"), "\n")
		for i, row := range rows {
			rows[i] = "  " + styled(p.code, row)
		}
		return strings.Join(rows, "\n")
	case *ast.HTMLBlock:
		return wrap(strings.TrimRight(p.lines(n), "\n"), width)
	case *ast.List:
		return p.blocks(n, width)
	case *ast.ListItem:
		return p.entry(n, width)
	case *ast.Blockquote:
		return indent(p.blocks(n, width-2), "│ ", "│ ")
	case *ast.ThematicBreak:
		return strings.Repeat("─", min(width, 40))
	case *east.Table:
		return p.table(n, width)
	}
	return wrap(p.inline(n), width)
}

func (p page) entry(n *ast.ListItem, width int) string {
	mark := "• "
	if list := n.Parent().(*ast.List); list.IsOrdered() {
		number := list.Start
		for before := n.PreviousSibling(); before != nil; before = before.PreviousSibling() {
			number++
		}
		mark = fmt.Sprintf("%d. ", number)
	}
	rest := strings.Repeat(" ", lipgloss.Width(mark))
	return indent(p.blocks(n, width-len(rest)), mark, rest)
}

// positions are where the text of a column begins.
var positions = map[east.Alignment]lipgloss.Position{
	east.AlignNone: lipgloss.Left, east.AlignLeft: lipgloss.Left, east.AlignCenter: lipgloss.Center, east.AlignRight: lipgloss.Right,
}

func (p page) table(n *east.Table, width int) string {
	align := func(_, column int) lipgloss.Style {
		return lipgloss.NewStyle().Align(positions[n.Alignments[column]])
	}
	t := table.New().Wrap(true).StyleFunc(align)
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, p.inline(cell))
		}
		if _, head := row.(*east.TableHeader); head {
			t.Headers(cells...)
		} else {
			t.Row(cells...)
		}
	}
	if lipgloss.Width(t.Render()) > width {
		t.Width(width)
	}
	return t.Render()
}

func (p page) lines(n ast.Node) string { return string(n.Lines().Value(p.source)) }

// inline renders the content of a block in one row, except for line breaks in the source.
func (p page) inline(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(literal(n.Value(p.source), n.IsRaw()))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.CodeSpan:
			b.WriteString(styled(p.code, p.inline(n)))
		case *ast.Emphasis:
			style := italic
			if n.Level > 1 {
				style = bold
			}
			b.WriteString(styled(style, p.inline(n)))
		case *east.Strikethrough:
			b.WriteString(styled(struck, p.inline(n)))
		case *ast.Link:
			b.WriteString(linked(p.inline(n), string(n.Destination)))
		case *ast.Image:
			b.WriteString(linked("image: "+p.inline(n), string(n.Destination)))
		case *ast.AutoLink:
			b.Write(n.Label(p.source))
		case *ast.RawHTML:
			b.Write(n.Segments.Value(p.source))
		default:
			b.WriteString(p.inline(n))
		}
	}
	return b.String()
}

// literal returns text with its escapes and character references resolved. These can produce
// characters that must not reach a terminal.
func literal(value []byte, raw bool) string {
	if raw {
		return string(value)
	}
	value = util.UnescapePunctuations(value)
	return Printable(string(util.ResolveEntityNames(util.ResolveNumericReferences(value))))
}

func linked(label, address string) string {
	address = Printable(address)
	if label == address || label == "" {
		return address
	}
	return label + " (" + address + ")"
}

func styled(style [2]string, text string) string {
	if text == "" {
		return ""
	}
	return style[0] + strings.ReplaceAll(text, "\n", style[1]+"\n"+style[0]) + style[1]
}

// indent inserts first before the first row of text, and rest before the others.
func indent(text, first, rest string) string {
	return first + strings.ReplaceAll(text, "\n", "\n"+rest)
}

// finishedBlocks returns the size of the leading Markdown blocks of an incomplete text that no further
// text can change: all but the last one.
func finishedBlocks(source string) int {
	if chat.Tangled(source) {
		return 0
	}
	last := markdownParser().Parse(text.NewReader([]byte(source))).LastChild()
	if last == nil || last.PreviousSibling() == nil {
		return 0
	}
	begins := func(n ast.Node) int { return strings.LastIndexByte(source[:n.Pos()], '\n') + 1 }
	_, list := last.PreviousSibling().(*ast.List)
	if list && strings.Trim(source[begins(last):], "0123456789") == "" { // it may become the number of the next entry
		last = last.PreviousSibling()
	}
	return begins(last)
}
