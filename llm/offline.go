// The offline model answers if no language model is configured: it searches with the tools any model has, and quotes.

package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/lazy"
	"cairn/internal/words"
)

// Offline is a Model that needs no server. Equal requests get equal answers.
type Offline struct {
	window Window
}

var _ Model = (*Offline)(nil)

// NewOffline returns the offline model, which claims a window of this many tokens; 0 or less: DefaultWindow.
func NewOffline(window int) *Offline {
	if window > 0 {
		return &Offline{Window{Tokens: window, Source: "setting"}}
	}
	return &Offline{GuessedWindow}
}

// Name returns "offline".
func (o *Offline) Name() string { return "offline" }

// Window returns the window given to NewOffline.
func (o *Offline) Window(context.Context) Window { return o.window }

var lookups = []string{"memory_search", "recall"}

// Generate searches for the person's words if the request has tools for that, and answers with the results.
func (o *Offline) Generate(ctx context.Context, req Request, show func(delta string)) (Response, error) {
	if err := ctx.Err(); err != nil {
		return Response{}, err
	}
	last, results := readTurn(req.Messages)
	if calls := lookUp(req, last); len(calls) > 0 && len(results) == 0 {
		return Response{Message: Message{Role: RoleAssistant, Calls: calls}, FinishReason: FinishToolCalls}, nil
	}
	hinted := slices.ContainsFunc(req.Messages, func(m Message) bool {
		return m.Role == RoleAssistant && strings.Contains(m.Text, howToSet)
	})
	text := reply(last, results, hinted)
	for piece := range strings.SplitAfterSeq(text, " ") {
		if err := ctx.Err(); err != nil {
			return Response{}, err
		}
		if show != nil {
			show(piece)
		}
	}
	return Response{Message: Message{Role: RoleAssistant, Text: text}, FinishReason: FinishStop}, nil
}

// lookUp returns the calls that search for a question with the offered tools; none if it is not a question.
func lookUp(req Request, last lastLine) []Call {
	if !words.IsQuestion(last.text) {
		return nil
	}
	query, _ := json.Marshal(map[string]string{"query": shorten(last.text, maxQuery)}) // marshalling a map of strings cannot fail
	var calls []Call
	for _, name := range lookups {
		if slices.ContainsFunc(req.Tools, func(t Tool) bool { return t.Name == name }) {
			calls = append(calls, Call{ID: fmt.Sprintf("offline_%d_%d", len(req.Messages), len(calls)), Name: name, Arguments: string(query)})
		}
	}
	return calls
}

const (
	maxQuery = 500 // characters of a question in a search
	maxQuote = 400 // characters of a quotation
)

// lastLine is a person's latest message, as the request shows it.
type lastLine struct {
	seq     string   // "" if the request does not say
	text    string   // without attachments
	content []string // see words.Content
	times   []words.Span
}

// header matches the header of a line in a request: number, day, time, speaker, what it replies to.
var header = lazy.Pattern(`(?m)^\[#(\d+) (\d{4}-\d\d-\d\d \d\d:\d\d) [^\]]*\] ?`)

// clock is how requests and results show times.
const clock = "2006-01-02 15:04"

// attached matches a file with its content, or the description of any other attachment of a message.
var attached = lazy.Pattern(`(?s)\[file: [^\[\]\n]*\]\n.*?\n\[end of file\]|\[(?:image|file|video|audio|attachment): [^\[\]\n]*\]|\[voice message(?:, [^\[\]\n]*)?\]`)

// voice matches what a person says in a voice message.
var voice = lazy.Pattern(`(?s)\[voice message, [^\[\]\n]*\]\n(.*?)\n\[end of file\]`)

// readTurn returns the latest message of a person and the tool results after it. The turn context is for models that can
// read it.
func readTurn(messages []Message) (line lastLine, results []Message) {
	last := len(messages) - 1
	for last >= 0 && (messages[last].Role != RoleUser || strings.HasPrefix(messages[last].Text, "<now>\n")) {
		last--
	}
	if last < 0 {
		return lastLine{}, nil
	}
	for _, m := range messages[last+1:] {
		if m.Role == RoleTool {
			results = append(results, m)
		}
	}
	var asked time.Time
	text := messages[last].Text
	// The turn context after the message is for models that can read it.
	if at := strings.LastIndex(text, "\n<now>\n"); at >= 0 && strings.HasSuffix(strings.TrimSpace(text), "\n</now>") {
		text = text[:at]
	}
	if heads := header().FindAllStringSubmatchIndex(text, -1); len(heads) > 0 {
		h := heads[len(heads)-1]
		line.seq = text[h[2]:h[3]]
		asked, _ = time.Parse(clock, text[h[4]:h[5]]) // without a time zone, like the times of results
		text = text[h[1]:]
	}
	text = voice().ReplaceAllString(text, "$1")
	line.text = strings.TrimSpace(attached().ReplaceAllString(text, ""))
	line.content = words.Content(line.text)
	if !asked.IsZero() {
		line.times = words.Dates(line.text, asked)
	}
	return line, results
}

// greets matches a text that is only a greeting, perhaps with a name.
var greets = lazy.Pattern(`(?i)^\W*(?:hey|hi|hello|hallo|hola|salut|bonjour|привет|你好|こんにちは|안녕하세요|` +
	`good (?:morning|afternoon|evening)|(?:hey|hi|hello)? ?there)(?:[ ,]+@?[\pL\pN]+)?[^\pL\pN]*$`)

// shorten returns at most n characters of text on one line.
func shorten(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	cut := string([]rune(text)[:n-1])
	if at := strings.LastIndexByte(cut, ' '); at > len(cut)*3/4 {
		cut = cut[:at]
	}
	return cut + "…"
}

const (
	howToSet  = "No language model is set, so I can only search and quote this conversation. To get real answers, set OPENAI_API_KEY or ANTHROPIC_API_KEY, or base_url in config.toml for a model of your own."
	stillNone = "(No language model is set: I only quote.)"
	itsFinds  = "This is what I found:"
)

// IsOffline reports whether text is an answer of the offline model, or, because recall clips, begins like one.
func IsOffline(text string) bool {
	return strings.Contains(text, howToSet) || strings.Contains(text, stillNone) || strings.HasPrefix(text, itsFinds) || isKept().MatchString(text)
}

func reply(last lastLine, results []Message, hinted bool) string {
	found, failed := readResults(results)
	quotes := related(last, found)
	question := words.IsQuestion(last.text)
	var text string
	switch {
	case greets().MatchString(last.text):
		text = "Hello! Everything said here is saved; ask me about any of it."
	case !question && last.seq == "":
		text = "Saved."
	case !question:
		text = fmt.Sprintf("Saved as message #%s.", last.seq)
	case len(quotes) > 0:
		text = itsFinds + "\n" + quote(quotes)
	case failed != "":
		text = "I could not look it up: " + failed
	default:
		text = "I found nothing about that in this conversation."
	}
	switch {
	case !hinted || question && len(quotes) == 0:
		text += "\n\n" + howToSet
	case question:
		text += "\n\n" + stillNone
	}
	return text
}

// isKept matches the beginning of an answer to a statement, in its current form and in those of older databases.
var isKept = lazy.Pattern(`^(?:It is kept|Saved)(?:,? as message #\d+)?\.(?:$| It goes with this:)`)
