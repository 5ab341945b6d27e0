// Thoughts without marks that use so many words of the span that they look like its summary: "Ines bought a boat. I should
// mention the regatta, too. Let me keep it short."

package judge

import (
	"strings"
	"unicode"

	"cairn/compactor/summarize"
	"cairn/internal/words"
	"cairn/transcript"
)

// plans reports whether a text tells what its writer is about to do. A list says what the span says, and so does a line
// with a citation, or with words of somebody there about himself.
func (j *Judge) plans(text string) bool {
	sentences := j.uncitedSentences(text)
	if len(sentences) == 0 {
		return false
	}
	if first := sentences[0]; j.intends(first) && task().MatchString(first) {
		word := []rune(task().FindString(first))
		if !j.span.says(string(word[:min(len(word), shortKey)])) { // nobody has requested such a thing
			return true
		}
	}
	if j.span.foreign(text) { // then a sentence without a word of the span may be about it all the same
		return false
	}
	about := 0
	empty := 0
	for _, sentence := range sentences {
		share, found := j.span.share(sentence)
		says := found > 0 || share > 0 || j.span.namesSpeaker(sentence) || strings.ContainsFunc(sentence, unicode.IsDigit)
		switch {
		case j.intends(sentence) && !says:
			return true
		case j.intends(sentence):
			about++
		case !says && !offering().MatchString(sentence):
			empty++
		}
	}
	_, found := j.span.share(sentences[0])
	framed := len(sentences) > 2 && task().MatchString(sentences[0]) && found == 0 && !j.span.namesSpeaker(sentences[0]) && empty > 1
	return about > 1 || framed && !summarize.HasHeadings(text)
}

// uncitedSentences returns the sentences of a text outside of lists, headings and code, without those that cite messages.
func (j *Judge) uncitedSentences(text string) (all []string) {
	code := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case summarize.Fence().MatchString(line):
			code = !code
		case code, summarize.Bullet().MatchString(line), strings.HasPrefix(line, "#"), j.span.startsWithSpeaker(line):
		default:
			for _, sentence := range words.Sentences(line) {
				if !transcript.Citations.MatchString(sentence) {
					all = append(all, sentence)
				}
			}
		}
	}
	return all
}

// intends reports whether a sentence says what its writer is about to do, and nobody in the span says so.
func (j *Judge) intends(sentence string) bool {
	at := thinking().FindStringIndex(sentence)
	if at == nil || offering().MatchString(sentence) {
		return false
	}
	before := sentence[:at[0]]
	if strings.Count(before, `"`)%2 == 1 || strings.ContainsAny(before, "“«„「") {
		return false
	}
	const after = 2 // words behind what matches
	phrase := sentence[at[0]:at[1]]
	rest := strings.Fields(sentence[at[1]:])
	phrase += strings.Join(append([]string{""}, rest[:min(after, len(rest))]...), " ")
	return !j.span.says(strings.TrimRight(phrase, ".,;:!?"))
}
