package words

import (
	"strings"
	"unicode/utf8"

	"cairn/internal/lazy"
)

// IsQuestion reports whether text is a question: it has a question mark of any script, or starts
// like an English question or request for information.
func IsQuestion(text string) bool {
	return strings.ContainsAny(text, "?？؟՞") || greekMark().MatchString(text) || asking().MatchString(text)
}

// EndsInQuestion reports whether text ends in a question mark of any script.
func EndsInQuestion(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, ".!…\"'”’)」』 \n"))
	return strings.ContainsRune("?？؟՞", last)
}

// greekMark matches the Greek question mark, which looks like a semicolon.
var greekMark = lazy.Pattern(`\p{Greek}[;\x{37e}]`)

// asking matches a question, or a request for information, without a question mark.
var asking = lazy.Pattern(`(?i)^(?:\W*(?:hey|hi|hello|so|and|ok|please|@\S+)\W+)*(?:` + strings.Join([]string{
	`(?:who|whom|whose|what|when|where|why|which|how)(?:'s|’s| (?:did|does|do|is|are|was|were|has|have|had|can|could|will|would|should))\b`,
	`(?:what|which|whose) \S+ (?:did|does|do|is|are|was|were|has|have|had|will)\b`,
	`how (?:many|much|long|often|old|far)\b`,
	`(?:did|does|is|are|was|were)\b`,
	`(?:do|has|have|had|can|could|will|would|should) (?:i|you|we|they|he|she|it|my|our|your|the|any\w*|some\w*)\b`,
	`(?:tell me|find|search|show|list)\b`,
	`remind me (?:of|what|when|who|where|how|why|which)\b`,
}, "|") + `)`)
