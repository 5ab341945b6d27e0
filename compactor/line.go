package compactor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
)

// line is a message in the form that the view shows. The message is never changed: other views share
// it.
type line struct {
	*chat.Message
	text     string     // the shown text, speaker and time included
	tokens   int        // of the shown message
	pictures int        // how many of its pictures may be shown, the first ones
	calls    []llm.Call // the shown calls
	result   *result    // of a tool's result: the forms in which it may be shown
	short    *Shortened // of a message that is too long: how much of it is shown
}

// shortQuote is how many characters of a quote are shown where a message is too long: a whole one may
// take more than a small window leaves for the message.
const shortQuote = 100

// Shortened describes how much the model sees of a message that is too long.
type Shortened struct {
	chat.Message
	First, Last, All int // characters
}

// lineOf returns m in at most clipTo tokens: of a larger message it drops pictures, then shrinks
// the arguments of calls, then clips the text in the middle. Message keeps all of it.
func lineOf(m chat.Message, sh shape) line {
	if m.Tokens == 0 {
		m.Tokens = chat.TokensOf(m)
	}
	kept := new(m)
	m.Calls = chat.BrokenCalls(m.Calls)
	head := chat.Header(m)
	text := chat.Escape(m.Body())
	shown := head + text
	if text == m.Text {
		kept.Text = shown[len(head):] // one copy in memory
	}
	l := line{Message: kept, text: shown, tokens: m.Tokens, pictures: len(m.Pictures()), calls: m.Calls}
	if m.Tokens > sh.clipTo {
		if len(m.Calls) > 0 {
			l.calls = shrinkCalls(m.Calls, sh.clipTo/2)
			m.Calls = l.calls // for its cost; the message itself keeps its own
		}
		words := chat.ShownTokens(m, l.text)
		l.pictures = min(l.pictures, max(sh.clipTo-words, 0)/chat.PictureTokens)
		if words > sh.clipTo {
			m.Quote = chat.Excerpt(m.Quote, shortQuote)
			head = chat.Header(m)
			rest := chat.ShownTokens(m, head)
			// Escape again: clipping may start a line where none started.
			first, mark, last := tokens.Parts(text, max(sh.clipTo-rest-tokens.PerMessage, 0))
			l.text = head + chat.Escape(first+mark+last)
			if first != text {
				l.short = &Shortened{*kept, utf8.RuneCountInString(first), utf8.RuneCountInString(last), utf8.RuneCountInString(text)}
			}
			words = chat.ShownTokens(m, l.text)
		}
		l.tokens = words + l.pictures*chat.PictureTokens
	}
	l.tokens += costOfReasoning(m)
	if m.Role == llm.RoleTool {
		l.result = resultOf(m, form{l.text, l.tokens, l.pictures}, sh)
	}
	return l
}

// The arguments of a call can be as long as an answer, and a turn has many steps. So where a
// message is clipped, its calls are too.

// minArguments is the smallest size that a call's arguments are shrunk to, in tokens.
const minArguments = 16

// shrinkCalls returns calls of at most most tokens together, unless minArguments for each exceeds
// that: arguments that take more than their share are shrunk.
func shrinkCalls(calls []llm.Call, most int) []llm.Call {
	if chat.CallTokens(calls...) <= most {
		return calls
	}
	shrunk := make([]llm.Call, len(calls))
	for i, call := range calls {
		shrunk[i] = call
		rest := chat.CallTokens(llm.Call{ID: call.ID, Name: call.Name})
		shrunk[i].Arguments = shrinkArguments(call.Arguments, max(most/len(calls)-rest, minArguments))
	}
	return shrunk
}

// shrinkArguments returns a JSON object of at most most tokens: the arguments unchanged, or their
// beginning and end.
func shrinkArguments(arguments string, most int) string {
	if tokens.Fits(arguments, most) {
		return arguments
	}
	for room := most; room >= minArguments/2; room -= max(room/8, 1) {
		shrunk, err := json.Marshal(map[string]string{"clipped": tokens.Clip(arguments, room)})
		if err == nil && tokens.Fits(string(shrunk), most) { // quotes inside cost more once they are escaped
			return string(shrunk)
		}
	}
	return "{}"
}

// Pictures in the view: their cost, and which ones a request shows.

const (
	// maxPictures is the number of pictures in a request. Mistral accepts 8, Scaleway 12, Claude
	// 100, but smaller ones above 20.
	maxPictures = 8

	// maxPictureBytes is their total size; base64 makes a request larger by a third. Claude accepts
	// requests of 32 MB.
	maxPictureBytes = 20_000_000
)

// shownPictures returns the newest pictures of lines, by the seq of their message; older ones are
// represented by text alone. If there are too many, the older half is dropped at once: each dropped
// picture changes an old message and invalidates the provider's cache from there on, so this
// happens once in several pictures. Which ones are dropped follows from the lines alone, so it
// stays the same until the head changes.
func shownPictures(lines []line) map[int64][]llm.Image {
	type picture struct {
		of *chat.Message
		chat.Attachment
	}
	var shown []picture
	bytes := int64(0)
	for _, l := range lines {
		if l.pictures == 0 {
			continue
		}
		for _, a := range l.Message.Pictures()[:l.pictures] {
			shown = append(shown, picture{l.Message, a})
			bytes += a.Size
			if len(shown) <= maxPictures && bytes <= maxPictureBytes {
				continue
			}
			for len(shown) > maxPictures/2 || bytes > maxPictureBytes/2 {
				bytes -= shown[0].Size
				shown = shown[1:]
			}
		}
	}
	bySeq := make(map[int64][]llm.Image, len(shown))
	for _, p := range shown {
		bySeq[p.of.Seq] = append(bySeq[p.of.Seq], llm.Image{File: p.File, Type: p.Type, Label: p.of.Label(p.Attachment)})
	}
	return bySeq
}

// Old tool results are cleared from the view in batches. Which ones follows from one stored number,
// clearedTo: of the results up to it the newest stay, the others become a placeholder. So nothing
// changes while that number stays the same.

// result is a tool's result in the forms that the view may show. They are built once, so that
// choosing among them costs nothing.
type result struct {
	whole form // complete, clipped if it is huge
	brief form // its first and last lines
	gone  form // the placeholder
}

type form struct {
	text     string
	tokens   int
	pictures int // how many are shown; none of a form that saves tokens
}

// resultOf builds the forms of m's result. A form that would not be smaller than the one before
// equals it.
func resultOf(m chat.Message, whole form, sh shape) *result {
	r := &result{whole: whole, brief: whole}
	smaller := func(than form, text string) form {
		if tokens := chat.ShownTokens(m, text); tokens < than.tokens {
			return form{text, tokens, 0}
		}
		return than
	}
	r.brief = smaller(whole, shorten(whole.text, sh.maxLines))
	r.gone = r.brief
	if len(whole.text) >= sh.minChars && !slices.Contains(chat.MemoryTools, m.Tool) {
		r.gone = smaller(r.brief, placeholder(m.Tool, m.Seq, whole.text))
	}
	return r
}

// clearResults sets the form of each tool result: those after clearedTo and the newest one up to it
// are whole, the next kept-1 are shortened, the others are cleared. It returns the change in
// tokens.
func clearResults(lines []line, clearedTo int64, kept int) (grown int) {
	n := 0
	for i := len(lines) - 1; i >= 0; i-- {
		l := &lines[i]
		if l.result == nil {
			continue
		}
		shown := l.result.whole
		if l.Seq <= clearedTo {
			switch {
			case n == 0:
			case n < kept:
				shown = l.result.brief
			default:
				shown = l.result.gone
			}
			n++
		}
		grown += shown.tokens - l.tokens
		l.text = shown.text
		l.tokens = shown.tokens
		l.pictures = shown.pictures
	}
	return grown
}

// placeholder returns the text that replaces a cleared result. It contains the number, so that
// expand can show the result. A failure keeps its first line: the model should not try the same
// again.
func placeholder(tool string, seq int64, text string) string {
	mark := fmt.Sprintf("[Previous: used %s (#%d)]", chat.CleanLine(tool, 64), seq)
	if first, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "Error: ") {
		return mark + " " + tokens.Clip(first, 60)
	}
	return mark
}

// shorten keeps the first and last lines of a long output, most lines in all.
func shorten(text string, most int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= most {
		return text
	}
	head := (most + 1) / 2
	tail := most - head
	short := slices.Concat(lines[:head], []string{fmt.Sprintf("[… %d lines left out …]", len(lines)-most)}, lines[len(lines)-tail:])
	return strings.Join(short, "\n")
}

// lastResult returns the seq of the newest tool result of lines, at most upTo; 0 if there is none.
func lastResult(lines []line, upTo int64) int64 {
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i].Role == llm.RoleTool && lines[i].Seq <= upTo {
			return lines[i].Seq
		}
	}
	return 0
}
