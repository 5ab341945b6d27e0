package command

import (
	"strings"
	"testing"

	"cairn/channel/access"
	"cairn/channel/sentences"
	"cairn/compactor"
	"cairn/testkit/check"
)

// A fold of earlier summaries that is applied together with a summary adds no messages.
func TestAppliedWordsCountMessagesOnce(t *testing.T) {
	row := func(kind compactor.Kind, from, to int64) compactor.Summary {
		return compactor.Summary{Kind: kind, Span: compactor.Span{From: from, To: to}, Messages: int(to - from + 1), Focus: "tea"}
	}
	e := compactor.Event{From: 121, To: 130, BeforeTokens: 900, AfterTokens: 500, Window: 1000, Set: []compactor.Summary{
		row(compactor.Rollup, 1, 100), row(compactor.Leaf, 101, 120), row(compactor.Leaf, 121, 130),
	}}
	check.Equal(t, "words", appliedWords(sentences.Speaker{}, e, "tea"), "Summarized 30 messages (#101 to #130): 900 → 500 tokens of 1000.")
}

func TestUnknownCommandIsNotGuessedFromItsSlash(t *testing.T) {
	for name, want := range map[string]string{"contxt": "Did you mean /context?", "bogus": "no command /bogus. /help"} {
		_, err := Find(name)
		check.Contains(t, name, err.Error(), want)
	}
}

func TestParse(t *testing.T) {
	for _, line := range []string{"/etc/passwd", "hello", "/", "/compactify", "//help", "help"} {
		check.That(t, !Is(line), "%q: got a command, want text", line)
	}
	for line, args := range map[string]string{"/undo": "", " /HELP": "", "/compact the prices ": "the prices", "/settings\nkeep_first\t2": "keep_first\t2"} {
		_, got, ok := Parse(line)
		check.That(t, ok && got == args, "%q: got arguments %q (a command: %v), want %q", line, got, ok, args)
	}
}

func TestAlignedTextCannotCloseItsBlock(t *testing.T) {
	got := Answer{Text: "a ``` b", Aligned: true}.Fenced().String()
	check.Equal(t, "code marks", strings.Count(got, "```"), 2)
}

func TestPages(t *testing.T) {
	a := Answer{Text: "all:", Items: strings.Split("a b c d e f g h i j k", " "), Language: "de"}
	check.Equal(t, "pages", a.Pages(), 2)
	check.Equal(t, "the last page", a.Page(7), "all:\nk\n(Seite 2 von 2)")
}

// Who writes "/forget me" asks for their own data, whatever the rules say.
func TestUsesThatAreOpenToEveryone(t *testing.T) {
	forget := check.Must(Find("forget"))(t)
	rules := &access.Rules{Restricted: []string{"forget"}}
	check.That(t, !MayRun(rules, "test:server/general", access.Person{ID: "u1"}, forget), "anyone may run it")
	check.That(t, MayRun(rules, "test:server/general", access.Person{ID: "u1", Manager: true}, forget), "a manager may not run it")
	check.That(t, forget.anyone("Me yes") && !forget.anyone("12") && !forget.anyone(""), "the uses that are open to everyone")
}

func TestCommandsAreSpelled(t *testing.T) {
	cairn := func(line string) string { return "/cairn " + strings.TrimPrefix(line, "/") }
	for text, want := range map[string]string{
		"/undo reverts this.":               "/cairn undo reverts this.",
		"Use /optout or /optout off.":       "Use /cairn optout or /cairn optout off.",
		"a/undo, //undo and /undone remain": "a/undo, //undo and /undone remain",
	} {
		check.Equal(t, "spelled", Spell(text, cairn), want)
	}
}
