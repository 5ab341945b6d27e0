// Compares the sentences in the code with their translations.

package sentences_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// sourceOf returns the code that has sentences for people, each as one text, with %s for what is not constant.
func sourceOf(t *testing.T) string {
	var all strings.Builder
	for _, pattern := range []string{
		"channel/*.go", "channel/*/*.go", "llm/*.go", "llm/*/*.go", "connector/terminal/*.go", "connector/platform/*.go", "connector/slack/*.go",
		"compactor/*.go", "compactor/judge/*.go", "compactor/summarize/*.go", "transcript/*.go", "store/*.go", "memory/*.go", "chat/*.go",
	} {
		for _, name := range check.Must(filepath.Glob(filepath.Join("../..", pattern)))(t) {
			if !strings.HasSuffix(name, "_test.go") {
				all.Write(check.Must(os.ReadFile(name))(t))
			}
		}
	}
	text := strings.ReplaceAll(all.String(), "messageKept", `"Your message is saved; "`)
	text = strings.NewReplacer("tooLarge+", `"the model's summary was hardly shorter than the messages: "+`).Replace(text)
	// One function is for programs, which speak English.
	text = regexp.MustCompile(`(?s)\nfunc (\([^)]*\) )?PatchOf\(.*?\n}\n`).ReplaceAllString(text, "\n")
	text = regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(text, "")
	return regexp.MustCompile(`"\s*\+\s*[\w.]+(\([^"()]*\))?\s*\+\s*"`).ReplaceAllString(text, "%s")
}

// composed matches the sentences that no single text in the code has: numbers of things, words by their group, settings, who made a
// summary.
var composed = regexp.MustCompile(`^(1|%d) (message|memor|summar|request)|^by |^%s: there is no such setting|^from %s to %s|^did you mean|one of %s$|^%s = %s: must be |^such that |^set (here|in the channel) by |^the model wrote in`)

// Every sentence that people see is translated, and every translation is of a sentence in the code.
func TestTranslationsAreOfSentencesInTheCode(t *testing.T) {
	code := sourceOf(t)
	german := translations(t, "de")
	shows := regexp.MustCompile(`(?:\b(?:Sayf|Say|Translate|NewProblem|denial|say|says)\(\s*|\b[tT]ext[A-Z]\w+\s+= |\baddf\("?[\w ]+"?, |\bAnswer\{[^{}]*?\bText:\s+|\b[rR]efus\w+\s+Refusal = |\breason[A-Z]\w+\s+= |\bWant: )(?:fmt\.Sprintf\()?("(?:[^"\\]|\\.)*"|\x60[^\x60]*\x60)`)
	names := regexp.MustCompile(`/[a-z]+( me| everywhere| yes)*`) // commands, which are the same in each language
	for _, found := range shows.FindAllStringSubmatch(code, -1) {
		sentence := check.Must(strconv.Unquote(found[1]))(t)
		words := regexp.MustCompile(`[a-z]{2}`).MatchString(names.ReplaceAllString(sentence, ""))
		composes := strings.HasPrefix(found[0], "Want: ") && strings.HasSuffix(sentence, " ") // of several parts
		check.That(t, german[sentence] != "" || !words || composes, "no translation of %q in the six files of channel/sentences", sentence)
	}
	for sentence := range german {
		if _, word, ok := strings.Cut(sentence, ": "); ok && strings.Contains(code, strconv.Quote(word)) {
			continue // a Word, or a command's name
		}
		there := strings.Contains(code, strconv.Quote(sentence)) || strings.Contains(code, "`"+sentence+"`")
		check.That(t, there || composed.MatchString(sentence), "%q is not in the code", sentence)
	}
}
