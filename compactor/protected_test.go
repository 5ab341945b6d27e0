package compactor_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// Each request of a turn of many steps fits the window.
func TestWindowIsNeverExceeded(t *testing.T) {
	slow(t)
	arguments := func(size int) string {
		return string(check.Must(json.Marshal(map[string]string{"text": filler(size), "path": `C:\tea "pot"`}))(t))
	}
	type step struct {
		text, arguments string
		results         []string // of as many calls
	}
	many := func(n int, s step) []step { return slices.Repeat([]step{s}, n) }
	const window = 6000 // a reply may take an eighth
	for claim, steps := range map[string][]step{
		"what tools are given":         many(10, step{arguments: arguments(700), results: []string{"ok"}}),
		"many calls at once":           many(8, step{arguments: arguments(80), results: []string{"one", "two", "three", "four", "five", "six"}}),
		"results on one line":          many(4, step{arguments: "{}", results: []string{strings.Repeat("x", 1<<15), strings.Repeat("€", 1<<13)}}),
		"all of it":                    many(10, step{text: filler(300), arguments: arguments(300), results: []string{filler(2000)}}),
		"arguments that are no object": many(10, step{arguments: `"` + strings.Repeat("tea ", 600) + `"`, results: []string{"ok"}}),
	} {
		t.Log(claim)
		r := newRig(t, window, &llmtest.Model{Func: goodSummary})
		r.deliverMany(10, 1)
		x := r.begin(r.deliver("begin "+filler(5000)+"end", true))
		for i, s := range steps {
			r.request()
			m := chat.Message{Role: llm.RoleAssistant, Text: s.text}
			for j := range s.results {
				m.Calls = append(m.Calls, llm.Call{ID: fmt.Sprintf("call_%d_%d", i, j), Name: "look", Arguments: s.arguments})
			}
			x.add(m)
			for j, result := range s.results {
				x.add(chat.Message{Role: llm.RoleTool, CallID: m.Calls[j].ID, Tool: "look", Text: result})
			}
		}
		for _, m := range r.request() {
			for _, call := range m.Calls {
				check.That(t, json.Valid([]byte(call.Arguments)), "arguments that were shrunk are no JSON: %s", call.Arguments)
			}
		}
		x.finish("done")
		r.waitIdle()
		r.verify() // the transcript keeps all of it
		r.renderAfterRestart()
		r.talk("and now?")
	}
}

func TestKeepFirstIsShownOnceUnchanged(t *testing.T) {
	check.SkipUnderRace(t)
	for _, keep := range []struct{ messages, turns int }{{0, 0}, {1, 0}, {3, 0}, {0, 2}} {
		t.Run(fmt.Sprintf("%+v", keep), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
			r.policy.KeepFirst = keep.messages
			r.policy.KeepFirstTurns = keep.turns
			r.policy.KeepLastN = 2
			firsts := make([]string, 4)
			for i := range firsts {
				firsts[i] = fmt.Sprintf("First words %d: <tea> & \"milk\", 4711 […]\n  twice", i)
				r.talk(firsts[i])
			}
			shown := r.render()
			for range 4 {
				r.deliverMany(8, 20)
				r.applied()
				view := r.render()
				for i, text := range firsts {
					line := fmt.Sprintf("[#%d 2026-01-01 00:%02d Ada] %s", 2*i+1, 2*i+1, text)
					want := map[bool]int{true: 1}[i < keep.messages+keep.turns]
					check.Contains(t, "view before", shown, line)
					check.That(t, strings.Count(view, line) == want && strings.Count(view, fmt.Sprintf("First words %d", i)) == want, "%q occurs %d times:\n%s", text, strings.Count(view, line), view)
				}
				copies, _, _ := strings.Cut(r.head(), "[Compaction Summary]")
				check.Lacks(t, "copies of first messages", copies, "Summary 1 of")
				if keep.turns > 0 { // with their replies
					inOrder(t, copies, "First words 0", "you, the assistant] answer to 1", "First words 1", "you, the assistant] answer to 3")
				}
				r.renderAfterRestart()
			}
		})
	}
}

func TestOldToolResultsAreClearedInBatches(t *testing.T) {
	t.Parallel()
	r := newRig(t, 40_000, nil)
	r.policy.Enabled = false
	before := ""
	changes := 0
	cleared := 0
	most := 0
	for i := range 60 {
		r.talk(fmt.Sprintf("q%d", i), fmt.Sprintf("RESULT-%d %s", i, filler(500)))
		after := strings.TrimRight(r.render(), "\n")
		if !strings.HasPrefix(after, before) {
			changes++
			now := strings.Count(after, "[Previous: used look (#")
			most = max(most, now-cleared)
			cleared = now
		}
		before = after
	}
	// A quarter of the window is some 24 of these results.
	check.That(t, changes >= 1 && changes <= 3 && most >= 18, "got %d changes of the prefix, at most %d results removed at once", changes, most)
	r.renderAfterRestart()
}

// TestSummariesFitASmallerWindow: a person chose a model with a smaller window, for which the
// summaries are too long until they are folded.
func TestSummariesFitASmallerWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t, 20_000, nil)
	for i := range 130 {
		r.deliverNotes(fmt.Sprintf("note %d %s", i, strings.Repeat(fmt.Sprintf("Ada moved to city %d at river %d. ", i, 7*i), 20)))
		r.waitIdle()
	}
	check.Require(t, r.c.Status().Head >= 1750, "got %d tokens of summaries", r.c.Status().Head)
	r.set(func(p *compactor.Policy) { p.Enabled = false })
	r.resize(3000)
	asked := r.deliver("and now?", true)
	check.Contains(t, "view", inLines(r.request()), "older messages were truncated", "and now?")
	r.answerAlone(asked)
	r.waitIdle()
	check.Lacks(t, "view", r.render(), "older messages were truncated")
	r.renderAfterRestart()
}

func TestToolResultsAreClearedWithHeadChange(t *testing.T) {
	r := newRig(t, 16_000, &llmtest.Model{Func: goodSummary})
	r.policy.KeepLastN = 60
	for i := range 10 {
		r.talk(fmt.Sprintf("q%d", i), fmt.Sprintf("RESULT-%d %s", i, strings.Repeat("word ", 100)))
	}
	check.Equal(t, "results before any head change", strings.Count(r.render(), "RESULT-"), 10)
	r.deliverMany(60, 30)
	r.policy.KeepLastN = 75
	r.compactAndWait()
	view := r.render()
	check.Contains(t, "view", view, "[Previous: used look (#")
	check.That(t, strings.Count(view, "RESULT-") <= 3, "got %d results after a head change", strings.Count(view, "RESULT-"))
	r.renderAfterRestart()
}

func (r *rig) show(text string, data []byte) chat.Message {
	r.t.Helper()
	shown := r.arrive(store.Inbound{
		Text: text, Attachments: []chat.Attachment{{Kind: "image", Name: "cat.png", Type: "image/png", Size: int64(len(data)), Data: data}},
	})
	r.c.Check(r.t.Context())
	return shown
}

func TestPicturesOfTheStoreAreShown(t *testing.T) {
	worker := &llmtest.Model{Func: goodSummary}
	r := newRig(t, 100_000, worker)
	before := r.c.Status().Used
	shown := r.show("my cat", []byte("\x89PNG\r\n\x1a\n"))
	r.talk("what is it?")
	r.deliverNotes("well")

	view := r.request()
	check.Require(t, len(view[1].Images) == 1 && view[1].Images[0].File != 0 && view[1].Images[0].Label == "image of #1: cat.png",
		"got %+v", view[1])
	kind, data, err := r.conv.Transcript().File(t.Context(), view[1].Images[0].File)
	check.NoError(t, err)
	check.Equal(t, "type and data", kind+string(data), "image/png\x89PNG\r\n\x1a\n")
	check.Contains(t, "text", view[1].Text, "my cat [image: cat.png, image/png, 8 B]")
	r.restart()
	after := r.request()
	check.That(t, reflect.DeepEqual(after, view), "a restart changed the view: %+v became %+v", view, after)
	grown := r.c.Status().Used - before
	check.That(t, shown.Tokens == chat.TokensOf(shown) && shown.Tokens >= 1000 && grown >= shown.Tokens, "got a row of %d tokens, the status grew by %d", shown.Tokens, grown)

	r.deliverMany(10, 30)
	r.compactAndWait()
	check.Require(t, len(worker.Requests()) != 0, "got no worker request")
	check.Contains(t, "material", worker.Requests()[0].Messages[1].Text, "my cat [image: cat.png, image/png, 8 B]")
	for _, m := range slices.Concat(worker.Requests()[0].Messages, r.request()) {
		check.Len(t, "pictures for the worker, or of a summarized message", m.Images, 0)
	}
}

// Pictures leave a request only with a new head: all other requests extend the one before.
func TestPicturesLeaveWithHeadChange(t *testing.T) {
	r := newRig(t, 60_000, nil)
	var last []llm.Message
	version := int64(-1)
	changes := 0
	for range 30 {
		r.show("look", []byte("\x89PNG\r\n\x1a\n"))
		r.begin(r.deliver("and?", true))
		head := r.storedHead().Version
		view := r.request()
		for ; r.storedHead().Version != head; view = r.request() { // a summary was applied in between
			head = r.storedHead().Version
		}
		if head != version {
			changes++
		} else if len(view) < len(last) || !reflect.DeepEqual(view[:len(last)], last) {
			t.Fatalf("the head is unchanged, but the request does not extend the previous one:\n%+v\n--- became\n%+v", last, view)
		}
		last = view
		version = head
		r.answerAlone(r.messages[len(r.messages)-1])
	}
	check.That(t, changes >= 3 && changes <= 10, "the head changed %d times with 30 pictures", changes)
}
