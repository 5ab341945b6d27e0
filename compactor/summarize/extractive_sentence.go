// The sentences of a span from which the extractive summarizer chooses, each with its weight.

package summarize

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/chat"
	"cairn/internal/lazy"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
)

// sentence is one sentence of a message, or the description of an attachment.
type sentence struct {
	message int    // index of its message
	place   int    // its own index among all sentences
	speaker string // as shown before a colon
	day     string // "8 May 2023"; empty if the message has no time
	text    string // as shown below its day, as short as possible
	terms   []string
	tokens  int     // of text, space included
	label   int     // tokens of the speaker's name before it
	weight  float64 // factor in addition to its terms; 1: ordinary
	timed   bool    // it mentions a time
	score   float64 // see chooser
	taken   bool    // chosen
}

// maxSentence is the maximum length of one sentence in a summary, in tokens: longer ones are
// clipped, or a pasted page would fill the summary.
const maxSentence = 80

// sentencesOf splits the messages of people and assistant into sentences. Tool results are left
// out: the assistant's answer contains what matters of them.
func sentencesOf(messages []chat.Message, focus string) []*sentence {
	names := namesOf(messages)
	wanted := words.Set(strings.Join(words.Content(focus), " "))
	var all []*sentence
	for i, m := range messages {
		if m.Role == llm.RoleTool || m.Role == llm.RoleSystem {
			continue
		}
		s := sentence{message: i, speaker: speakerOf(m)}
		s.label = tokens.Estimate("\n" + s.speaker + ": ")
		if !m.Time.IsZero() {
			s.day = m.Time.Format(chat.DateFormat)
		}
		offline := m.Role == llm.RoleAssistant && llm.IsOffline(m.Text)
		for _, text := range words.Sentences(withoutFences(m.Said())) {
			text = trimTalk(oneLine(tokens.Clip(text, maxSentence)), names)
			one := s.worded(tighten(text))
			one.judge(names)
			if offline {
				one.weight = 0 // only if there is nothing else
			}
			all = one.appendTo(all, m.Time, wanted)
		}
		for _, a := range m.Attachments {
			text := oneLine(tokens.Clip(a.Words(), maxSentence))
			one := s.worded(text)
			one.weight = attachmentWeight
			all = one.appendTo(all, m.Time, wanted)
		}
	}
	return all
}

// worded returns a sentence of the same message with a text.
func (s sentence) worded(text string) *sentence {
	s.text = text
	s.terms = distinct(words.Content(text))
	return &s
}

// appendTo adds a weighed sentence to others, unless it is empty. written is when its message was, and wanted are terms that make it
// worth more.
func (s *sentence) appendTo(all []*sentence, written time.Time, wanted map[string]bool) []*sentence {
	if s.text == "" {
		return all
	}
	s.place = len(all)
	for _, term := range s.terms {
		if wanted[term] {
			s.weight += focusWeight
		}
	}
	if s.timed {
		s.text = withDates(s.text, written, true)
	}
	s.tokens = tokens.Estimate(s.text)
	return append(all, s)
}

// speech identifies all sentences of one speaker on one day.
type speech struct{ day, speaker string }

func (s *sentence) speech() speech { return speech{s.day, s.speaker} }

// assistantName is how a summary names the assistant where a message has no name.
const assistantName = "assistant"

func speakerOf(m chat.Message) string {
	if m.Author == "" && m.Role == llm.RoleAssistant {
		return assistantName
	}
	if name := strings.TrimSpace(strings.ReplaceAll(m.Name(), ":", "")); name != "" {
		return name
	}
	return "someone"
}

// namesOf returns the first names of the speakers and their short forms, of three letters and more,
// in lower case.
func namesOf(messages []chat.Message) map[string]bool {
	names := map[string]bool{}
	for _, m := range messages {
		name, _, _ := strings.Cut(strings.ToLower(chat.CleanName(m.Author)), " ")
		if names[name] {
			continue
		}
		letters := 0
		for i := range name {
			letters++
			if letters > 3 {
				names[name[:i]] = true
			}
		}
		names[name] = true
	}
	return names
}

// oneLine returns text in a form that cannot forge a line: without line ends and control
// characters, and with the marks that only Cairn writes escaped.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r == unicode.ReplacementChar, r != '\u200d' && unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	for _, mark := range chat.Reserved {
		text = strings.ReplaceAll(text, mark, "\\"+mark)
	}
	return text
}

// withoutFences removes code blocks from a text: a single line of code is meaningless, and the
// message keeps all of it. A text that is only code stays.
func withoutFences(text string) string {
	if !strings.Contains(text, "```") {
		return text
	}
	parts := strings.Split(text, "```")
	var prose strings.Builder
	for i := 0; i < len(parts); i += 2 {
		prose.WriteString(parts[i])
		prose.WriteByte('\n')
	}
	if strings.TrimSpace(prose.String()) == "" {
		return strings.ReplaceAll(text, "```", "\n")
	}
	return prose.String()
}

// opening matches an interjection or a form of address at the start of a sentence.
var opening = lazy.Pattern(`^([\pL']+)(?: ([\pL']+))?[,.!…–—-]+\s*`)

// trimTalk removes interjections: "Wow, Mel! I went home." becomes "I went home." A sentence of
// nothing else stays.
func trimTalk(text string, names map[string]bool) string {
	rest := text
	for {
		m := opening().FindStringSubmatch(rest)
		if m == nil || !idleWord(m[1], names) || m[2] != "" && !idleWord(m[2], names) || len(m[0]) == len(rest) {
			break
		}
		rest = rest[len(m[0]):]
	}
	if r, n := utf8.DecodeRuneInString(rest); len(rest) < len(text) && unicode.IsLower(r) {
		rest = string(unicode.ToUpper(r)) + rest[n:]
	}
	return rest
}

func idleWord(word string, names map[string]bool) bool {
	return interjections[strings.ToLower(word)] || names[strings.ToLower(word)]
}

func distinct(terms []string) []string {
	seen := make(map[string]bool, len(terms))
	kept := terms[:0]
	for _, term := range terms {
		if !seen[term] {
			seen[term] = true
			kept = append(kept, term)
		}
	}
	return kept
}
