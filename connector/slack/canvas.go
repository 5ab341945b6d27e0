// Canvases: Slack serves their contents as HTML (reference/methods/files.info names the address), which is converted to Markdown.

package slack

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	canvasType  = "application/vnd.slack-docs" // media type of the file of a canvas
	canvasClass = "quip-canvas-content"        // of the element with the contents: a sign-in page has none
)

// canvasMention matches the id of a person, which is all that a mention in a canvas has.
var canvasMention = regexp.MustCompile(`^@?([UW][A-Z0-9]{6,})$`)

// fileText converts the content of a text file; empty if it is not that of the file.
func (n *names) fileText(mediaType, content string) string {
	if mediaType != canvasType {
		return content
	}
	page, err := html.Parse(strings.NewReader(content))
	if err != nil {
		return ""
	}
	for node := range page.Descendants() {
		if node.Type == html.ElementNode && strings.Contains(attribute(node, "class"), canvasClass) {
			return n.canvasText(node)
		}
	}
	return ""
}

// canvasText returns the content of a canvas as Markdown. A model reads it, so nothing is escaped.
func (n *names) canvasText(content *html.Node) string {
	for node := range content.Descendants() {
		switch {
		case node.DataAtom == atom.A && node.FirstChild != nil:
			if mention := canvasMention.FindStringSubmatch(strings.TrimSpace(node.FirstChild.Data)); mention != nil {
				replaceByText(node, "@"+cmp.Or(n.nameOf(mention[1]), mention[1]))
			}
		case node.DataAtom == atom.Img && node.Parent.Data == "control": // an emoji
			replaceByText(node, ":"+attribute(node, "alt")+":")
		case node.DataAtom == atom.Img:
			replaceByText(node, "[image: "+cmp.Or(attribute(node, "alt"), "without a description")+"]")
		}
	}
	markdown := commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false))
	toMarkdown := converter.NewConverter(
		converter.WithPlugins(base.NewBasePlugin(), markdown, table.NewTablePlugin()),
		converter.WithEscapeMode(converter.EscapeModeDisabled))
	text, err := toMarkdown.ConvertNode(content)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func replaceByText(n *html.Node, text string) {
	for n.FirstChild != nil {
		n.RemoveChild(n.FirstChild)
	}
	n.Type = html.TextNode
	n.DataAtom = 0
	n.Data = text
}
