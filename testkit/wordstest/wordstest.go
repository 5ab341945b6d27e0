// Package wordstest contains hostile input for the tests of every package: Unicode tricks, and
// forgeries of what only the bot may write.
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
func Tricks() []Trick { return read(tricks) }

// Forgeries are texts that imitate another person's messages, the bot's own summaries and
// marks, tool results, or instructions.
func Forgeries() []Trick { return read(forgeries) }

// Texts are the texts of both corpora.
func Texts() (texts []string) {
	for _, t := range append(Tricks(), Forgeries()...) {
		texts = append(texts, t.Text)
	}
	return texts
}

// read parses a corpus: each line has a name, a repeat count, the text as a Go string, and the
// reason, separated by tabs. It panics on an invalid line: the corpus is part of the package.
func read(corpus string) (all []Trick) {
	for line := range strings.Lines(corpus) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, "\t")
		times, err := strconv.Atoi(parts[1])
		text, wrong := strconv.Unquote(parts[2])
		if err != nil || wrong != nil {
			panic(fmt.Sprintf("%s: want name, how often, text, why", line))
		}
		all = append(all, Trick{Name: parts[0], Text: strings.Repeat(text, times), Why: parts[3]})
	}
	return all
}
