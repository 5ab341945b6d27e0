package summarize

import (
	"regexp"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/internal/words"
	"cairn/transcript"
)

// partEnd separates the sentences that the extractive summarizer puts into one line.
var partEnd = regexp.MustCompile(`; |[.!?] `)

// mostOfPart is the share of a sentence's words that its message has: the summarizer leaves out words and writes out dates.
const mostOfPart = 0.7

// WithQuoted returns the lines of an extract, of which those without evidence get the messages that they quote: the
// extractive summarizer writes nothing else, but may join short sentences that alone are no evidence.
func WithQuoted(text string, lines []transcript.Line, messages []chat.Message) []transcript.Line {
	var said []map[string]bool // the words of each message
	speakers := map[string]bool{}
	at := strings.Split(text, "\n")
	for i, l := range lines {
		if l.HasEvidence() || l.At >= len(at) {
			continue
		}
		if said == nil {
			said = make([]map[string]bool, len(messages))
			for k, m := range messages {
				speakers[speakerOf(m)] = true
				said[k] = vocabularyIn(m.Text + "\n" + m.Quote)
			}
		}
		speaker, line, _ := strings.Cut(strings.TrimSpace(at[l.At]), ": ")
		hasSpeaker := speakers[speaker]
		if !hasSpeaker {
			line = at[l.At]
		}
		parts := wordsOfParts(line)
		for k, m := range messages {
			if m.Seq == 0 || hasSpeaker && speakerOf(m) != speaker || !quotes(parts, said[k]) {
				continue
			}
			if lines[i].Seqs = append(lines[i].Seqs, m.Seq); len(lines[i].Seqs) == mostQuoted {
				break
			}
		}
	}
	return lines
}

// mostQuoted is how many messages a line of an extract may rest on: any number of messages may say "ok".
const mostQuoted = 100

func wordsOfParts(line string) (parts [][]words.Word) {
	for _, part := range partEnd.Split(line, -1) {
		parts = append(parts, words.Cut(part))
	}
	return parts
}

// quotes reports whether one of the parts of a line consists of these words.
func quotes(parts [][]words.Word, said map[string]bool) bool {
	for _, all := range parts {
		found := 0
		for _, w := range all {
			if said[w.Folded] {
				found++
			}
		}
		if len(all) > 0 && float64(found) >= mostOfPart*float64(len(all)) {
			return true
		}
	}
	return false
}

func vocabularyIn(text string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range words.Cut(text) {
		set[w.Folded] = true
	}
	return set
}

// WithFolded returns the lines of a fold, of which those without evidence get the messages that the same lines of its rows rest on:
// the text of a row that a model wrote may cite none.
func WithFolded(text string, lines []transcript.Line, rows []transcript.Summary) []transcript.Line {
	rests := map[string][]int64{}
	for _, row := range rows {
		at := strings.Split(row.Text, "\n")
		for _, l := range row.Lines {
			if l.At < len(at) {
				said := statement(at[l.At])
				rests[said] = append(rests[said], l.Seqs...)
			}
		}
	}
	at := strings.Split(text, "\n")
	for i, l := range lines {
		if l.HasEvidence() || l.At >= len(at) {
			continue
		}
		seqs := slices.Sorted(slices.Values(rests[statement(at[l.At])]))
		lines[i].Seqs = slices.Compact(seqs)
	}
	return lines
}
