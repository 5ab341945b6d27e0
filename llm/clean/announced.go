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
)

// announced is a form of such thoughts.
type announced struct {
	open    func() *regexp.Regexp   // matches its beginning
	may     func(front string) bool // whether a text that begins with front may match open
	whole   int                     // bytes with which open can be decided, at most
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
	front, _, whole := strings.Cut(strings.ToLower(front), "\n")
	front = strings.TrimRight(front, " \t")
	return !whole && startsAs(openings...)(front)
}

var announcedThoughts = []announced{
	{ // gpt-oss without its special tokens: analysisThe user …assistantfinalHello
		open:  lazy.Pattern(`^(?:assistant)?(?:analysis|commentary)(?:[A-Z\n]|$| ?to=[A-Za-z])`),
		may:   startsAs("analysis", "commentary to=", "commentaryto=", "assistantanalysis", "assistantcommentary to=", "assistantcommentaryto="),
		whole: 24, close: "assistantfinal",
	},
	{ // Granite 3.2: huggingface.co/ibm-granite/granite-3.2-8b-instruct
		open:  lazy.Pattern(`^Here(?:'s| is) my thought process:`),
		may:   startsAs("Here's my thought process:", "Here is my thought process:"),
		whole: 27, close: "Here is my response:",
	},
	{ // as the command of Ollama shows thoughts (github.com/ollama/ollama, cmd): Thinking... …done thinking.
		open:  lazy.Pattern(`^Thinking\.\.\.[ \t]*\n`),
		may:   func(front string) bool { return agrees(front, "Thinking...") && !strings.Contains(front, "\n") },
		whole: 20, close: "...done thinking.",
	},
	{ // as Open WebUI stores thoughts, which models then repeat: <details type="reasoning" done="true"><summary>Thought for 3 seconds</summary>
		open:  lazy.Pattern(`^<details type="reasoning"`),
		may:   startsAs(`<details type="reasoning"`),
		whole: 25, close: "</details>",
	},
	{ // a block of code that is a thought, as a popular prompt asks for: github.com/richards199999/Thinking-Claude
		open: lazy.Pattern("^```(?:think|thinking|thoughts?|reasoning)[ \\t]*\\n"),
		may: func(front string) bool {
			return strings.HasPrefix(front, "```") && !strings.Contains(front, "\n") || startsAs("```")(front)
		},
		whole: 20, line: lazy.Pattern("^```[ \\t]*$"),
	},
	{ // ReAct (github.com/ysymyth/ReAct) without an action: Thought: I know it. Final Answer: Hello
		open:  lazy.Pattern(`^Thought:[ \t\n]`),
		may:   startsAs("Thought: "),
		whole: 9, line: lazy.Pattern(`^(?:Final Answer|AI):[ \t]*`),
		never: lazy.Pattern(`^(?:Action|Observation)(?: Input)?:`),
	},
	{ // the same with labels in lines of their own
		open: lazy.Pattern(`^(?i:thinking|thoughts|thought process|internal monologue|chain of thought):[ \t]*\n`),
		may: func(front string) bool {
			return startsLike(front, "thinking:", "thoughts:", "thought process:", "internal monologue:", "chain of thought:")
		},
		whole: 30, line: lazy.Pattern(`^(?i:(?:final )?(?:answer|response|reply)):[ \t]*`),
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
		whole: 60, summary: summary,
		line:  marked(names),
		label: lazy.Pattern(`(?i)\s[*_]{2,3}` + names + `(?:[:：][*_]{2,3}|[*_]{2,3}[:：])(?:\s|$)`),
	}
}

// announcedThought holds back what may be such a thought.
func (f *Filter) announcedThought(final bool) verdict {
	waits := false
	for i := range announcedThoughts {
		form := &announcedThoughts[i]
		if form.summary && !f.summary {
			continue
		}
		front := f.raw[:min(len(f.raw), form.whole)]
		early := !final && len(front) < form.whole
		at := form.open().FindString(front)
		switch {
		case at == "":
			waits = waits || early && form.may(front)
		case early && len(at) == len(front):
			waits = true
		case form.line != nil && f.isQuoted(at): // people have asked for this form
			return nothing
		default:
			f.think(mark{kind: thoughtOpens, sure: paired}, true)
			f.words = form
			return handled
		}
	}
	if waits {
		return unknown
	}
	return nothing
}

// readAnnounced reads a thought that ends with certain words, or with a certain line.
func (f *Filter) readAnnounced(final bool) bool {
	if f.words.close == "" {
		return f.readLines(final)
	}
	end := f.words.close
	if at := strings.Index(f.raw, end); at >= 0 {
		f.dropThought(at)
		f.endThought(len(end))
		return true
	}
	if final {
		f.dropThought(len(f.raw))
		return true
	}
	if n := len(f.raw) - len(end); n > 0 {
		f.dropThought(n)
	}
	return false
}

// readLines reads up to the end of the line, or ends the thought in front of it.
func (f *Filter) readLines(final bool) bool {
	const (
		longest = 80   // bytes of a line with which it can be decided whether it ends the thought
		most    = 2000 // bytes of a line that are looked at together
	)
	line, _, whole := strings.Cut(f.raw, "\n")
	if !whole && !final && len(line) < most {
		return false
	}
	size := min(len(line), most)
	end := size
	if whole && size == len(line) {
		end++
	}
	line = line[:size]
	if f.at.last == '\n' {
		switch ends, more := f.lineEnds(line[:min(size, longest)], final); {
		case more:
			return false
		case ends:
			return true
		}
	}
	if f.words.label != nil {
		if at := f.words.label().FindStringIndex(line); at != nil {
			f.dropThought(at[0])
			f.endThought(at[1] - at[0])
			return true
		}
	}
	f.dropThought(end)
	return true
}

// lineEnds ends or restores the thought if the beginning of a line says so.
func (f *Filter) lineEnds(line string, final bool) (ends, more bool) {
	if f.words.never != nil && f.words.never().MatchString(line) {
		switch action, more := offered(f.Tools).mayBeAction(f.raw); {
		case more && !final:
			return false, true
		case action:
			f.endThought(0)
		default:
			f.restore()
		}
		return true, false
	}
	at := f.words.line().FindString(line)
	if at != "" {
		f.endThought(len(at))
	}
	return at != "", false
}

// emphasizedThought handles a thought whose marks are in bold or italics: _<think>_ … _</think>_.
func (f *Filter) emphasizedThought(final bool) verdict {
	const most = 3 // characters of emphasis
	if !strings.ContainsAny(f.raw[:1], "*_") {
		return nothing
	}
	size := len(f.raw) - len(strings.TrimLeft(f.raw, f.raw[:1]))
	emphasis := f.raw[:size]
	behind := f.raw[size:]
	switch {
	case size > most:
		return nothing
	case behind == "" && !final:
		return unknown
	case behind == "" || !opensMark[behind[0]]:
		return nothing
	}
	m, more := markAt(behind, final)
	if more {
		return unknown
	}
	behind = behind[m.size:]
	switch {
	case m.kind != thoughtOpens || m.sure != known || m.open:
		return nothing
	case !final && strings.HasPrefix(emphasis, behind):
		return unknown
	case !strings.HasPrefix(behind, emphasis):
		return nothing
	}
	next, more := follow(behind[size:], final)
	switch {
	case more:
		return unknown
	case next.goesOn():
		return nothing
	}
	m.size += 2 * size
	m.sure = paired
	f.think(m, true)
	f.emphasis = emphasis
	return handled
}

// bareCall matches a call whose special tokens are lost: assistantcommentary to=functions.lookup json{"word":"tea"}
// (gpt-oss). Its groups: the name of the tool, the arguments.
var bareCall = lazy.Pattern(`(?:^|assistant)commentary ?to=(?:functions\.)?([\w.-]+)\s*(?:<\|constrain\|>)?\s*(?:json|code)?\s*(\{[^\x00]*)$`)

// callBehindThought reads a call of an offered tool that ends a thought without marks.
func (f *Filter) callBehindThought() bool {
	at := bareCall().FindStringSubmatch(f.all.String())
	p := parser{offered: f.Tools}
	if f.textOnly || at == nil || p.tool(at[1]) == nil || !json.Valid([]byte(at[2])) || f.isQuoted(at[0]) {
		return false
	}
	p.add(at[1], at[2])
	f.Calls = p.calls
	f.Reasoned = at[0] != f.all.String()
	f.thinking = thinking{}
	f.stripped = true
	f.end()
	f.mode = (*Filter).body
	return true
}
