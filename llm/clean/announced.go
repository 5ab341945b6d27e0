// Thoughts that words or markup announce, at the start of an answer. Such words are no marks, so the thought is removed only
// if the words that end it come: until then it is held back, and otherwise it is text.

package clean

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
	"cairn/llm"
)

// announced is a form of such thoughts.
type announced struct {
	open    func() *regexp.Regexp   // matches its beginning
	may     func(front string) bool // whether a text that begins with front may match open
	maxOpen int                     // bytes with which open can be decided, at most
	close   string                  // ends it, anywhere; "": a line that closes matches does
	line    func() *regexp.Regexp   // matches the beginning of that line
	label   func() *regexp.Regexp   // matches what ends it within a line; nil: nothing does
	summary bool                    // ends before a summary
	never   func() *regexp.Regexp   // matches the beginning of a line that no thought has; nil: none
}

// The names of thoughts and answers in headings and labels: en de fr es it pt ru zh ja ko.
const (
	thoughtName = `(?:(?:my |internal |inner |step-by-step )?(?:thinking|thought|reasoning)(?: process)?|(?:internal|inner) thoughts|chain of thought|(?:internal |inner )monologue|scratchpad|` +
		`gedankengang|überlegung|denkprozess|réflexion|raisonnement|razonamiento|pensamiento|ragionamento|raciocínio|` +
		`рассуждени[ея]|размышлени[ея]|思考(?:过程|過程)?|推理(?:过程|過程)?|推論|생각|사고 ?과정|추론)`
	answerName = `(?:(?:my |the )?(?:final )?(?:answer|response|reply)|(?:endgültige |finale )?antwort|réponse(?: finale)?|respuesta(?: final)?|` +
		`risposta(?: finale)?|resposta(?: final)?|(?:окончательный |итоговый )?ответ|(?:最终|最終)?(?:答案|回答|答复|回复)|答え|(?:최종 ?)?(?:답변|대답))`
	symbol      = `(?:\p{So}\x{fe0f}?[ \t]*)?`
	summaryName = `(?:(?:final )?summary|zusammenfassung|résumé|resumen|riassunto|resumo|резюме|摘要|总结|總結|要約|요약)`
	headingOf   = `#{1,6}[ \t]+` + symbol + `[*_]{0,3}%[:：]?[*_]{0,3}[:：]?[ \t]*(?:\n|$)`
	labelOf     = `[*_]{1,3}` + symbol + `%(?:\.{3}|…)?(?:[:：][*_]{1,3}|[*_]{1,3}[:：]|[*_]{1,3}[ \t]*(?:\n|$))`
)

// marked returns a pattern of a name in a heading or a label in bold or italics.
func marked(name string) func() *regexp.Regexp {
	return lazy.Pattern(`^(?i:` + symbol + `(?:` + strings.ReplaceAll(headingOf+"|"+labelOf, "%", name) + `))`)
}

// startsAs returns a function that reports whether a text with a front may begin with one of the openings.
func startsAs(openings ...string) func(front string) bool {
	return func(front string) bool {
		for _, open := range openings {
			if strings.HasPrefix(open, front) {
				return true
			}
		}
		return false
	}
}

// startsLike reports whether a line with a front may begin with one of the openings, in capitals or not.
func startsLike(front string, openings ...string) bool {
	front, _, ended := strings.Cut(strings.ToLower(front), "\n")
	front = strings.TrimRight(front, " \t")
	return !ended && startsAs(openings...)(front)
}

var announcedThoughts = []announced{
	{ // gpt-oss without its special tokens: analysisThe user …assistantfinalHello
		open:    lazy.Pattern(`^(?:assistant)?(?:analysis|commentary)(?:[A-Z\n]|$| ?to=[A-Za-z])`),
		may:     startsAs("analysis", "commentary to=", "commentaryto=", "assistantanalysis", "assistantcommentary to=", "assistantcommentaryto="),
		maxOpen: 24, close: "assistantfinal",
	},
	{ // Granite 3.2: huggingface.co/ibm-granite/granite-3.2-8b-instruct
		open:    lazy.Pattern(`^Here(?:'s| is) my thought process:`),
		may:     startsAs("Here's my thought process:", "Here is my thought process:"),
		maxOpen: 27, close: "Here is my response:",
	},
	{ // as the command of Ollama shows thoughts (github.com/ollama/ollama, cmd): Thinking... …done thinking.
		open:    lazy.Pattern(`^Thinking\.\.\.[ \t]*\n`),
		may:     func(front string) bool { return agrees(front, "Thinking...") && !strings.Contains(front, "\n") },
		maxOpen: 20, close: "...done thinking.",
	},
	{ // as Open WebUI stores thoughts, which models then repeat: <details type="reasoning" done="true"><summary>Thought for 3 seconds</summary>
		open:    lazy.Pattern(`^<details type="reasoning"`),
		may:     startsAs(`<details type="reasoning"`),
		maxOpen: 25, close: "</details>",
	},
	{ // a block of code that is a thought, as a popular prompt asks for: github.com/richards199999/Thinking-Claude
		open: lazy.Pattern("^```(?:think|thinking|thoughts?|reasoning)[ \\t]*\\n"),
		may: func(front string) bool {
			return strings.HasPrefix(front, "```") && !strings.Contains(front, "\n") || startsAs("```")(front)
		},
		maxOpen: 20, line: lazy.Pattern("^```[ \\t]*$"),
	},
	{ // ReAct (github.com/ysymyth/ReAct) without an action: Thought: I know it. Final Answer: Hello
		open:    lazy.Pattern(`^Thought:[ \t\n]`),
		may:     startsAs("Thought: "),
		maxOpen: 9, line: lazy.Pattern(`^(?:Final Answer|AI):[ \t]*`),
		never: lazy.Pattern(`^(?:Action|Observation)(?: Input)?:`),
	},
	{ // the same with labels in lines of their own
		open: lazy.Pattern(`^(?i:thinking|thoughts|thought process|internal monologue|chain of thought):[ \t]*\n`),
		may: func(front string) bool {
			return startsLike(front, "thinking:", "thoughts:", "thought process:", "internal monologue:", "chain of thought:")
		},
		maxOpen: 30, line: lazy.Pattern(`^(?i:(?:final )?(?:answer|response|reply)):[ \t]*`),
	},
	markedThought(`(?:`+answerName+`|`+summaryName+`)`, true),
	markedThought(answerName, false),
}

// markedThought returns the form **Thinking:** … **Answer:** …, or ### Reasoning … ### Answer …, with the names of what follows.
func markedThought(names string, summary bool) announced {
	return announced{
		open: marked(thoughtName),
		may: func(front string) bool {
			first, _ := utf8.DecodeRuneInString(front)
			return (strings.ContainsRune("#*_", first) || unicode.Is(unicode.So, first)) && !strings.Contains(front, "\n")
		},
		maxOpen: 60, summary: summary,
		line:  marked(names),
		label: lazy.Pattern(`(?i)\s[*_]{2,3}` + names + `(?:[:：][*_]{2,3}|[*_]{2,3}[:：])(?:\s|$)`),
	}
}

// announcedThought holds back what may be such a thought.
func announcedThought(in *input) step {
	waits := false
	for i := range announcedThoughts {
		form := &announcedThoughts[i]
		if form.summary && !in.summary {
			continue
		}
		front := in.raw[:min(len(in.raw), form.maxOpen)]
		early := !in.final && len(front) < form.maxOpen
		at := form.open().FindString(front)
		switch {
		case at == "":
			waits = waits || early && form.may(front)
		case early && len(at) == len(front):
			waits = true
		case form.line != nil && in.isQuoted(at): // people have requested this form
			return step{verdict: nothing}
		default:
			return think(in, &thought{words: form, sure: paired, isOpen: true}, 0)
		}
	}
	if waits {
		return step{verdict: unknown}
	}
	return step{verdict: nothing}
}

// readAnnounced reads a thought that ends with certain words, or with a certain line.
func (t *thought) readAnnounced(in *input) step {
	if t.words.close == "" {
		return t.readLines(in)
	}
	end := t.words.close
	if at := strings.Index(in.raw, end); at >= 0 {
		t.drop(in, at)
		return over(in, len(end))
	}
	if in.final {
		t.drop(in, len(in.raw))
		return step{verdict: handled}
	}
	if n := len(in.raw) - len(end); n > 0 {
		t.drop(in, n)
	}
	return step{verdict: unknown}
}

// readLines reads up to the end of the line, or ends the thought in front of it.
func (t *thought) readLines(in *input) step {
	const (
		longest = 80   // bytes of a line with which it can be decided whether it ends the thought
		maxLine = 2000 // bytes of a line that are looked at together
	)
	line, _, ended := strings.Cut(in.raw, "\n")
	if !ended && !in.final && len(line) < maxLine {
		return step{verdict: unknown}
	}
	size := min(len(line), maxLine)
	end := size
	if ended && size == len(line) {
		end++
	}
	line = line[:size]
	if t.at.last == '\n' {
		if found := t.lineEnds(in, line[:min(size, longest)]); found.verdict != nothing {
			return found
		}
	}
	if t.words.label != nil {
		if at := t.words.label().FindStringIndex(line); at != nil {
			t.drop(in, at[0])
			return over(in, at[1]-at[0])
		}
	}
	t.drop(in, end)
	return step{verdict: handled}
}

// lineEnds ends or keeps the thought if the beginning of a line says so.
func (t *thought) lineEnds(in *input, line string) step {
	if t.words.never != nil && t.words.never().MatchString(line) {
		switch action, more := in.tools.mayBeAction(in.raw); {
		case more && !in.final:
			return step{verdict: unknown}
		case action:
			return over(in, 0)
		}
		return step{verdict: keepThought}
	}
	if at := t.words.line().FindString(line); at != "" {
		return over(in, len(at))
	}
	return step{verdict: nothing}
}

// emphasizedThought handles a thought whose marks are in bold or italics: _<think>_ … _</think>_.
func emphasizedThought(in *input) step {
	const maxEmphasis = 3 // characters of emphasis
	if !strings.ContainsAny(in.raw[:1], "*_") {
		return step{verdict: nothing}
	}
	size := len(in.raw) - len(strings.TrimLeft(in.raw, in.raw[:1]))
	emphasis := in.raw[:size]
	behind := in.raw[size:]
	switch {
	case size > maxEmphasis:
		return step{verdict: nothing}
	case behind == "" && !in.final:
		return step{verdict: unknown}
	case behind == "" || !opensMark[behind[0]]:
		return step{verdict: nothing}
	}
	m, more := markAt(behind, in.final)
	if more {
		return step{verdict: unknown}
	}
	behind = behind[m.size:]
	switch {
	case m.kind != thoughtOpens || m.sure != known || m.open:
		return step{verdict: nothing}
	case !in.final && strings.HasPrefix(emphasis, behind):
		return step{verdict: unknown}
	case !strings.HasPrefix(behind, emphasis):
		return step{verdict: nothing}
	}
	next, more := follow(behind[size:], in.final)
	switch {
	case more:
		return step{verdict: unknown}
	case next.goesOn():
		return step{verdict: nothing}
	}
	return think(in, &thought{name: m.name, emphasis: emphasis, sure: paired, isOpen: true}, m.size+2*size)
}

// bareCall matches a call whose special tokens are lost: assistantcommentary to=functions.lookup json{"word":"tea"}
// (gpt-oss). Its groups: the name of the tool, the arguments.
var bareCall = lazy.Pattern(`(?:^|assistant)commentary ?to=(?:functions\.)?([\w.-]+)\s*(?:<\|constrain\|>)?\s*(?:json|code)?\s*(\{[^\x00]*)$`)

// callBehindThought reads a call of an offered tool that ends a thought without marks. reasoned: there is a thought before
// it.
func callBehindThought(thought string, r *request) (calls []llm.Call, reasoned bool) {
	at := bareCall().FindStringSubmatch(thought)
	if at == nil || r.tools.tool(at[1]) == nil || !json.Valid([]byte(at[2])) || r.isQuoted(at[0]) {
		return nil, false
	}
	var found callList
	found.add(at[1], at[2])
	return found, at[0] != thought
}
