// Writes responses: the events of each wire are data.

package llmtest

import (
	"fmt"
	"strings"

	"cairn/llm"
)

// events are the events of one wire, by what they tell. Each line is one: its name, "-" for none, and
// the fields of its JSON object, with placeholders.
type events struct {
	begin, open, piece, close string // of a response, and of a text
	think                     string // a complete piece of reasoning
	call                      string // a tool call, its arguments in two pieces
	finish, usage, done, fail string // usage: if the request asks for it

	common string                       // fields of every named event
	reason func(reason string) []string // placeholders for a finish reason in llm's terms
}

// writer writes one response.
type writer struct {
	events events
	x      *Exchange
	n      int             // events so far
	index  int             // texts, thoughts and calls so far
	text   strings.Builder // of the open text
	opened bool            // a text is open
	ended  string          // finish reason
}

// emit writes events with these placeholders, of which the values are JSON, and the common ones.
func (w *writer) emit(lines string, pairs ...string) {
	pairs = append(pairs, "{N}", fmt.Sprint(w.x.N), "{index}", fmt.Sprint(w.index), "{item}", fmt.Sprintf("%d_%d", w.x.N, w.index),
		"{model}", encode(w.x.Request.Model), "{whole}", encode(w.text.String()))
	if strings.Contains(lines, "{output}") || strings.Contains(lines, "{written}") {
		u := w.x.Usage()
		for name, n := range map[string]int{
			"{prompt}": u.Prompt, "{cached}": u.Cached, "{written}": u.Written, "{output}": u.Completion,
			"{uncached}": u.Prompt - u.Cached - u.Written, "{total}": u.Prompt + u.Completion,
		} {
			pairs = append(pairs, name, fmt.Sprint(n))
		}
	}
	for line := range strings.Lines(lines) {
		name, fields, _ := strings.Cut(strings.NewReplacer(append(pairs, "{n}", fmt.Sprint(w.n))...).Replace(strings.TrimSpace(line)), " ")
		w.n++
		switch name {
		case "-":
			w.x.Chunk("{%s}", fields)
			continue
		case "[DONE]":
			w.x.Chunk("%s", name)
			continue
		}
		head := strings.ReplaceAll(`"type":"`+name+`"`+w.events.common, "{n}", fmt.Sprint(w.n-1))
		if fields != "" {
			head += ","
		}
		w.x.Event(name, "{%s%s}", head, fields)
	}
}

func halves(text string) (first, second string) {
	runes := []rune(text)
	return string(runes[:len(runes)/2]), string(runes[len(runes)/2:])
}

func (w *writer) piece(text string) {
	if !w.opened {
		w.opened = true
		w.emit(w.events.open)
	}
	w.text.WriteString(text)
	w.emit(w.events.piece, "{text}", encode(text))
}

// close ends an open text.
func (w *writer) close() {
	if w.opened {
		w.emit(w.events.close)
		w.opened = false
		w.text.Reset()
		w.index++
	}
}

func (w *writer) think(text string) {
	w.close()
	first, second := halves(text)
	w.emit(w.events.think, "{text}", encode(text), "{first}", encode(first), "{second}", encode(second),
		"{signature}", encode(signature(text)), "{encrypted}", encode("encrypted: "+text))
	w.index++
}

func (w *writer) calls(calls ...llm.Call) {
	w.close()
	for i, call := range calls {
		first, second := halves(call.Arguments)
		w.emit(w.events.call, "{i}", fmt.Sprint(i), "{id}", encode(call.ID), "{name}", encode(call.Name),
			"{arguments}", encode(call.Arguments), "{first}", encode(first), "{second}", encode(second))
		w.index++
	}
}

func (w *writer) finish(reason string) {
	w.close()
	w.ended = reason
	w.emit(w.events.finish, w.events.reason(reason)...)
	if w.x.Request.usage {
		w.emit(w.events.usage)
	}
}

func (w *writer) done() { w.emit(w.events.done, w.events.reason(w.ended)...) }
