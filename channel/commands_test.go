package channel_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/store"
	"cairn/words/wordstest"

	"github.com/yuin/goldmark"
)

func TestCommands(t *testing.T) {
	r := newRig(t, echo)
	for _, line := range []string{"/etc/passwd", "hello", "/", "/compactify"} {
		if _, handled, err := r.hub.Run(t.Context(), place, channel.Person{}, line); handled || err != nil {
			t.Errorf("%q: got a command (%v), want text", line, err)
		}
	}
	for line, want := range map[string]string{
		"/help":       "/compact [focus]",
		"/context":    "of 128000 tokens",
		"/compact":    "No compaction was started",
		"/memories":   "No memories from this conversation yet",
		"/memories x": "no memories like that",
		"/remember":   "Say what to remember",
		"/forget":     "by its number",
		"/forget 99":  "No memory 99 is from this conversation",
		"/HELP":       "/help",
	} {
		r.wantAnswer(line, want)
	}
	got := channel.Answer{Text: "a ``` b", Aligned: true}.Fenced().String()
	check.Equal(t, "code marks: aligned text cannot close its block", strings.Count(got, "```"), 2)
}

func TestImport(t *testing.T) {
	r := newRig(t, echo)
	r.model.Tokens = 4000
	past := func(n int) func(func(channel.Inbound, error) bool) {
		return func(yield func(channel.Inbound, error) bool) {
			for i := range n {
				size := 20
				if i%25 == 7 {
					size = 2000
				}
				text := fmt.Sprintf("Ada visited town %d. %s", i, strings.Repeat("word ", size))
				if !yield(channel.Inbound{ID: fmt.Sprint("old", i), Author: "Ada", Time: time.Unix(int64(i*60), 0), Text: text}, nil) {
					return
				}
			}
		}
	}
	done := 0
	check.Equal(t, "imported messages", check.Must(r.hub.Import(t.Context(), place, past(150), func(d int) { done = d }))(t), 150)
	check.Equal(t, "progress", done, 150)
	for _, e := range r.connector.events {
		check.That(t, e.Trigger != compactor.OnEmergency && e.BeforeTokens <= e.Window, "an emergency while importing: %+v", e)
	}
	applied := len(r.eventsIn(compactor.EventApplied))
	check.That(t, applied >= 3, "got %d applied compactions", applied)
	check.Equal(t, "messages imported by the second import", check.Must(r.hub.Import(t.Context(), place, past(160), func(int) {}))(t), 10)
	check.Equal(t, "model calls", len(r.model.Requests()), 0)
	r.ask("hello")
	check.Error(t, check.ErrorOf(r.hub.Import(t.Context(), place, past(170), func(int) {})), store.ErrLive)
}

// A Markdown client renumbers ordered lists from their first number: "7. … 5. …" is shown as 7 and
// 8, and /forget 8 hits another memory.
func TestListNumbersSurviveMarkdown(t *testing.T) {
	r := newRig(t, echo)
	for _, text := range []string{"the hotel is booked", "the hotel has a garden", "the train leaves at nine", "the hotel is in Bergen"} {
		r.runAs(boss, place, "/remember "+text)
	}
	r.runAs(boss, place, "/forget 3")
	r.sendNotes(30)
	r.compact()
	for line, numbers := range map[string][]string{
		"/memories":     {"4", "2", "1"},
		"/recall hotel": {"memory (4)", "memory (2)", "memory (1)"},
		"/summaries":    {"1"},
		"/forget hotel": {"4", "2", "1"},
		"/expand 1":     {"1"},
	} {
		var html bytes.Buffer
		check.NoError(t, goldmark.Convert([]byte(r.run(line)), &html))
		check.Contains(t, line, html.String(), numbers...)
		check.Lacks(t, line+" is rendered as a list", html.String(), "<ol", "<li")
	}
}

// FuzzCommand sends any line, as an ordinary person or as a manager: it is not a command, or its
// answer is text for people.
func FuzzCommand(f *testing.F) {
	args := []string{"", "1", "-1", "#9223372036854775808", "x", "1 2 3", "me everywhere", "compaction.keep_last_n 7", "pin 1", "kind:x page:0", "everywhere"}
	for i, c := range channel.Commands {
		for n, args := range args {
			f.Add("/"+c.Name+" "+args, "x", (i+n)%2 == 0)
		}
		f.Add(" /"+strings.ToUpper(c.Name)+"\t\n1", c.Name, true)
	}
	for i, text := range wordstest.Texts() {
		f.Add("/recall "+text, text, i%2 == 0)
		f.Add("/"+text, text, true)
	}
	r := newRig(f, echo)
	r.overhear("the plum is ripe")
	f.Fuzz(func(t *testing.T, line, typed string, manager bool) {
		answer, handled, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u6", Name: typed, Manager: manager}, line)
		check.Require(t, err == nil, "%q: %v", line, err)
		if handled != channel.IsCommand(line) || handled && answer.String() == "" && answer.Then == nil {
			t.Fatalf("%q: handled %v, %+v", line, handled, answer)
		}
		for page := range answer.Pages() {
			_ = answer.Page(page)
		}
		_, err = r.hub.Suggest(t.Context(), place, channel.Person{ID: "u5"}, line, typed)
		check.Require(t, err == nil, "suggestions for %q: %v", line, err)
	})
}
