// Package wordstest has what people send to break a chat bot, for the tests of every
// room: tricks of Unicode, and forgeries of what only the bot may say.
package wordstest

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// Trick is one text of a corpus.
type Trick struct {
	Name string // of the trick, one word or a few joined by hyphens
	Text string // it need not be valid UTF-8
	Why  string // what it has broken elsewhere
}

//go:embed testdata/tricks.txt
var tricks string

//go:embed testdata/forgeries.txt
var forgeries string

// Tricks are texts that are hard to store, search, count, cut or show.
func Tricks() []Trick { return read("tricks.txt", tricks) }

// Forgeries are texts that pass themselves off as somebody else's words, as the bot's
// own summaries and marks, as results of tools, or as orders.
func Forgeries() []Trick { return read("forgeries.txt", forgeries) }

// Texts are the texts of both corpora.
func Texts() (texts []string) {
	for _, t := range append(Tricks(), Forgeries()...) {
		texts = append(texts, t.Text)
	}
	return texts
}

// read takes a corpus apart: a line each has name, how often, the text as a Go string,
// and why, between tabs. It panics on a line that is none: the corpus is ours.
func read(file, corpus string) (all []Trick) {
	n := 0
	for line := range strings.Lines(corpus) {
		n++
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, "\t")
		if len(parts) != 4 {
			panic(fmt.Sprintf("%s:%d: %d parts, want name, how often, text, why", file, n, len(parts)))
		}
		times, err := strconv.Atoi(parts[1])
		if err != nil {
			panic(fmt.Sprintf("%s:%d: %v", file, n, err))
		}
		text, err := strconv.Unquote(parts[2])
		if err != nil {
			panic(fmt.Sprintf("%s:%d: %s: %v", file, n, parts[2], err))
		}
		all = append(all, Trick{Name: parts[0], Text: strings.Repeat(text, times), Why: parts[3]})
	}
	return all
}
