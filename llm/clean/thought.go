// Thoughts: dropped up to the mark that ends them, which the thought itself may mention.

package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
)

// thinking is a thought that is being read.
type thinking struct {
	isThinking bool
	name       string     // of the marks around it
	words      *announced // what is around it instead; nil: marks
	emphasis   string     // around each of its marks
	sure       certainty  // what is enough to remove it
	isOpen     bool       // its first mark is no mention of one
	inBody     bool       // there is text before it
	size       int        // bytes so far
	depth      int        // thoughts inside

	at    place           // in the thought
	code  bool            // a block of code is open in it
	all   strings.Builder // the thought with its first mark, as long as it may turn out to be text
	after strings.Builder // what follows the last mark that may be its end
	ended bool            // there was one

	hasCall bool            // a mark in it may begin a call
	call    strings.Builder // from that mark on
}

// think begins a thought at the front of raw. open: its mark is no mention of one.
func (f *Filter) think(m mark, open bool) {
	f.thinking = thinking{isThinking: true, name: m.name, sure: m.sure, isOpen: open, inBody: f.mode != nil}
	f.mode = (*Filter).readThought
	f.dropThought(m.size)
}

// dropThought drops n bytes of raw, or keeps them as long as they may turn out to be text.
func (f *Filter) dropThought(n int) {
	f.thinking.add(f.raw[:n])
	f.skip(n)
}

// add adds to the thought.
func (t *thinking) add(text string) {
	if !t.isOpen || t.sure != known || t.inBody || t.size <= maxExample {
		t.all.WriteString(text)
	}
	t.size += len(text)
	if t.ended {
		t.after.WriteString(text)
	}
	if t.hasCall {
		t.call.WriteString(text)
	}
	t.at.pass(text)
}

// readThought reads up to the next mark in a thought.
func (f *Filter) readThought(final bool) bool {
	if f.words != nil {
		return f.readAnnounced(final)
	}
	f.dropThought(indexMark(f.raw))
	if f.raw == "" {
		return true
	}
	if !opensMark[f.raw[0]] {
		return f.readTicks(final)
	}
	m, more := markAt(f.raw, final)
	if more {
		return false
	}
	switch {
	case f.name == "<|message|>" && closesMessage[strings.ToLower(f.raw[:m.size])]:
		if m.kind == header {
			m.size = 0 // it begins the next message
		}
		f.endThought(m.size)
	case m.kind == thoughtOpens && m.name == f.name:
		f.depth++
		f.dropThought(m.size)
	case m.kind == thoughtEnds:
		return f.judgeEnd(m, final)
	case m.kind == none && f.raw[0] == '<':
		return f.misspeltEnd(final)
	case m.kind == none:
		_, size := utf8.DecodeRuneInString(f.raw)
		f.dropThought(size)
	default:
		f.hasCall = f.hasCall || m.kind == callMark && !m.closes && !f.code
		f.dropThought(m.size)
	}
	return true
}

// misspelt matches a mark that was meant to end a thought: </ think>, <\think>, <think/>.
var misspelt = lazy.Pattern(`^<[\\/ ]{0,3}([a-z][a-z_:]*)[ /]{0,2}>`)

// misspeltEnd reads such a mark. One that is all of its line ends the thought if no right one follows.
func (f *Filter) misspeltEnd(final bool) bool {
	front := f.raw[:min(len(f.raw), maxMark)]
	at := misspelt().FindStringSubmatch(front)
	if at == nil {
		if !final && len(front) < maxMark && !strings.ContainsAny(front[1:], "<>\n") {
			return false
		}
		f.dropThought(1)
		return true
	}
	next, more := follow(f.raw[len(at[0]):], final)
	if more {
		return false
	}
	ends := at[1] == f.name && !f.at.inLine && !f.code && next.newline
	f.dropThought(len(at[0]))
	if ends {
		f.after.Reset()
		f.ended = true
	}
	return true
}

// readTicks reads a line break or a tick, or three ticks that begin or end a block of code.
func (f *Filter) readTicks(final bool) bool {
	const fence = "```"
	switch {
	case f.at.inLine:
	case strings.HasPrefix(f.raw, fence):
		f.code = !f.code
		f.dropThought(len(fence))
		return true
	case !final && strings.HasPrefix(fence, f.raw):
		return false
	}
	f.dropThought(1)
	return true
}

// judgeEnd decides whether a mark ends the thought. One in quotation marks does not. One that may be mentioned, or that
// is another one's, does only if no better one follows.
func (f *Filter) judgeEnd(m mark, final bool) bool {
	switch rest := f.raw[m.size:]; {
	case strings.HasPrefix(rest, f.emphasis):
		m.size += len(f.emphasis)
	case !final && strings.HasPrefix(f.emphasis, rest):
		return false
	}
	next, more := follow(f.raw[m.size:], final)
	if more {
		return false
	}
	quoted := strings.ContainsRune("\"'`“‘«", f.at.last) && next.blank == 0 && strings.ContainsRune("\"'`”’»", next.first)
	mentioned := f.at.inLine && unicode.IsSpace(f.at.last) && !endsSentence(f.at.solid) && next.saysOn()
	inside := f.depth > 0 || f.code
	f.depth = max(0, f.depth-1)
	switch {
	case quoted:
		f.dropThought(m.size)
	case mentioned, inside, m.name != f.name, !f.isOpen && next.saysOn():
		f.dropThought(m.size)
		f.after.Reset()
		f.ended = true
	case (f.inBody || f.isExample()) && next.saysOn(), f.sure == unlisted && (next.end || next.mark.kind == none && next.first == '<'):
		f.restore()
	default:
		f.endThought(m.size)
	}
	return true
}

// maxExample limits what may be in an example of a thought, in bytes: "<think>reasoning</think> comes first."
const maxExample = 60

// isExample reports whether the thought may be an example: it is short, and no sentence.
func (t *thinking) isExample() bool {
	return t.size <= maxExample && !strings.ContainsRune(".?!", t.at.solid) && !strings.Contains(t.all.String(), "\n")
}

// endThought drops the thought with the mark of n bytes that ends it.
func (f *Filter) endThought(n int) {
	f.skip(n)
	inBody := f.inBody
	f.inThought = f.call.String()
	f.Reasoned = true
	f.thinking = thinking{}
	f.mode = nil
	if inBody {
		f.mode = (*Filter).skipBlank
	} else {
		f.stripped = true
	}
}

// skipBlank drops the white space behind something that was removed from the middle.
func (f *Filter) skipBlank(bool) bool {
	rest := strings.TrimLeftFunc(f.raw, unicode.IsSpace)
	if f.solid == f.last { // no white space is before it
		f.put(f.raw[:len(f.raw)-len(rest)])
	}
	f.raw = rest
	if rest != "" {
		f.mode = (*Filter).body
	}
	return true
}

// restore makes text of what seemed to be a thought: the text is about its marks.
func (f *Filter) restore() {
	all := f.all.String()
	inBody := f.inBody
	emphasized := f.emphasis != ""
	f.thinking = thinking{}
	if !inBody {
		f.begin()
	}
	f.mode = (*Filter).body
	m, _ := markAt(all, true)
	f.about = m.size > 0 || emphasized
	f.openSeen = f.about
	f.put(all[:m.size])
	f.raw = all[m.size:] + f.raw
}

// planning matches what models say in thoughts, and hardly anyone in a text about their marks.
var planning = lazy.Pattern(`(?i)\bthe user\b|\blet me\b|\bI (?:need to|should|have to|will|must)\b|^\W*(?:okay|ok|hmm|alright)\b|` +
	`\b(?:der nutzer|die nutzerin|der benutzer)\b|l'utilisat|\b(?:el usuario|o usuário|l'utente)\b|пользовател|用户|用戶|ユーザー|사용자`)

// isAloud reports whether a thought whose marks are in emphasis is one, though it never ends.
func isAloud(all string) bool {
	_, said, _ := strings.Cut(all, ">")
	said = strings.TrimLeft(said, "*_ \n")
	said = said[:min(len(said), maxBehind)]
	return planning().MatchString(said) && !ofTemplates().MatchString(said)
}

// endThinking ends a thought that the end of the answer has cut off.
func (f *Filter) endThinking() {
	switch {
	case f.isOpen && f.ended && f.sure != unlisted:
		after := f.after.String()
		f.endThought(0)
		f.raw = after
	case f.words != nil && f.callBehindThought():
	case f.emphasis != "" && isAloud(f.all.String()):
		f.endThought(0)
	case !f.isOpen, f.sure != known:
		f.restore()
	default:
		f.inThought = f.call.String()
		f.Reasoned = true
		f.thinking = thinking{}
		f.stripped = true
		f.mode = (*Filter).body
	}
}
