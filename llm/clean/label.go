// The name of its role, or its own name, with which a model begins an answer: "Assistant: Hello", "**Cairn:** Hello".

package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/lazy"
)

// roleNames are the names of a model's role in transcripts.
var roleNames = []string{
	"AI Assistant", "Assistant", "AI", "Bot",
	"Assistent", "Assistente", "Asistente", "Ассистент", "アシスタント", "助手", "助理", "어시스턴트",
}

// labelEnd matches what follows the name in a label.
var labelEnd = lazy.Pattern(`^(?:` + badge + `)?[ \x{a0}\x{202f}]?(?:[*_\])]{0,3}：[*_]{0,3}\s*|(?:[*_\])]{0,3}:[*_]{0,3}|>:?)[ \t]*(?:[ \t]|\n\s*|$))`)

// badge says behind a name that it is a bot's: "Robin (AI): Hello".
const badge = `[*_]{0,2} ?[(\[](?i:ai|bot|app|assistant)[)\]]`

// badgePart matches the beginning of a label's end with a badge.
var badgePart = lazy.Pattern(`^[*_]{0,2}[ \x{a0}\x{202f}]?(?:[(\[][A-Za-z]{0,9}(?:[)\]][ *_:]{0,5})?)?$`)

const (
	labelStart = "*_[(<# " // characters before the name in a label
	labelAfter = "*_])>:： \t\n"
	maxLabel   = 100 // bytes
)

// botLabel removes such a label. A word that is explained is no label: its explanation begins with a small letter, or people
// have written the word.
func (o *opening) botLabel(in *input) step {
	if in.textOnly {
		return step{verdict: nothing}
	}
	front := in.raw[:min(len(in.raw), maxLabel)]
	bare := strings.TrimLeft(front, labelStart)
	names := append([]string{in.name, "Cairn"}, roleNames...)
	switch before := front[:len(front)-len(bare)]; {
	case before == "###", before == "### ":
		names = []string{"Assistant", "Response"} // of Vicuna and Alpaca
	case len(before) > 3, strings.Contains(before, "#") && bare != "":
		return step{verdict: nothing}
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		size := min(len(name), len(bare))
		if !strings.EqualFold(bare[:size], name[:size]) {
			continue
		}
		rest := bare[size:]
		solid := strings.TrimLeft(rest, labelAfter)
		if (solid == "" || badgePart().MatchString(rest)) && len(front) < maxLabel && !in.final {
			return step{verdict: unknown}
		}
		end := labelEnd().FindString(rest)
		next, _ := utf8.DecodeRuneInString(rest[len(end):])
		if size < len(name) || end == "" || unicode.IsLower(next) || in.isExplained(name) {
			continue
		}
		o.traits.labelled = true
		return o.strip(in, len(front)-len(rest)+len(end))
	}
	return step{verdict: nothing}
}

var (
	// userLabel matches how the turn of a person begins behind an answer that began with a label.
	userLabel = lazy.Pattern(`^(?:[*_]{0,2})(?:User|Human)[*_]{0,2}[:：]`)

	// userHeading matches how it begins in the formats of Vicuna, Guanaco and Alpaca: github.com/lm-sys/FastChat
	// (fastchat/conversation.py), github.com/tatsu-lab/stanford_alpaca.
	userHeading = lazy.Pattern(`^### ?(?:Human|User|Instruction):`)
)

// nextLabel reports whether a line begins the turn of a person, which the model has invented.
func (b *body) nextLabel(in *input) (found, more bool) {
	const longest = 16
	front := in.raw[:min(len(in.raw), longest)]
	if b.text.last != '\n' || b.text.solid == ':' || front == "" || !strings.ContainsAny(front[:1], "#*_UH") {
		return false, false
	}
	if b.traits.labelled && userLabel().MatchString(front) {
		return true, false
	}
	if at := userHeading().FindString(front); at != "" {
		return b.text.solid != 0 && !b.text.hasHeadings() && !b.text.isAboutTemplates() && !in.isQuoted(at), false
	}
	bare := strings.TrimLeft(front, "#*_ ")
	names := bare == "" || agrees(bare, "User") || agrees(bare, "Human") || agrees(bare, "Instruction")
	return false, !in.final && len(front) < longest && names && !strings.ContainsAny(bare, "\n ")
}
