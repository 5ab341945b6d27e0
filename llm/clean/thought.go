// Thoughts: dropped up to the mark that ends them, which the thought itself may mention.

package clean

import (
	"strings"
	"unicode"

	"cairn/internal/lazy"
	"cairn/llm"
)

// thought is a thought that is being read.
type thought struct {
	name     string     // of the marks around it
	words    *announced // what is around it instead; nil: marks
	emphasis string     // around each of its marks
	sure     certainty  // what is enough to remove it
	isOpen   bool       // its first mark is no mention of one
	inBody   bool       // there is text before it
	size     int        // bytes so far
	depth    int        // thoughts inside

	at    place           // in the thought
	code  bool            // a block of code is open in it
	all   strings.Builder // the thought with its first mark, as long as it may turn out to be text
	after strings.Builder // what follows the last mark that may be its end
	ended bool            // there was one

	hasCall bool            // a mark in it may begin a call
	call    strings.Builder // from that mark on

	calls  []llm.Call // that a thought without marks is, once it has ended
	isMore bool       // there is a thought before them
}

// think is a step that begins a thought with n bytes of the input.
func think(in *input, t *thought, n int) step {
	t.drop(in, n)
	return step{verdict: beginThought, thought: t}
}

// over is a step that ends a thought with n bytes of the input.
func over(in *input, n int) step {
	in.skip(n)
	return step{verdict: endThought}
}

// drop drops n bytes of the input, or keeps them as long as they may turn out to be text.
func (t *thought) drop(in *input, n int) {
	text := in.take(n)
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

// kept returns the size of what is kept of it, in bytes.
func (t *thought) kept() int { return t.all.Len() + t.after.Len() + t.call.Len() }

// read reads up to the next mark.
func (t *thought) read(in *input) step {
	if t.words != nil {
		return t.readAnnounced(in)
	}
	t.drop(in, indexMark(in.raw))
	if in.raw == "" {
		return step{verdict: handled}
	}
	if !opensMark[in.raw[0]] {
		return t.readTicks(in)
	}
	m, more := markAt(in.raw, in.final)
	if more {
		return step{verdict: unknown}
	}
	switch {
	case t.name == "<|message|>" && closesMessage[strings.ToLower(in.raw[:m.size])]:
		if m.kind == header {
			m.size = 0 // it begins the next message
		}
		return over(in, m.size)
	case m.kind == thoughtOpens && m.name == t.name:
		t.depth++
		t.drop(in, m.size)
	case m.kind == thoughtEnds:
		return t.judgeEnd(in, m)
	case m.kind == none && in.raw[0] == '<':
		return t.misspeltEnd(in)
	case m.kind == none:
		t.drop(in, runeSize(in.raw))
	default:
		t.hasCall = t.hasCall || m.kind == callMark && !m.closes && !t.code
		t.drop(in, m.size)
	}
	return step{verdict: handled}
}

// misspelt matches a mark that was meant to end a thought: </ think>, <\think>, <think/>.
var misspelt = lazy.Pattern(`^<[\\/ ]{0,3}([a-z][a-z_:]*)[ /]{0,2}>`)

// misspeltEnd reads such a mark. One that is all of its line ends the thought if no right one follows.
func (t *thought) misspeltEnd(in *input) step {
	front := in.raw[:min(len(in.raw), maxMark)]
	at := misspelt().FindStringSubmatch(front)
	if at == nil {
		if !in.final && len(front) < maxMark && !strings.ContainsAny(front[1:], "<>\n") {
			return step{verdict: unknown}
		}
		t.drop(in, 1)
		return step{verdict: handled}
	}
	next, more := follow(in.raw[len(at[0]):], in.final)
	if more {
		return step{verdict: unknown}
	}
	ends := at[1] == t.name && !t.at.inLine && !t.code && next.newline
	t.drop(in, len(at[0]))
	if ends {
		t.after.Reset()
		t.ended = true
	}
	return step{verdict: handled}
}

// readTicks reads a line break or a tick, or three ticks that begin or end a block of code.
func (t *thought) readTicks(in *input) step {
	const fence = "```"
	switch {
	case t.at.inLine:
	case strings.HasPrefix(in.raw, fence):
		t.code = !t.code
		t.drop(in, len(fence))
		return step{verdict: handled}
	case !in.final && strings.HasPrefix(fence, in.raw):
		return step{verdict: unknown}
	}
	t.drop(in, 1)
	return step{verdict: handled}
}

// judgeEnd decides whether a mark ends the thought. One in quotation marks does not. One that may be mentioned, or that
// is another one's, does only if no better one follows.
func (t *thought) judgeEnd(in *input, m mark) step {
	switch rest := in.raw[m.size:]; {
	case strings.HasPrefix(rest, t.emphasis):
		m.size += len(t.emphasis)
	case !in.final && strings.HasPrefix(t.emphasis, rest):
		return step{verdict: unknown}
	}
	next, more := follow(in.raw[m.size:], in.final)
	if more {
		return step{verdict: unknown}
	}
	quoted := strings.ContainsRune("\"'`“‘«", t.at.last) && next.blank == 0 && strings.ContainsRune("\"'`”’»", next.first)
	mentioned := t.at.inLine && unicode.IsSpace(t.at.last) && !endsSentence(t.at.solid) && next.saysOn()
	inside := t.depth > 0 || t.code
	t.depth = max(0, t.depth-1)
	switch {
	case quoted:
		t.drop(in, m.size)
	case mentioned, inside, m.name != t.name, !t.isOpen && next.saysOn():
		t.drop(in, m.size)
		t.after.Reset()
		t.ended = true
	case (t.inBody || t.isExample()) && next.saysOn(), t.sure == unlisted && (next.end || next.mark.kind == none && next.first == '<'):
		return step{verdict: keepThought}
	default:
		return over(in, m.size)
	}
	return step{verdict: handled}
}

// maxExample limits what may be in an example of a thought, in bytes: "<think>reasoning</think> comes first."
const maxExample = 60

// isExample reports whether the thought may be an example: it is short, and no sentence.
func (t *thought) isExample() bool {
	return t.size <= maxExample && !strings.ContainsRune(".?!", t.at.solid) && !strings.Contains(t.all.String(), "\n")
}

// planning matches what models say in thoughts, and hardly anyone in a text about their marks.
var planning = lazy.Pattern(`(?i)\bthe user\b|\blet me\b|\bI (?:need to|should|have to|will|must)\b|^\W*(?:okay|ok|hmm|alright)\b|` +
	`\b(?:der nutzer|die nutzerin|der benutzer)\b|l'utilisat|\b(?:el usuario|o usuário|l'utente)\b|пользовател|用户|用戶|ユーザー|사용자`)

// isAloud reports whether a thought whose marks are in emphasis is one, though it never ends.
func isAloud(all string) bool {
	_, words, _ := strings.Cut(all, ">")
	words = strings.TrimLeft(words, "*_ \n")
	words = words[:min(len(words), maxBehind)]
	return planning().MatchString(words) && !ofTemplates().MatchString(words)
}

// finish ends a thought that the end of the answer has cut off.
func (t *thought) finish(in *input) step {
	if t.words != nil && !in.textOnly {
		t.calls, t.isMore = callBehindThought(t.all.String(), &in.request)
	}
	switch {
	case len(t.calls) > 0:
		return step{verdict: callThought}
	case t.isOpen && t.ended && t.sure != unlisted:
		in.putBack(t.after.String())
		return over(in, 0)
	case t.emphasis != "" && isAloud(t.all.String()):
		return over(in, 0)
	case !t.isOpen, t.sure != known:
		return step{verdict: keepThought}
	}
	return over(in, 0)
}
