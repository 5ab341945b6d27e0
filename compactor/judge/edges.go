// What models write before and after a summary, and to its reader within it.

package judge

import (
	"slices"
	"strings"
	"unicode"

	"cairn/compactor/summarize"
	"cairn/internal/lazy"
	"cairn/internal/words"
	"cairn/llm/clean"
	"cairn/transcript"
)

const (
	hardlyShare = 0.2  // of a text that has a word of the span by coincidence
	maxClosing  = 0.4  // of a line apart from a list, whose numbers may be in the span by coincidence
	someShare   = 0.34 // of a text that says something about the span
	maxFrame    = 0.67 // of a line that announces the summary and names its subject
)

// frames reports whether what is before or after a wrapper says nothing about the span. Beside
// a summary with headings everything without a citation is a frame.
func (t *spanText) frames(text string, headed bool) bool {
	if transcript.Citations.MatchString(text) {
		return false
	}
	share, found := t.share(text)
	return headed || strings.TrimSpace(text) == "" || found == 0 || share < someShare || task().MatchString(text) && share < maxFrame
}

// withoutFrame cuts a text to its headings. Without headings it drops an announcement at its
// beginning. Both lose an offer at their end. One line always stays.
func (j *Judge) withoutFrame(text string) string {
	lines := strings.Split(j.withoutLabels(summarize.SplitHeadings(text)), "\n")
	first := slices.IndexFunc(summarize.HeadingsOf(lines), func(at int) bool { return at >= 0 })
	headed := first >= 0
	if headed {
		cited := slices.DeleteFunc(slices.Clone(lines[:first]), func(line string) bool { return !transcript.Citations.MatchString(line) })
		lines = slices.Concat(cited, lines[first:])
	}
	for !headed && len(lines) > 1 && (isRule(lines[0]) || j.span.announces(lines[0])) {
		lines = lines[1:]
	}
	if !headed {
		lines = j.withoutEmptyEdges(lines)
	}
	headings := summarize.HeadingsOf(lines)
	for len(lines) > 1 && headings[len(lines)-1] < 0 && (isRule(lines[len(lines)-1]) || j.span.closes(lines, headed)) {
		lines = lines[:len(lines)-1]
	}
	last := len(lines) - 1
	if !headed {
		lines[last] = j.withoutOffer(lines[last])
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// withoutEmptyEdges drops lines at both ends of a text without headings, as long as the rest cites messages, if nothing
// in them is of the span: "Understood! Below is the condensed record." A text in another language has few words of it.
func (j *Judge) withoutEmptyEdges(lines []string) []string {
	all := lines
	cited := func(rest []string) bool { return transcript.Citations.MatchString(strings.Join(rest, "\n")) }
	for j.span.isEmpty(lines[0]) && cited(lines[1:]) {
		lines = lines[1:]
	}
	for last := len(lines) - 1; j.span.isEmpty(lines[last]) && cited(lines[:last]); last-- {
		lines = lines[:last]
	}
	if j.span.foreign(strings.Join(lines, "\n")) {
		return all
	}
	return lines
}

// isEmpty reports whether a line is blank, the sentinel, or full sentences without a citation, a number, a name of who
// speaks and a word of the span.
func (t *spanText) isEmpty(line string) bool {
	line = strings.TrimRight(clean.WithoutNoReply(line, false), " \t\r*_")
	if line == "" {
		return true
	}
	if summarize.Bullet().MatchString(line) || summarize.Fence().MatchString(line) || transcript.Citations.MatchString(line) || !words.EndsInMark(line) {
		return false
	}
	_, found := t.share(line)
	return found == 0 && !t.namesSpeaker(line) && !strings.ContainsFunc(line, unicode.IsDigit)
}

// banner matches a line like === SUMMARY ===.
var banner = lazy.Pattern(`^[ \t]*(?:[=~*_-]{3,}.*[=~*_-]{3,})[ \t]*$`)

// isRule reports whether a line has no letter and no digit, or is a banner.
func isRule(line string) bool {
	return banner().MatchString(line) && !strings.HasPrefix(strings.TrimSpace(line), "***") || !summarize.Fence().MatchString(line) && !strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// announces reports whether the first line of a text without headings announces it: "Sure!", "Here is
// the summary:", "# Summary".
func (t *spanText) announces(line string) bool {
	if transcript.Citations.MatchString(line) || summarize.Bullet().MatchString(line) || summarize.Fence().MatchString(line) {
		return false
	}
	plain := strings.Trim(line, " \t\r#*_")
	if len(keysOf(plain)) == 0 && !t.namesSpeaker(plain) && !strings.ContainsFunc(plain, unicode.IsDigit) {
		return true
	}
	title := strings.HasPrefix(strings.TrimSpace(line), "#") || strings.HasPrefix(line, "**") && strings.HasSuffix(strings.TrimSpace(line), "**")
	if !title && !strings.HasSuffix(plain, ":") && !strings.HasSuffix(plain, "：") {
		return false
	}
	share, _ := t.share(plain)
	return task().MatchString(plain) && share < maxFrame || share < hardlyShare && !t.namesSpeaker(plain)
}

// closes reports whether the last of the lines is no part of the summary: an offer, or a line apart
// from a list that says nothing about the span.
func (t *spanText) closes(lines []string, headed bool) bool {
	last := len(lines) - 1
	line := lines[last]
	before := lines[last-1]
	if transcript.Citations.MatchString(line) || summarize.Fence().MatchString(line) {
		return false
	}
	if t.offers(line) {
		return true
	}
	if summarize.Bullet().MatchString(line) || strings.TrimLeft(line, " \t") != line || t.namesSpeaker(line) && !headed {
		return false
	}
	apart := isRule(before)
	for last > 1 && isRule(before) {
		last--
		before = lines[last-1]
	}
	share, found := t.share(line)
	switch {
	case !summarize.Bullet().MatchString(before):
		return false
	case apart && headed && offering().MatchString(line):
		return true
	case t.namesSpeaker(line):
		return false
	}
	return apart && share < maxClosing || found == 0 && len(strings.Fields(line)) < fewestWords && !strings.ContainsFunc(line, words.IsUnspaced)
}

// offers reports whether a sentence offers more, or ends the talk about the summary.
func (t *spanText) offers(sentence string) bool {
	share, found := t.share(sentence)
	switch {
	case t.namesSpeaker(sentence) || transcript.Citations.MatchString(sentence):
		return false
	case offering().MatchString(sentence):
		return share < someShare
	case found > 0 || strings.ContainsFunc(sentence, unicode.IsDigit):
		return false
	}
	return task().MatchString(sentence)
}

// withoutOffer cuts sentences at the end of a line that offer more, unless nothing else is left.
func (j *Judge) withoutOffer(line string) string {
	sentences := words.Sentences(line)
	for n := len(sentences); n > 1 && offering().MatchString(sentences[n-1]) && j.span.offers(sentences[n-1]); n-- {
		cut, found := strings.CutSuffix(strings.TrimSpace(line), sentences[n-1])
		if !found {
			break
		}
		line = strings.TrimSpace(cut)
	}
	return line
}

// offering matches how models offer more at the end, one line for each language: en de fr es it pt
// nl sv pl ru zh ja ko tr ar hi.
var offering = anyOf(`
\blet me know\b|\bfeel free to\b|\bi hope (?:this|that)\b|\bhope this\b|\b(?:would|do) you (?:like|want) me to\b|\banything else\b|\bhappy to (?:help|expand|adjust|provide)\b|\bif you(?:'d like|’d like| need| want| would like)\b
\blass(?:en sie)? (?:es )?mich wissen\b|\bwenn (?:du|sie) (?:weitere|möchte|noch|etwas)|\bsoll ich\b|\bich hoffe\b|\bkann ich (?:noch|sonst)\b|\bgib mir bescheid\b
n['’]hésite[zs]? pas|\bj['’]espère que\b|\bsouhaite[zs]?-(?:vous|tu)\b|\bfai(?:tes|s)-(?:moi )?(?:le-moi )?savoir
\bav[ií]sa(?:me|d?me)\b|\bno dud(?:es|e) en\b|\bespero que (?:esto|te|le)\b|\bsi (?:necesitas|quieres|deseas)\b|\bh[aá]gamelo saber\b
\bfammi sapere\b|\bspero che\b|\bse (?:hai|vuoi|desideri)\b
\b(?:me )?avise\b|\bespero que (?:isso|ajude)\b|\bse (?:precisar|quiser|desejar)\b
\blaat (?:het )?(?:me|mij) weten\b|\bik hoop dat\b
\bsäg till\b|\bhör av dig\b|\bhoppas (?:att )?det\b
\bdaj(?:cie)? (?:mi )?znać|\bmam nadzieję|\bchętnie\b
дайте (?:мне )?знать|надеюсь,? (?:это|что)|если (?:вам )?нужно|обращайтесь
如(?:果|有|需).{0,12}(?:告诉我|请告知|随时)|请随时|希望(?:这|对)
お知らせください|お気軽に|お役に立て
알려 ?주세요|도움이 되
haber ver|yardımcı olmaktan|umarım
أخبرني|لا تتردد|آمل أن
बताएँ|बताइए|आशा है`)
