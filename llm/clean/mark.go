// Marks: finds what looks like a mark of a template at the front of a text, and classifies it.

package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark is a mark at the front of a text.
type mark struct {
	kind   kind
	name   string // in lower case, without brackets; for thoughts the same for both marks of a pair
	size   int    // bytes; 0: there is none
	sure   certainty
	closes bool // it is the second of a pair
	open   bool // attributes follow, up to >
}

// maxMark limits the size of a mark, in bytes.
const maxMark = 80

// opensMark has the bytes that a mark may begin with; 0xE2 is the first of ◁ and ✿.
var opensMark = [256]bool{'<': true, '[': true, ']': true, 0xE2: true}

// indexMark returns where the next mark, line or code may begin; the length of text if nowhere.
func indexMark(text string) int {
	for i := range len(text) {
		if c := text[i]; opensMark[c] || c == '\n' || c == '`' || c == '~' {
			return i
		}
	}
	return len(text)
}

// markAt returns the mark at the front of a text. more: it takes more text to know, which never is if final.
func markAt(text string, final bool) (m mark, more bool) {
	switch {
	case agrees(text, "<co:"), agrees(text, bareCitation), agrees(text, "</co:"):
		m, more = citationAt(text, final)
		if m.kind != none || more {
			return m, more
		}
	}
	switch text[0] {
	case '<', '[':
		return tagAt(text, final)
	case ']', 0xE2:
		return literalAt(text, final)
	}
	return mark{}, false
}

// literals are the marks that have no brackets around them.
var literals = []string{"]~b]", "]~!b[", "]<]minimax[>[", "◁think▷", "◁/think▷", "✿FUNCTION✿:", "✿ARGS✿:", "✿RESULT✿:", "✿RETURN✿:"}

func literalAt(text string, final bool) (m mark, more bool) {
	for _, literal := range literals {
		if strings.HasPrefix(text, literal) {
			m := classify(literal)
			if strings.HasSuffix(literal, ":") { // with the spaces behind it
				rest := strings.TrimLeft(text[len(literal):], " ")
				m.size = len(text) - len(rest)
				more = rest == "" && !final && m.size < maxMark
			}
			return m, more
		}
		more = more || !final && strings.HasPrefix(literal, text)
	}
	return mark{}, more
}

// tagAt returns the mark in brackets at the front of a text.
func tagAt(text string, final bool) (m mark, more bool) {
	last := byte('>')
	if text[0] == '[' {
		last = ']'
	}
	if strings.HasPrefix(text, "[e~[") {
		return classify("[e~["), false
	}
	for i := 1; i < min(len(text), maxMark); i++ {
		switch c := text[i]; {
		case c == last && i > 1:
			if double := strings.HasPrefix(text, "<<"); double && strings.HasPrefix(text[i+1:], ">") { // <<SYS>>
				i++
			} else if double && i+1 == len(text) && !final {
				return mark{}, true
			}
			m := classify(text[:i+1])
			switch rest := text[i+1:]; {
			case m.kind == none:
				return mark{}, false
			case text[0] == '<':
				return joined(text, m, final)
			case rest == "" && !final:
				return mark{}, true
			case strings.HasPrefix(rest, "("): // a link
				return mark{}, false
			}
			return m, false
		case c == ' ':
			return attributed(text, i, final)
		case c <= ' ' || c == '<' && i > 1 || c == '[' && text[0] == '[', c == '(' || c == ';' || c == '*':
			return mark{}, false
		}
	}
	return mark{}, !final && len(text) < maxMark
}

// attributed returns a mark with attributes: <invoke name="lookup">, <thinking type="deep">. Its size is that of its name.
func attributed(text string, at int, final bool) (m mark, more bool) {
	m = classify(text[:at] + ">")
	if m.name == callElement {
		m.kind = callMark
	}
	rest := strings.TrimLeft(text[at:], " ")
	switch {
	case text[0] != '<' || m.closes || m.kind != callMark && m.kind != block && (m.kind != thoughtOpens || m.sure != known):
		return mark{}, false
	case len(rest) == 0:
		return mark{}, !final && len(text) < maxMark
	}
	r, _ := utf8.DecodeRuneInString(rest)
	word := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
	switch {
	case !unicode.IsLetter(r):
		return mark{}, false
	case word < 0:
		return mark{}, !final && len(rest) < maxMark
	case rest[word] != '=':
		return mark{}, false
	}
	m.size--
	m.open = true
	return m, false
}

// joined adds the rest of a mark of three tokens: <|open|>think<|sep|> (Kimi K3).
func joined(text string, m mark, final bool) (mark, bool) {
	if m.name != "open" && m.name != "close" || m.kind != special {
		return m, false
	}
	const sep = "<|sep|>"
	rest := text[m.size:]
	if at := strings.Index(rest[:min(len(rest), 2*maxMark)], sep); at >= 0 {
		name, _, _ := strings.Cut(strings.TrimSpace(rest[:at]), " ")
		joined := classify(text[:m.size] + name + sep)
		if strings.HasPrefix(name, "tools") || strings.HasPrefix(name, "call") {
			joined.kind = callMark
		}
		joined.size = m.size + at + len(sep)
		return joined, false
	}
	return m, !final && len(rest) < 2*maxMark
}

// classify returns what a mark is for, by the tables.
func classify(text string) mark {
	lower := strings.ToLower(text)
	m := mark{size: len(text)}
	m.name = strings.Trim(lower, "<>[]|｜‖/◁▷ ")
	m.closes = strings.HasPrefix(strings.TrimLeft(lower, "<[|｜‖◁"), "/")
	name, _, _ := strings.Cut(m.name, "=")
	switch {
	case text[0] == '[' && isTag(text) && text != strings.ToUpper(text): // a word in brackets, but for [thinking]
		if thoughtTags[m.name] {
			m.kind = thoughtOpens
			m.sure = paired
		}
	case thoughtTokens[lower] != "":
		m.kind = thoughtOpens
		m.name = thoughtTokens[lower]
	case thoughtEnders[lower]:
		m.kind = thoughtEnds
		m.name = lower
		m.closes = true
	case ends[lower], filler().MatchString(text):
		m.kind = turnEnds
	case begins[lower]:
		m.kind = turnBegins
	case headers[lower]:
		m.kind = header
	case wrappers[lower]:
		m.kind = around
		m.closes = strings.Contains(lower, "end")
	case callTokens[lower], text == minimax, name == callElement && name != m.name, text[0] == '<' && soundsLikeCall().MatchString(wordOf(name)):
		m.kind = callMark
	case isToken(lower):
		m.kind = special
		m.pairedToken()
	case isTag(text) && text[0] == '<':
		m.tag()
	}
	if m.kind == thoughtOpens && m.closes {
		m.kind = thoughtEnds
	}
	return m
}

// wordOf returns a name with _ for all that is no letter or digit, as ▁, : and |.
func wordOf(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, name), "_")
}

// isToken reports whether a mark has the form of a special token: <|name|>.
func isToken(text string) bool {
	inner, opened := strings.CutPrefix(text, "<")
	inner, closed := strings.CutSuffix(inner, ">")
	if !opened || !closed {
		inner, opened = strings.CutPrefix(text, "[")
		inner, closed = strings.CutSuffix(inner, "]")
	}
	for _, bar := range []string{"|", "｜"} {
		if name, ok := strings.CutPrefix(inner, bar); ok && opened && closed {
			name, ok = strings.CutSuffix(name, bar)
			return ok && name != "" && !strings.ContainsAny(name, "|<>[]{}(),;=&*+$\"")
		}
	}
	return false
}

// pairedToken recognizes the tokens around a thought that no table has: <|begin_of_reflection|>.
func (m *mark) pairedToken() {
	word := wordOf(m.name)
	if !soundsLikeThought().MatchString(word) {
		return
	}
	m.sure = unlisted
	m.kind = thoughtOpens
	for _, edge := range []string{"end", "stop", "close", "suffix"} {
		m.closes = m.closes || strings.HasPrefix(word, edge+"_") || strings.HasSuffix(word, "_"+edge)
	}
	if m.closes {
		m.kind = thoughtEnds
	}
	m.name = "|"
}

// isTag reports whether a mark has the form of a tag without attributes: <name>, </name>, [/NAME].
func isTag(text string) bool {
	name := strings.TrimPrefix(text[1:len(text)-1], "/")
	for i, r := range name {
		letter := r < utf8.RuneSelf && unicode.IsLetter(r)
		if !letter && (i == 0 || !unicode.IsDigit(r) && !strings.ContainsRune("_:.-", r)) {
			return false
		}
	}
	return name != ""
}

func (m *mark) tag() {
	family, suffix, _ := strings.Cut(m.name, ":") // <think:6124c78e> is Hunyuan's
	switch {
	case thoughtTags[m.name], thoughtTags[family] && suffix != "":
		m.kind = thoughtOpens
	case blockTags[m.name]:
		m.kind = block
	case answerTags[m.name]:
		m.kind = around
	case soundsLikeThought().MatchString(m.name):
		m.kind = thoughtOpens
		m.sure = unlisted
	}
}
