// Canvases: Slack serves their contents as HTML (reference/methods/files.info names the address), which becomes Markdown here.

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
func (s *Slack) fileText(mediaType, content string) string {
	if mediaType != canvasType {
		return content
	}
	page, err := html.Parse(strings.NewReader(content))
	if err != nil {
		return ""
	}
	for n := range page.Descendants() {
		if n.Type == html.ElementNode && strings.Contains(attribute(n, "class"), canvasClass) {
			return s.canvasText(n)
		}
	}
	return ""
}

// canvasText returns the content of a canvas as Markdown. A model reads it, so nothing is escaped.
func (s *Slack) canvasText(content *html.Node) string {
	for n := range content.Descendants() {
		switch {
		case n.DataAtom == atom.A && n.FirstChild != nil:
			if mention := canvasMention.FindStringSubmatch(strings.TrimSpace(n.FirstChild.Data)); mention != nil {
				replaceByText(n, "@"+cmp.Or(s.nameOf(mention[1]), mention[1]))
			}
		case n.DataAtom == atom.Img && n.Parent.Data == "control": // an emoji
			replaceByText(n, ":"+attribute(n, "alt")+":")
		case n.DataAtom == atom.Img:
			replaceByText(n, "[image: "+cmp.Or(attribute(n, "alt"), "without a description")+"]")
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
