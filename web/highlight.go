// Code in messages, coloured by classes of the style sheet: a page may have no styles of its own.

package web

import (
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// Limits of the code that is coloured; what is beyond them stays plain: code may be written to take long.
const (
	maxColored  = 20_000 // bytes in a message
	maxBlocks   = 50     // in a message
	colorTime   = time.Second
	maxLanguage = 30 // characters that are shown
)

// coloredSoFar counts what of a message is coloured.
type coloredSoFar struct {
	bytes, blocks int
	late          time.Time
}

const coloredKey = "colored"

// mayColor reports whether a block may be coloured, and counts it.
func mayColor(n ast.Node, size int) bool {
	meta := n.OwnerDocument().Meta()
	so, _ := meta[coloredKey].(*coloredSoFar)
	if so == nil {
		so = &coloredSoFar{late: time.Now().Add(colorTime)}
		meta[coloredKey] = so
	}
	so.bytes += size
	so.blocks++
	return so.bytes <= maxColored && so.blocks <= maxBlocks && time.Now().Before(so.late)
}

// plainStyle has no colours: the style sheet has them. The library's styles would cost each start their parsing.
var plainStyle = chroma.MustNewStyle("plain", nil)

var coloring = chromahtml.New(chromahtml.WithClasses(true), chromahtml.PreventSurroundingPre(true))

// codeBlock renders a fenced block: its language, and its text in colours.
func codeBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	var text strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		text.Write(line.Value(source))
	}
	language := ""
	if fenced, ok := n.(*ast.FencedCodeBlock); ok {
		language = string(fenced.Language(source))
	}
	colors := language != "" && mayColor(n, text.Len())
	_, err := w.WriteString(`<div class="code">`)
	if language != "" {
		shown := []rune(strings.ToValidUTF8(language, ""))
		_, err = w.WriteString(`<div class="language">` + string(util.EscapeHTML([]byte(string(shown[:min(len(shown), maxLanguage)])))) + "</div>")
	}
	if err == nil {
		_, err = w.WriteString(`<pre tabindex="0"><code>` + colored(language, text.String(), colors) + "</code></pre></div>\n")
	}
	return ast.WalkSkipChildren, err
}

// colored returns code as HTML, with colours if it may have any and its language is known.
func colored(language, code string, colors bool) string {
	plain := string(util.EscapeHTML([]byte(code)))
	if !colors {
		return plain
	}
	lexer := lexers.Get(language)
	if lexer == nil {
		return plain
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return plain
	}
	late := time.Now().Add(colorTime)
	var all []chroma.Token
	for t := tokens(); t != chroma.EOF; t = tokens() {
		all = append(all, t)
		if time.Now().After(late) {
			return plain
		}
	}
	var out strings.Builder
	if coloring.Format(&out, plainStyle, chroma.Literator(all...)) != nil {
		return plain
	}
	return out.String()
}
