// The text so far, and what is around the next mark in it.

package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
)

// page is the text so far.
type page struct {
	out      strings.Builder
	returned int // bytes of out that were returned

	place
	lineAt int // where the current line begins in the text
}

// put adds to the text.
func (p *page) put(text string) {
	if at := strings.LastIndexByte(text, '\n'); at >= 0 {
		p.lineAt = p.out.Len() + at + 1
	}
	p.out.WriteString(text)
	p.pass(text)
}

// place is the end of what was read of a text.
type place struct {
	last, solid rune // the last rune, and the last that is no white space; 0: none
	inLine      bool // the current line has more than white space
}

// pass moves the place behind a piece of text.
func (p *place) pass(text string) {
	if text == "" {
		return
	}
	line := strings.LastIndexByte(text, '\n')
	p.inLine = p.inLine && line < 0
	p.last, _ = utf8.DecodeLastRuneInString(text)
	if solid := strings.TrimRightFunc(text, unicode.IsSpace); solid != "" {
		p.solid, _ = utf8.DecodeLastRuneInString(solid)
		p.inLine = p.inLine || len(solid) > line+1
	}
}

// endSentence lets what follows find the end of a sentence.
func (p *page) endSentence() {
	p.solid = '.'
	p.last = '.'
}

// show returns what is not shown yet of the first bytes of the text, up to a size.
func (p *page) show(to int) string {
	from := min(p.returned, to)
	p.returned = max(p.returned, to)
	return p.out.String()[from:to]
}

// maxPending limits the white space that waits for what follows it, in bytes.
const maxPending = 256

// pending returns the size of the white space at the end of the text that waits for what follows: if that is the end
// of the turn, the text ends before it. White space between the words of a sentence does not wait.
func (p *page) pending() int {
	text := p.out.String()[p.returned:]
	solid := strings.TrimRightFunc(text[max(0, len(text)-maxPending):], unicode.IsSpace)
	blank := min(len(text), maxPending) - len(solid)
	if strings.Contains(text[len(text)-blank:], "\n") || endsSentence(p.solid) {
		return blank
	}
	return 0
}

// isNewLine reports whether a mark behind the text begins a line behind a complete sentence or line.
func (p *page) isNewLine() bool { return !p.inLine && p.solid != ':' }

// saysInLine reports whether the current line has a letter: it is more than the number of an item in a list.
func (p *page) saysInLine() bool {
	return strings.ContainsFunc(p.out.String()[p.lineAt:], unicode.IsLetter)
}

// hasHeadings reports whether a line of the text may be a heading.
func (p *page) hasHeadings() bool {
	text := p.out.String()
	return strings.HasPrefix(text, "#") || strings.Contains(text, "\n#")
}

// ofTemplates matches words of texts about templates.
var ofTemplates = lazy.Pattern(`(?i)chatml|alpaca|vicuna|modelfile|jinja|llama-cli|llama\.cpp|ollama|vllm|templat|\btokens?\b|\bheaders?\b|kopfzeile|en-tête|encabezado|заголов|ヘッダ|标头|헤더|plantilla|jeton|шаблон|токен|模板|令牌|标记|テンプレート|トークン|템플릿|토큰`)

// isAboutTemplates reports whether the end of the text has a word of those about templates.
func (p *page) isAboutTemplates() bool {
	text := p.out.String()
	return ofTemplates().MatchString(text[max(0, len(text)-maxBehind):])
}

// maxBehind limits how much of the text is looked at again at each mark, in bytes.
const maxBehind = 1000

// hasPlaceholder reports whether the end of the current line has a placeholder, as in the source of a template: {{ .Prompt }}.
func (p *page) hasPlaceholder() bool {
	line := p.out.String()[max(p.lineAt, p.out.Len()-maxBehind):]
	return strings.Contains(line, "{{") && strings.Contains(line, "}}") || strings.Contains(line, "{%") && strings.Contains(line, "%}")
}

// isIndented reports whether the current line is indented like code, and begins no item of a list.
func (p *page) isIndented() bool {
	line := p.out.String()[p.lineAt:]
	if !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t") {
		return false
	}
	item := strings.TrimLeft(line[:min(len(line), maxMark)], " \t")
	return item == "" || !strings.ContainsAny(item[:1], "-*+0123456789•")
}

// endsSentence reports whether a sentence may end with r.
func endsSentence(r rune) bool {
	return strings.ContainsRune(".!?…。！？)]}»”’*_~|>`", r) || unicode.In(r, unicode.So, unicode.Sk, unicode.Mn, unicode.Cf)
}

// isGlued reports whether a mark that follows the text directly ends it rather than being mentioned in it.
func (p *page) isGlued() bool {
	return p.closesQuote() || !unicode.IsSpace(p.last) && !strings.ContainsRune("([{<=:,/\\\"'‘“«„", p.last)
}

// closesQuote reports whether the text ends with a quotation mark that ends a quotation.
func (p *page) closesQuote() bool {
	text := p.out.String()
	if p.last != '"' && p.last != '\'' || len(text) < 2 {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:len(text)-1])
	return !unicode.IsSpace(before) && !strings.ContainsRune("([{=:", before)
}
