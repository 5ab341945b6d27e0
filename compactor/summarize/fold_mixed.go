// A fold of both kinds: lines of summaries that a model wrote, and sentences of messages.

package summarize

import (
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/internal/lazy"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/transcript"
)

// apart returns the messages, and the texts of summaries among them. Sentences that a text quotes
// come back as messages of their speakers.
func apart(messages []chat.Message) (all []chat.Message, texts []string) {
	if !slices.ContainsFunc(messages, func(m chat.Message) bool { return m.Seq == 0 && m.Role == llm.RoleAssistant }) {
		return messages, nil
	}
	for _, m := range messages {
		if m.Seq != 0 || m.Role != llm.RoleAssistant {
			all = append(all, m)
			continue
		}
		above, quotes, _ := strings.Cut("\n"+m.Text, "\n"+Quoted+"\n")
		if quotes == "" && !HasHeadings(above) && dayLine().MatchString(above) {
			above, quotes = "", above
		}
		above = strings.TrimSpace(above)
		if above != "" {
			texts = append(texts, inSentences(above))
		}
		all = append(all, quotedIn(quotes, m.Time)...)
	}
	return all, texts
}

// dayLine matches a line that names the day of the sentences below it, see inOrder.
var dayLine = lazy.Pattern(`(?m)^(\d{1,2} [A-Z][a-z]+)( \d{4})?:$`)

// quotedIn returns the sentences that a text quotes, see inOrder, as one message of each speaker and
// day, without the numbers of their messages: a copy may be in another conversation. first is the time of the first of them.
func quotedIn(text string, first time.Time) (all []chat.Message) {
	day := first
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(transcript.Citations.ReplaceAllString(line, ""))
		if m := dayLine().FindStringSubmatch(line); m != nil {
			year := m[2]
			if year == "" {
				year = day.Format(" 2006")
			}
			if at, err := time.ParseInLocation(chat.DateFormat, m[1]+year, first.Location()); err == nil {
				day = at
			}
			continue
		}
		name, words, found := strings.Cut(line, ": ")
		if !found {
			name = ""
			words = line
		}
		if words == "" || words == transcript.Shortened {
			continue
		}
		if name == assistantName {
			name = ""
		}
		all = append(all, chat.Message{Role: llm.RoleAssistant, Author: name, Text: words, Time: day})
	}
	return all
}

// inSentences puts each sentence of a long line on a line of its own, so that none has to go as a
// unchanged.
func inSentences(text string) string {
	if HasHeadings(text) {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if tokens.Estimate(line) > maxSentence {
			lines[i] = strings.Join(words.Sentences(line), "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// foldedLines are the lines of summaries in a fold.
type foldedLines struct{ kept []*entry }

const (
	// denser is how much less a token of a message says than one of a summary.
	denser = 4

	// leastLines is the least portion of a fold that lines may take: a third.
	leastLines = 3
)

// newLines returns the lines of texts that are kept beside sentences in target tokens.
func newLines(texts []string, sentences []*sentence, target int, focus string) foldedLines {
	if len(texts) == 0 {
		return foldedLines{}
	}
	ofLines := 0
	ofSentences := 0
	for _, text := range texts {
		ofLines += tokens.Estimate(text)
	}
	for _, s := range sentences {
		ofSentences += s.tokens + s.label
	}
	room := target
	if ofSentences > 0 {
		room = max(target*ofLines/(ofLines+ofSentences/denser), target/leastLines, target-ofSentences*2)
	}
	kept := foldLines(texts, room, words.Set(strings.Join(words.Content(focus), " ")))
	if entries := entriesOf(texts); len(kept) == 0 && len(entries) > 0 {
		rank(entries, nil)
		best := slices.MaxFunc(entries, func(a, b *entry) int { return a.value - b.value })
		best.text = tokens.Clip(best.text, target)
		best.under = unheaded
		kept = []*entry{best}
	}
	return foldedLines{kept}
}

// tokens returns how many tokens the lines take of a summary that has sentences, too.
func (l foldedLines) tokens() int {
	if len(l.kept) == 0 {
		return 0
	}
	return tokens.Estimate(written(l.kept)+"\n"+Quoted+"\n") + 1
}

// above returns the lines above the chosen sentences.
func (l foldedLines) above(sentences string, target int) string {
	switch {
	case len(l.kept) == 0:
		return sentences
	case sentences == "":
		return written(l.kept)
	}
	text := written(append(slices.Clone(l.kept), &entry{text: sentences, under: inQuotes}))
	if tokens.Estimate(text) > target {
		return written(l.kept)
	}
	return text
}
