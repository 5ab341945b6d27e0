// Canvases: Slack serves their contents as HTML (reference/methods/files.info names the address), which becomes Markdown here.

package slack

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	canvasType     = "application/vnd.slack-docs" // media type of the file of a canvas
	canvasClass    = "quip-canvas-content"        // of the element with the contents: a sign-in page has none
	maxCanvasDepth = 100                          // of elements in each other; deeper ones are left out
)

// canvasMention matches the id of a person, which is all that a mention in a canvas has.
var canvasMention = regexp.MustCompile(`^@?([UW][A-Z0-9]{6,})$`)

// fileText converts the content of a text file; empty if it is not that of the file.
func (s *Slack) fileText(mediaType, content string) string {
	if mediaType != canvasType {
		return content
	}
	page, err := html.Parse(strings.NewReader(content))
	if err != nil {
		return ""
	}
	c := canvas{nameOf: s.nameOf}
	if root := findCanvas(page, 0); root != nil {
		c.children(root, 0)
	}
	return strings.TrimSpace(blankLines.ReplaceAllString(c.text.String(), "\n\n"))
}

var blankLines = regexp.MustCompile(`\s*\n\s*\n\s*\n`)

func findCanvas(n *html.Node, depth int) *html.Node {
	if n.Type == html.ElementNode && strings.Contains(attribute(n, "class"), canvasClass) {
		return n
	}
	for child := n.FirstChild; child != nil && depth < maxCanvasDepth; child = child.NextSibling {
		if found := findCanvas(child, depth+1); found != nil {
			return found
		}
	}
	return nil
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// canvas collects the text of a canvas.
type canvas struct {
	nameOf func(id string) string // "": unknown
	text   strings.Builder
	inCell bool // of a table, whose paragraphs share a line
	inPre  bool // of code, whose spaces count
	lists  int  // that are open
	number int  // of the latest item of a numbered list; 0: the list has none
}

// endLine ends a line that has been begun.
func (c *canvas) endLine() {
	if written := c.text.String(); !c.inCell && written != "" && !strings.HasSuffix(written, "\n") {
		c.text.WriteByte('\n')
	}
}

func (c *canvas) children(n *html.Node, depth int) {
	for child := n.FirstChild; child != nil && depth < maxCanvasDepth; child = child.NextSibling {
		c.node(child, depth+1)
	}
}

// line writes the children as a line of their own.
func (c *canvas) line(n *html.Node, prefix string, depth int) {
	c.endLine()
	c.text.WriteString(prefix)
	c.children(n, depth)
	c.endLine()
}

func (c *canvas) node(n *html.Node, depth int) {
	if n.Type == html.TextNode {
		if between := strings.Contains(n.Data, "\n") && strings.TrimSpace(n.Data) == ""; c.inPre {
			c.text.WriteString(n.Data)
		} else if !between { // two elements
			c.text.WriteString(strings.ReplaceAll(n.Data, "\n", " "))
		}
		return
	}
	switch n.DataAtom {
	case atom.Script, atom.Style:
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		c.endLine()
		c.text.WriteByte('\n')
		c.line(n, strings.Repeat("#", int(n.Data[1]-'0'))+" ", depth)
	case atom.Blockquote:
		c.line(n, "> ", depth)
	case atom.P, atom.Div, atom.Tr:
		if n.Parent != nil && n.Parent.DataAtom == atom.Li && n == n.Parent.FirstChild { // the text of the item
			c.children(n, depth)
			return
		}
		c.line(n, "", depth)
	case atom.Pre:
		c.inPre = true
		c.line(n, "```\n", depth)
		c.inPre = false
		c.text.WriteString("```\n")
	case atom.Br:
		c.endLine()
	case atom.Ul, atom.Ol:
		c.list(n, depth)
	case atom.Li:
		c.line(n, c.bullet(), depth)
	case atom.Td, atom.Th:
		c.cell(n, depth)
	case atom.A:
		c.link(n, depth)
	case atom.Img:
		if alt := attribute(n, "alt"); alt != "" && n.Parent.Data == "control" { // an emoji
			fmt.Fprintf(&c.text, ":%s:", alt)
		} else {
			fmt.Fprintf(&c.text, "[image: %s]", cmp.Or(alt, "without a description"))
		}
	default:
		c.children(n, depth)
	}
}

func (c *canvas) list(n *html.Node, depth int) {
	outer := c.number
	c.number = 0
	if n.DataAtom == atom.Ol {
		c.number = 1
	}
	c.lists++
	c.line(n, "", depth)
	c.lists--
	c.number = outer
}

// bullet returns the beginning of a list's next item.
func (c *canvas) bullet() string {
	indent := strings.Repeat("  ", max(c.lists-1, 0))
	if c.number == 0 {
		return indent + "- "
	}
	c.number++
	return fmt.Sprintf("%s%d. ", indent, c.number-1)
}

// cell writes a cell of a table behind those before it in the row.
func (c *canvas) cell(n *html.Node, depth int) {
	for before := n.PrevSibling; before != nil; before = before.PrevSibling {
		if before.Type == html.ElementNode {
			c.text.WriteString(" | ")
			break
		}
	}
	outer := c.inCell
	c.inCell = true
	c.children(n, depth)
	c.inCell = outer
}

// link writes a link with its address, or a mention with a name.
func (c *canvas) link(n *html.Node, depth int) {
	inner := canvas{nameOf: c.nameOf, inCell: true}
	inner.children(n, depth)
	label, address := strings.TrimSpace(inner.text.String()), attribute(n, "href")
	if mention := canvasMention.FindStringSubmatch(label); mention != nil {
		label, address = "@"+cmp.Or(c.nameOf(mention[1]), mention[1]), ""
	}
	c.text.WriteString(label)
	if strings.HasPrefix(address, "http") && strings.TrimSuffix(address, "/") != strings.TrimSuffix(label, "/") {
		fmt.Fprintf(&c.text, " (%s)", address)
	}
}
