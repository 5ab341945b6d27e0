package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// acceptedLog is a connector that records the messages whose arrival is reported.
type acceptedLog struct {
	Observer
	reports []string
}

func (p *acceptedLog) Accepted(_, id string, seq int64) {
	p.reports = append(p.reports, fmt.Sprint(id, "=", seq))
}

// A message may be dequeued before its arrival is handled, and arrive again: each delivery gets a report, the seq last.
func TestEveryDeliveryIsReported(t *testing.T) {
	messages := []Inbound{{ID: "m"}}
	arrives := func(r store.Receipt) func(a *arrivals) {
		return func(a *arrivals) { a.arrived(messages, []store.Receipt{r}) }
	}
	coming := func(a *arrivals) { a.coming(messages) }
	waits := arrives(store.Receipt{Fresh: true})
	again := arrives(store.Receipt{})
	known := arrives(store.Receipt{Seq: 7})
	dequeued := func(a *arrivals) { a.accepted("m", 7) }
	lost := func(a *arrivals) { a.lost(messages) }
	for name, c := range map[string]struct {
		events []func(*arrivals)
		want   []string
		open   int // messages whose seq is still to be reported
	}{
		"dequeued first":                        {[]func(*arrivals){coming, dequeued, waits}, []string{"m=7"}, 0},
		"arrived first":                         {[]func(*arrivals){coming, waits, dequeued}, []string{"m=7"}, 0},
		"it waits":                              {[]func(*arrivals){coming, waits}, []string{"m=0"}, 1},
		"it was not kept":                       {[]func(*arrivals){coming, lost}, nil, 0},
		"it is repeated while it waits":         {[]func(*arrivals){coming, waits, coming, again, dequeued}, []string{"m=0", "m=7"}, 0},
		"it is repeated after it was dequeued":  {[]func(*arrivals){coming, dequeued, waits, coming, known}, []string{"m=7", "m=7"}, 0},
		"it is repeated as it is dequeued":      {[]func(*arrivals){coming, waits, coming, known, dequeued}, []string{"m=7", "m=7"}, 0},
		"it was left by a process that stopped": {[]func(*arrivals){dequeued}, []string{"m=7"}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			log := &acceptedLog{}
			var events []func()
			a := newArrivals("terminal:test", log, func(event func()) { events = append(events, event) })
			for _, event := range c.events {
				event(&a)
			}
			time.Sleep(2 * ackDelay)
			synctest.Wait()
			for _, event := range events {
				event()
			}
			check.EqualAll(t, name+": reports to the connector", log.reports, c.want)
			check.Equal(t, name+": messages without a seq", len(a.incoming), c.open)
		})
	}
}

// A message may be edited or deleted after it was dequeued, and before the loop shows it.
func TestChangeBeforeMessageIsShown(t *testing.T) {
	for want, change := range map[string]func(*conversation){
		"hello":            func(c *conversation) { storetest.Remove(t, c.records, 2) },
		"the code is 0000": func(c *conversation) { storetest.Edit(t, c.records, 2, "the code is 0000") },
	} {
		records := storetest.NewConversation(t)
		storetest.Deliver(t, records, storetest.Said(1, "hello"))
		conv := newConversation(&Hub{ctx: t.Context(), o: Options{Log: slog.New(slog.DiscardHandler)}}, records.Name(), nil, records)
		conv.engine = check.Must(compactor.Open(t.Context(), compactor.Options{
			Records: memory.Of(records).Records(), Policy: compactor.DefaultPolicy, Window: func() int { return 8_000 }, Start: conv.inbox.start,
		}))(t)
		dequeued := storetest.Deliver(t, records, storetest.Said(2, "the code is 4711"))
		change(conv)
		conv.changed()
		conv.append(dequeued)
		prompt := fmt.Sprintf("%+v", check.Must(conv.engine.Request(t.Context()))(t).Messages)
		check.Lacks(t, "prompt", prompt, "4711")
		check.Contains(t, "prompt", prompt, "hello", want)
	}
}

// canceled is a writer that counts how often it is canceled.
type canceled int

func (*canceled) Show(string)                                 {}
func (n *canceled) Cancel()                                   { *n++ }
func (*canceled) Send(context.Context, Piece) (string, error) { return "", nil }

func TestPanicOfTheLoopIsNotTheTurns(t *testing.T) {
	run := func(p any, w Writer) (again any, err error) {
		defer func() { again = recover() }()
		failing := &turn{site: site{log: slog.New(slog.DiscardHandler)}, attempt: &attempt{writer: w}}
		defer failing.recoverPanic(&err)
		panic(p)
	}
	w := new(canceled)
	again, err := run(errPanicked, w)
	check.That(t, again == any(errPanicked) && *w == 1, "a panic of the loop: %v, %v, the text shown is withdrawn %d times", err, again, *w)
	again, err = run("a bug of a tool", w)
	check.That(t, err != nil && again == nil, "a panic of the turn: %v, %v", err, again)
}

// verbOf matches the verbs of a translation, which may be numbered.
var verbOf = regexp.MustCompile(`%(?:\[\d\])?[dqs]`)

func TestEverySentenceIsTranslated(t *testing.T) {
	english := slices.Sorted(maps.Keys(translationsInto("de").whole))
	for _, language := range prompts.Languages[1:] {
		there := translationsInto(language).whole
		check.EqualAll(t, fmt.Sprintf("sentences of %s", language), slices.Sorted(maps.Keys(there)), english)
		for _, sentence := range english {
			text := there[sentence]
			check.That(t, text != "" && len(verbOf.FindAllString(text, -1)) == len(verb.FindAllString(sentence, -1)),
				"%s: translation of %q: got %q", language, sentence, text)
			for _, kept := range regexp.MustCompile("`[^`]+`|\\b[a-z]+_[a-z]+\\b").FindAllString(sentence, -1) {
				check.Contains(t, language, text, kept)
			}
			filled := verb.ReplaceAllStringFunc(sentence, func(v string) string { return map[string]string{"%d": "12", "%q": `"tea"`, "%s": "Ada"}[v] })
			got := Translated(language, filled)
			check.That(t, !strings.Contains(got, "%!") && (got != filled || strings.ReplaceAll(sentence, "%d", "%s") == text),
				"%s: translation of %q: got %q", language, filled, got)
		}
	}
}

// sourceOf returns the code that has sentences for people, each as one text, with %s for what is not constant.
func sourceOf(t *testing.T) string {
	var all strings.Builder
	for _, pattern := range []string{
		"*.go", "access/*.go", "../llm/*.go", "../llm/*/*.go", "../connector/terminal/*.go", "../compactor/*.go",
		"../compactor/summarize/*.go", "../transcript/*.go", "../store/*.go", "../memory/*.go", "../chat/*.go", "../connector/platform/*.go",
	} {
		for _, name := range check.Must(filepath.Glob(pattern))(t) {
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

// composed matches the sentences that no single text in the code has: numbers of things, words by their group, settings, who made a summary.
var composed = regexp.MustCompile(`^(1|%d) (message|memor|summar|request)|^by |^%s: there is no such setting|^from %s to %s|^did you mean|one of %s$|^%s = %s: must be |^such that |^set (here|in the channel) by |^the model wrote in`)

// Every sentence that people see is translated, and every translation is of a sentence in the code.
func TestTranslationsAreOfSentencesInTheCode(t *testing.T) {
	code := sourceOf(t)
	german := translationsInto("de").whole
	shows := regexp.MustCompile(`(?:\b(?:sayf|spell|translated|errPeople|errDenied|say|says)\(\s*|\bSayf\([\w.]+, |\baddf\("?[\w ]+"?, |\bAnswer\{[^{}]*?\bText:\s+|\b[rR]efus\w+\s+Refusal = |\breason[A-Z]\w+\s+= |\bWant: )(?:fmt\.Sprintf\()?("(?:[^"\\]|\\.)*"|\x60[^\x60]*\x60)`)
	names := regexp.MustCompile(`/[a-z]+( me| everywhere| yes)*`) // commands, which are the same in each language
	for _, found := range shows.FindAllStringSubmatch(code, -1) {
		sentence := check.Must(strconv.Unquote(found[1]))(t)
		words := regexp.MustCompile(`[a-z]{2}`).MatchString(names.ReplaceAllString(sentence, ""))
		composes := strings.HasPrefix(found[0], "Want: ") && strings.HasSuffix(sentence, " ") // of several parts
		check.That(t, german[sentence] != "" || !words || composes, "no translation of %q", sentence)
	}
	for sentence := range german {
		if _, word, ok := strings.Cut(sentence, ": "); ok && strings.Contains(code, strconv.Quote(word)) {
			continue // a Word, or a command's name
		}
		there := strings.Contains(code, strconv.Quote(sentence)) || strings.Contains(code, "`"+sentence+"`")
		check.That(t, there || composed.MatchString(sentence), "%q is not in the code", sentence)
	}
}

// A Word has a translation for each of its values.
func TestEveryWordIsTranslated(t *testing.T) {
	named := map[string][]string{"memory": memory.Kinds, "kind": {string(compactor.Leaf), string(compactor.Rollup), string(compactor.Placeholder)}}
	for _, trigger := range compactor.Triggers {
		named["trigger"] = append(named["trigger"], string(trigger))
	}
	for _, state := range []store.TaskState{store.TaskOpen, store.TaskDone, store.TaskFailed, store.TaskStopped, store.TaskExpired} {
		named["task"] = append(named["task"], string(state))
	}
	for _, language := range prompts.Languages[1:] {
		there := translationsInto(language).whole
		for of, words := range named {
			for _, word := range words {
				check.That(t, there[of+": "+word] != "", "%s: no translation of the %s %q", language, of, word)
			}
		}
		for _, by := range []compactor.By{compactor.ByWorker, compactor.ByExtractive, compactor.ByNobody} {
			check.Lacks(t, language, madeBy(by, language), "by ", "to be ")
		}
	}
}

func TestEveryRemedyAndCommandIsTranslated(t *testing.T) {
	check.Equal(t, "why a /compact does not start", Translated("de", "a compaction is already running"), "es wird schon zusammengefasst")
	for _, kind := range llm.Kinds {
		remedy, ok := llm.RemedyOf(&llm.Error{Kind: kind, Status: 400})
		check.That(t, ok && Translated("ja", remedy.Person) != remedy.Person, "%s: %q", kind, remedy.Person)
		check.That(t, Translated("ja", remedy.Reason) != remedy.Reason, "%s: %q", kind, remedy.Reason)
	}
	for _, language := range prompts.Languages[1:] {
		names := map[string]string{}
		for _, c := range Commands {
			name := Translated(language, "command: "+c.Name)
			check.That(t, name != "command: "+c.Name && names[name] == "", "%s: /%s: got %q, as for /%s", language, c.Name, name, names[name])
			names[name] = c.Name
			for _, text := range append(storetest.Map(c.Args, func(a Arg) string { return a.Help }), c.Help) {
				there := Translated(language, text)
				check.That(t, there != text && len([]rune(there)) <= 100, "%s: %q is %q", language, text, there)
			}
		}
	}
}

// A fold of earlier summaries that is applied together with a summary adds no messages.
func TestAppliedWordsCountMessagesOnce(t *testing.T) {
	language := "en"
	c := &conversation{hub: &Hub{}}
	c.speaks.Store(&language)
	row := func(kind compactor.Kind, from, to int64) compactor.Summary {
		return compactor.Summary{Kind: kind, Span: compactor.Span{From: from, To: to}, Messages: int(to - from + 1), Focus: "tea"}
	}
	e := compactor.Event{From: 121, To: 130, BeforeTokens: 900, AfterTokens: 500, Window: 1000, Set: []compactor.Summary{
		row(compactor.Rollup, 1, 100), row(compactor.Leaf, 101, 120), row(compactor.Leaf, 121, 130),
	}}
	check.Equal(t, "words", c.appliedWords(e, "tea"), "Summarized 30 messages (#101 to #130): 900 → 500 tokens of 1000.")
}

func TestTruncatedArgumentsMaskSecret(t *testing.T) {
	const part = "aB3dE5gH7jK9"
	for n := 130; n < 136; n++ { // wherever the cut is
		text := strings.Repeat("word ", n) + "sk-proj-" + strings.Repeat(part, 4) + strings.Repeat(" word", 600)
		shown := shownArguments(json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)))
		check.Lacks(t, fmt.Sprintf("%d words before it", n), shown, part)
	}
}

// A message may be deleted after it was read for a task's briefing, and before the task is stored.
func TestDeletionBeforeTaskIsStored(t *testing.T) {
	for name, c := range map[string]struct {
		again []int64 // the sources of the task that is written anew
		want  string
	}{
		"a task whose briefing had the message begins without it": {[]int64{2}, ""},
		"a task that comes from the message is refused":           {[]int64{1, 2}, "message #1, which the task comes from, was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			records := storetest.NewConversation(t)
			storetest.Deliver(t, records, storetest.Said(1, "the code is 4711"), storetest.Said(2, "count the ships"))
			conv := newConversation(&Hub{ctx: t.Context(), o: Options{Log: slog.New(slog.DiscardHandler)}}, records.Name(), nil, records)
			written := func(sources ...int64) store.NewTask {
				return store.NewTask{Task: store.Task{Agent: "one", Text: "count", Sources: sources}, Message: fmt.Sprint("sources ", sources), Most: 4}
			}
			n := written(1, 2)
			n.Author = "u1"
			storetest.Remove(t, records, 1)
			task, err := conv.writeTask(t.Context(), n, func() (store.NewTask, error) { return written(c.again...), nil })
			if c.want != "" {
				check.ErrorContains(t, "begin", err, c.want)
				return
			}
			check.NoError(t, err)
			check.Equal(t, "author of the task", task.Author, "u1")
		})
	}
}

func TestUnknownCommandIsNotGuessedFromItsSlash(t *testing.T) {
	for name, want := range map[string]string{"contxt": "Did you mean /context?", "bogus": "no command /bogus. /help"} {
		_, err := FindCommand(name)
		check.Contains(t, name, err.Error(), want)
	}
}
